#include "framework/policy/policy_entry.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <optional>
#include <set>

#include "framework/policy/untrusted_text.h"

namespace pd {
namespace {

constexpr std::size_t kNameLimit = 64;
constexpr std::size_t kDescriptionLimit = 1024;
constexpr std::size_t kReasonLimit = 256;
constexpr std::size_t kOptionTextLimit = 1024;
// More than anybody can read; a larger count is a table that is not one.
constexpr std::uint32_t kMostReasons = 1024;
constexpr std::uint32_t kMostOptions = 1024;
constexpr std::uint64_t kMostChoices = 1024;

using Failure = std::optional<PolicyError>;

// Sizes of version 1.0: up to the last member that it has.
constexpr std::size_t kPolicySize = offsetof(pd_policy, service) + sizeof(pd_policy::service);
constexpr std::size_t kOptionSize =
    offsetof(pd_option, choice_count) + sizeof(pd_option::choice_count);
constexpr std::size_t kDecodeSize =
    offsetof(pd_decode_policy, score) + sizeof(pd_decode_policy::score);
constexpr std::size_t kPrefillSize =
    offsetof(pd_prefill_policy, release) + sizeof(pd_prefill_policy::release);
constexpr std::size_t kLargestSize = 64 * 1024;

// Copies the part of *from that its writer knew; the rest of `to` stays zero. Nothing but the size
// is read before the size is known.
template <class Table>
Failure copy_table(const Table* from, Table& to, std::size_t required, std::string_view what) {
  if (from == nullptr) return make_policy_error(PolicyErrorCode::kNullTable, {what});
  std::uint32_t size = 0;
  std::memcpy(&size, from, sizeof size);
  if (size < required || size > kLargestSize || size % 8 != 0) {
    return make_policy_error(PolicyErrorCode::kWrongSize,
                             {what, std::to_string(size), std::to_string(required)});
  }
  std::memcpy(static_cast<void*>(&to), from, std::min<std::size_t>(size, sizeof(Table)));
  to.struct_size = sizeof(Table);
  return std::nullopt;
}

Failure check_reserved(std::uint32_t reserved, std::string_view what) {
  if (reserved == 0) return std::nullopt;
  return make_policy_error(PolicyErrorCode::kReservedNotZero, {what, std::to_string(reserved)});
}

std::string bit_text(std::uint64_t bits) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string digits;
  do {
    digits.insert(digits.begin(), kHex[bits & 15]);
    bits >>= 4;
  } while (bits != 0);
  return "0x" + digits;
}

bool is_option_key(std::string_view key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// What is wrong with the values of an option; empty when nothing is.
std::string_view number_fault(const pd_option& option) {
  switch (option.type) {
    case PD_OPTION_FLOAT:
      if (std::isnan(option.min_float) || std::isnan(option.max_float) ||
          !std::isfinite(option.default_float)) {
        return "a bound is NaN or the default is not finite";
      }
      if (option.min_float > option.max_float) return "min_float is above max_float";
      if (option.min_float != option.max_float &&
          (option.default_float < option.min_float || option.default_float > option.max_float)) {
        return "the default is outside min_float and max_float";
      }
      return {};
    case PD_OPTION_INT:
      if (option.min_int > option.max_int) return "min_int is above max_int";
      if (option.min_int != option.max_int &&
          (option.default_int < option.min_int || option.default_int > option.max_int)) {
        return "the default is outside min_int and max_int";
      }
      return {};
    case PD_OPTION_BOOL:
      return option.default_int == 0 || option.default_int == 1
                 ? std::string_view()
                 : "default_int of a BOOL is neither 0 nor 1";
    case PD_OPTION_STRING:
      return {};
    default:
      return "type is none of PD_OPTION_FLOAT, INT, BOOL and STRING; the policy may need a newer "
             "host";
  }
}

std::string_view string_fault(const pd_option& option) {
  if (option.type != PD_OPTION_STRING) return {};
  const auto fallback = untrusted_text(option.default_string, kOptionTextLimit);
  if (!fallback) return "default_string is missing, too long, or not printable";
  if (option.choice_count == 0) return {};
  if (option.choices == nullptr || option.choice_count > kMostChoices) {
    return "choice_count and choices do not fit each other";
  }
  bool default_is_allowed = false;
  for (std::uint64_t i = 0; i < option.choice_count; ++i) {
    const auto choice = untrusted_text(option.choices[i], kOptionTextLimit);
    if (!choice) return "one of choices is missing, too long, or not printable";
    default_is_allowed = default_is_allowed || *choice == *fallback;
  }
  return default_is_allowed ? std::string_view() : "default_string is not among choices";
}

}  // namespace

// Fills the part that both kinds share.
struct PolicyEntryBuilder {
  PolicyEntry& entry;

  Failure build(const pd_policy* policy) {
    if (auto failure = copy_table(policy, entry.policy, kPolicySize, "pd_policy")) return failure;
    if (auto failure = take_name()) return failure;
    if (auto failure = check_functions()) return failure;
    if (auto failure = check_bits()) return failure;
    if (auto failure = take_description()) return failure;
    if (auto failure = take_reasons()) return failure;
    return take_options();
  }

  Failure take_name() {
    const auto name = untrusted_text(entry.policy.name, kNameLimit);
    if (!name || !is_policy_name(*name)) {
      const std::string_view shown =
          entry.policy.name == nullptr
              ? std::string_view()
              : std::string_view(entry.policy.name, ::strnlen(entry.policy.name, kNameLimit + 1));
      return make_policy_error(PolicyErrorCode::kInvalidName, {shown});
    }
    entry.name = *name;
    entry.policy.name = entry.name.c_str();
    return std::nullopt;
  }

  Failure check_functions() const {
    if (entry.policy.create == nullptr) return missing("create");
    if (entry.policy.destroy == nullptr) return missing("destroy");
    return std::nullopt;
  }

  Failure missing(std::string_view function) const {
    return make_policy_error(PolicyErrorCode::kMissingCallback, {entry.name, function});
  }

  Failure check_bits() const {
    const std::uint64_t known = PD_USES_KNOWN;
    if ((entry.policy.uses & ~known) != 0) {
      return make_policy_error(PolicyErrorCode::kNewerUses,
                               {entry.name, bit_text(entry.policy.uses), bit_text(known)});
    }
    const std::uint32_t known_flags = PD_POLICY_FLAGS_KNOWN;
    if ((entry.policy.flags & ~known_flags) != 0) {
      return make_policy_error(PolicyErrorCode::kUnknownFlags,
                               {entry.name, bit_text(entry.policy.flags), bit_text(known_flags)});
    }
    return std::nullopt;
  }

  Failure invalid_text(std::string_view what, std::size_t limit) const {
    return make_policy_error(PolicyErrorCode::kInvalidText,
                             {entry.name, what, std::to_string(limit)});
  }

  Failure take_description() {
    auto description = untrusted_text(entry.policy.description, kDescriptionLimit);
    if (!description) return invalid_text("description", kDescriptionLimit);
    entry.description = *std::move(description);
    entry.policy.description = entry.description.c_str();
    return std::nullopt;
  }

  Failure take_reasons() {
    const std::uint32_t count = entry.policy.reason_count;
    if (count > kMostReasons || (count > 0 && entry.policy.reasons == nullptr)) {
      return invalid_text("the table of reasons", kReasonLimit);
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      auto reason = untrusted_text(entry.policy.reasons[i], kReasonLimit);
      if (!reason) return invalid_text("a reason", kReasonLimit);
      entry.reasons.push_back(*std::move(reason));
    }
    for (const std::string& reason : entry.reasons) {
      entry.reason_pointers_.push_back(reason.c_str());
    }
    entry.policy.reasons = entry.reason_pointers_.data();
    return std::nullopt;
  }

  Failure invalid_option(std::string_view option, std::string_view fault) const {
    return make_policy_error(PolicyErrorCode::kInvalidOption, {entry.name, option, fault});
  }

  Failure take_options() {
    const std::uint32_t count = entry.policy.option_count;
    if (count > kMostOptions || (count > 0 && entry.policy.options == nullptr)) {
      return invalid_option("table", "option_count and options do not fit each other");
    }
    std::set<std::string> keys;
    for (std::uint32_t i = 0; i < count; ++i) {
      pd_option option{};
      if (auto failure = copy_table(entry.policy.options[i], option, kOptionSize, "pd_option")) {
        return failure;
      }
      const auto key = untrusted_text(option.key, kNameLimit);
      if (!key || !is_option_key(*key)) {
        return invalid_option(std::to_string(i), "the key is not 1 to 64 characters of a-z 0-9 _");
      }
      if (!keys.insert(*key).second) return invalid_option(*key, "the key is declared twice");
      if (!untrusted_text(option.help, kOptionTextLimit)) {
        return invalid_option(*key, "help is missing, too long, or not printable");
      }
      if (const auto fault = number_fault(option); !fault.empty())
        return invalid_option(*key, fault);
      if (const auto fault = string_fault(option); !fault.empty())
        return invalid_option(*key, fault);
      entry.options.push_back(option);
    }
    for (const pd_option& option : entry.options) entry.option_pointers_.push_back(&option);
    entry.policy.options = entry.option_pointers_.data();
    return std::nullopt;
  }
};

namespace {

template <class Entry>
PolicyResult<std::shared_ptr<const Entry>> finish(const std::shared_ptr<Entry>& entry) {
  entry->table.policy = &entry->policy;
  return std::shared_ptr<const Entry>(entry);
}

}  // namespace

PolicyResult<std::shared_ptr<const DecodePolicyEntry>> make_policy_entry(
    const pd_decode_policy* table, std::shared_ptr<const Plugin> plugin) {
  auto entry = std::make_shared<DecodePolicyEntry>();
  entry->plugin = std::move(plugin);
  if (auto failure = copy_table(table, entry->table, kDecodeSize, "pd_decode_policy")) {
    return *std::move(failure);
  }
  if (auto failure = check_reserved(entry->table.reserved0, "pd_decode_policy")) {
    return *std::move(failure);
  }
  PolicyEntryBuilder builder{*entry};
  if (auto failure = builder.build(entry->table.policy)) return *std::move(failure);
  if (entry->table.score == nullptr) return *builder.missing("score");
  return finish(entry);
}

PolicyResult<std::shared_ptr<const PrefillPolicyEntry>> make_policy_entry(
    const pd_prefill_policy* table, std::shared_ptr<const Plugin> plugin) {
  auto entry = std::make_shared<PrefillPolicyEntry>();
  entry->plugin = std::move(plugin);
  if (auto failure = copy_table(table, entry->table, kPrefillSize, "pd_prefill_policy")) {
    return *std::move(failure);
  }
  if (auto failure = check_reserved(entry->table.reserved0, "pd_prefill_policy")) {
    return *std::move(failure);
  }
  PolicyEntryBuilder builder{*entry};
  if (auto failure = builder.build(entry->table.policy)) return *std::move(failure);
  if (entry->table.prepare == nullptr) return *builder.missing("prepare");
  if (entry->table.score == nullptr) return *builder.missing("score");
  return finish(entry);
}

bool is_policy_name(std::string_view name) {
  return !name.empty() && name.size() <= kNameLimit &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
                  c == '-';
         });
}

}  // namespace pd
