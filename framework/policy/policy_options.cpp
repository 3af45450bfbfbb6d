#include "framework/policy/policy_options.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <set>

#include "framework/policy/closest_name.h"
#include "framework/policy/untrusted_text.h"
#include "pd/policy.hpp"

namespace pd {
namespace {

using Value = std::variant<bool, std::int64_t, double, std::string>;
using Failure = std::optional<PolicyError>;

std::string number_text(double value) {
  // As few digits as tell the value: 0.1, not 0.10000000000000001.
  char text[32];
  for (int digits = 6; digits <= 17; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, value);
    if (std::strtod(text, nullptr) == value) break;
  }
  return text;
}

std::string quoted_text(std::string_view text) {
  return "\"" + printable_text(text, 200) + "\"";
}

std::string found_text(const Value& value) {
  switch (value.index()) {
    case 0:
      return std::get<bool>(value) ? "the boolean true" : "the boolean false";
    case 1:
      return "the integer " + std::to_string(std::get<std::int64_t>(value));
    case 2:
      return "the float " + number_text(std::get<double>(value));
    default:
      return "the text " + quoted_text(std::get<std::string>(value));
  }
}

std::string place_text(const PolicyOptionInput& input) {
  return input.line == 0 ? input.file : input.file + ":" + std::to_string(input.line);
}

std::vector<std::string> choices_of(const pd_option& option) {
  return {option.choices, option.choices + option.choice_count};
}

PolicyError fault(PolicyErrorCode code, const PolicyEntry& policy, const pd_option& option,
                  const PolicyOptionInput& input, std::string_view hint = {}) {
  return make_policy_error(code, {place_text(input), policy.name, input.key,
                                  found_text(input.value), allowed_values(option), hint});
}

// Equal bounds: none.
template <class Number>
bool is_within(Number value, Number min, Number max) {
  return min == max || (value >= min && value <= max);
}

// Stores the configured value into `target`.
Failure take_value(const PolicyEntry& policy, const pd_option& option,
                   const PolicyOptionInput& input, pd_option_value& target, std::string& text) {
  const auto* integer = std::get_if<std::int64_t>(&input.value);
  const auto* number = std::get_if<double>(&input.value);
  const auto* boolean = std::get_if<bool>(&input.value);
  const auto* string = std::get_if<std::string>(&input.value);
  if (option.type == PD_OPTION_FLOAT && (number != nullptr || integer != nullptr)) {
    const double value = number != nullptr ? *number : static_cast<double>(*integer);
    if (!is_within(value, option.min_float, option.max_float) || !std::isfinite(value)) {
      return fault(PolicyErrorCode::kOptionOutOfRange, policy, option, input);
    }
    target.float_value = value;
  } else if (option.type == PD_OPTION_INT && integer != nullptr) {
    if (!is_within(*integer, option.min_int, option.max_int)) {
      return fault(PolicyErrorCode::kOptionOutOfRange, policy, option, input);
    }
    target.int_value = *integer;
  } else if (option.type == PD_OPTION_BOOL && boolean != nullptr) {
    target.int_value = *boolean ? 1 : 0;
  } else if (option.type == PD_OPTION_STRING && string != nullptr) {
    const std::vector<std::string> choices = choices_of(option);
    if (!choices.empty() && std::find(choices.begin(), choices.end(), *string) == choices.end()) {
      const std::string closest = closest_name(*string, choices);
      return fault(PolicyErrorCode::kOptionNotAChoice, policy, option, input,
                   closest.empty() ? "" : "; did you mean \"" + closest + "\"?");
    }
    text = *string;
  } else {
    return fault(PolicyErrorCode::kWrongOptionType, policy, option, input);
  }
  return std::nullopt;
}

PolicyError unknown_option(const PolicyEntry& policy, const PolicyOptionInput& input) {
  std::vector<std::string> keys;
  std::string listed;
  for (const pd_option& option : policy.options) {
    keys.emplace_back(option.key);
    listed += (listed.empty() ? "" : ", ") + keys.back();
  }
  if (listed.empty()) listed = "none";
  const std::string closest = closest_name(input.key, keys);
  return make_policy_error(PolicyErrorCode::kUnknownOption,
                           {place_text(input), policy.name, input.key, listed,
                            closest.empty() ? "" : "; did you mean \"" + closest + "\"?"});
}

std::optional<std::size_t> index_of(const PolicyEntry& policy, std::string_view key) {
  for (std::size_t i = 0; i < policy.options.size(); ++i) {
    if (policy.options[i].key == key) return i;
  }
  return std::nullopt;
}

}  // namespace

pd_policy_config PolicyOptionValues::config(const pd_host* host) const {
  pd_policy_config config{};
  config.struct_size = sizeof config;
  config.value_count = static_cast<std::uint32_t>(pointers_.size());
  config.values = pointers_.data();
  config.host = host;
  return config;
}

boost::system::result<PolicyOptionValues, std::vector<PolicyError>> check_policy_options(
    const PolicyEntry& policy, const std::vector<PolicyOptionInput>& inputs) {
  PolicyOptionValues out;
  for (const pd_option& option : policy.options) {
    pd_option_value value{};
    value.struct_size = sizeof value;
    value.type = option.type;
    value.float_value = option.default_float;
    value.int_value = option.default_int;
    out.values_.push_back(value);
    out.texts_.emplace_back(option.type == PD_OPTION_STRING ? option.default_string : "");
  }

  std::vector<PolicyError> errors;
  std::set<std::string_view> seen;
  for (const PolicyOptionInput& input : inputs) {
    const auto index = index_of(policy, input.key);
    Failure failure;
    if (!index) {
      failure = unknown_option(policy, input);
    } else if (!seen.insert(input.key).second) {
      failure = make_policy_error(PolicyErrorCode::kRepeatedOption,
                                  {place_text(input), policy.name, input.key});
    } else {
      failure = take_value(policy, policy.options[*index], input, out.values_[*index],
                           out.texts_[*index]);
    }
    if (failure) errors.push_back(*std::move(failure));
  }
  if (!errors.empty()) return errors;

  for (std::size_t i = 0; i < out.values_.size(); ++i) {
    out.values_[i].string_value = sdk::str(out.texts_[i]);
    out.pointers_.push_back(&out.values_[i]);
  }
  return out;
}

std::string allowed_values(const pd_option& option) {
  switch (option.type) {
    case PD_OPTION_FLOAT:
      if (option.min_float == option.max_float) return "a finite number";
      return "a number from " + number_text(option.min_float) + " to " +
             number_text(option.max_float);
    case PD_OPTION_INT:
      if (option.min_int == option.max_int) return "an integer";
      return "an integer from " + std::to_string(option.min_int) + " to " +
             std::to_string(option.max_int);
    case PD_OPTION_BOOL:
      return "true or false";
    default:
      break;
  }
  std::string listed;
  for (const std::string& choice : choices_of(option)) {
    listed += (listed.empty() ? "one of " : ", ") + quoted_text(choice);
  }
  return listed.empty() ? "a text" : listed;
}

std::string default_value(const pd_option& option) {
  switch (option.type) {
    case PD_OPTION_FLOAT:
      return number_text(option.default_float);
    case PD_OPTION_INT:
      return std::to_string(option.default_int);
    case PD_OPTION_BOOL:
      return option.default_int != 0 ? "true" : "false";
    default:
      return quoted_text(option.default_string);
  }
}

}  // namespace pd
