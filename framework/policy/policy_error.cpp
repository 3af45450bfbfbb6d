#include "framework/policy/policy_error.h"

#include <array>

#include "framework/policy/error_template.h"

namespace pd {
namespace {

struct PolicyErrorText {
  PolicyErrorCode code;
  std::string_view name;
  std::string_view text;
};

constexpr std::array kPolicyErrorTexts = {
    PolicyErrorText{PolicyErrorCode::kUnknownPolicy, "unknown_policy",
                    "no {} policy is named \"{}\"; registered are: {}{}"},
    PolicyErrorText{PolicyErrorCode::kNullTable, "null_table",
                    "{} is a null pointer; hand over a static table that lives until unload()"},
    PolicyErrorText{PolicyErrorCode::kWrongSize, "wrong_size",
                    "struct_size of {} is {}; needed is a multiple of 8, at least {} (ABI 1.0) and "
                    "at most 65536; set struct_size to sizeof of the struct in pd/abi.h"},
    PolicyErrorText{PolicyErrorCode::kReservedNotZero, "reserved_not_zero",
                    "reserved0 of {} is {}, needed is 0; zero the table before filling it in, or "
                    "get a newer host when the plugin means it"},
    PolicyErrorText{PolicyErrorCode::kInvalidName, "invalid_name",
                    "the policy name \"{}\" is not allowed; needed are 1 to 64 characters of "
                    "a-z 0-9 _ . -"},
    PolicyErrorText{PolicyErrorCode::kInvalidText, "invalid_text",
                    "policy {}: {} is missing, longer than {} bytes, or not printable UTF-8; give "
                    "it one short sentence"},
    PolicyErrorText{PolicyErrorCode::kMissingCallback, "missing_callback",
                    "policy {}: the required function {} is null; set it in the table"},
    PolicyErrorText{PolicyErrorCode::kNewerUses, "newer_uses",
                    "policy {}: uses has the bits {}, of which this host knows only {}; the policy "
                    "needs a newer host"},
    PolicyErrorText{
        PolicyErrorCode::kUnknownFlags, "unknown_flags",
        "policy {}: flags has the bits {}, of which this host knows only {}; the policy "
        "needs a newer host"},
    PolicyErrorText{PolicyErrorCode::kInvalidOption, "invalid_option",
                    "policy {}: option {}: {}; correct the plugin's table of options"},
    PolicyErrorText{PolicyErrorCode::kUnknownOption, "unknown_option",
                    "{}: [policy.{}] has no option \"{}\"; its options are: {}{}"},
    PolicyErrorText{PolicyErrorCode::kRepeatedOption, "repeated_option",
                    "{}: [policy.{}] sets \"{}\" a second time; remove one of the two lines"},
    PolicyErrorText{PolicyErrorCode::kWrongOptionType, "wrong_option_type",
                    "{}: [policy.{}] {}: found {}, allowed: {}"},
    PolicyErrorText{PolicyErrorCode::kOptionOutOfRange, "option_out_of_range",
                    "{}: [policy.{}] {}: found {}, allowed: {}"},
    PolicyErrorText{PolicyErrorCode::kOptionNotAChoice, "option_not_a_choice",
                    "{}: [policy.{}] {}: found {}, allowed: {}{}"},
};

const PolicyErrorText& text_of(PolicyErrorCode code) {
  for (const PolicyErrorText& entry : kPolicyErrorTexts) {
    if (entry.code == code) return entry;
  }
  return kPolicyErrorTexts.front();
}

}  // namespace

std::string_view code_name(PolicyErrorCode code) {
  return text_of(code).name;
}

PolicyError make_policy_error(PolicyErrorCode code,
                              std::initializer_list<std::string_view> arguments) {
  return {code, fill_template(text_of(code).text, arguments)};
}

}  // namespace pd
