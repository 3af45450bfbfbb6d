// What is wrong with a policy: its name, its table or its configured options.
//
// Every text is a whole literal of policy_error.cpp, each with a stable code. Values, any thread.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

namespace pd {

enum class PolicyErrorCode : std::uint8_t {
  kUnknownPolicy,     ///< no policy of that name is registered
  kNullTable,         ///< a plugin handed over a null pointer
  kWrongSize,         ///< struct_size is below that of 1.0, above 64 KiB, or no multiple of 8
  kReservedNotZero,   ///< a reserved member is set
  kInvalidName,       ///< missing, empty, too long, or other characters than [a-z0-9_.-]
  kInvalidText,       ///< description or reason missing, too long or not printable
  kMissingCallback,   ///< a required function is null
  kNewerUses,         ///< a PD_USES_ bit that this host does not know
  kUnknownFlags,      ///< a flag bit that this host does not know
  kInvalidOption,     ///< the table of options breaks the contract
  kUnknownOption,     ///< configured, but the policy does not declare it
  kRepeatedOption,    ///< configured twice
  kWrongOptionType,   ///< configured with another type than declared
  kOptionOutOfRange,  ///< configured outside the declared bounds
  kOptionNotAChoice,  ///< configured with a text that is not among the declared ones
};

/// The stable name of a code: "unknown_policy", "missing_callback".
std::string_view code_name(PolicyErrorCode code);

struct PolicyError {
  PolicyErrorCode code{};
  std::string message;
};

/// An error with the text of `code`, its gaps filled in order.
PolicyError make_policy_error(PolicyErrorCode code,
                              std::initializer_list<std::string_view> arguments);

}  // namespace pd
