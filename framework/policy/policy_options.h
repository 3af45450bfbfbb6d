// The configured values of a policy, checked against the table of options that the policy
// publishes.
#pragma once

#include <boost/system/result.hpp>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "framework/policy/policy_entry.h"
#include "framework/policy/policy_error.h"

namespace pd {

/// One line of [policy.NAME], as configured.
struct PolicyOptionInput {
  std::string key;
  std::variant<bool, std::int64_t, double, std::string> value;
  std::uint32_t line = 0;  ///< from 1; 0: not from a line of a file
  std::string file;        ///< or the name of the environment variable
};

/// A value for every declared option, in the order of the declaration. Movable; pointers that
/// config() handed out stay valid as long as this object or the one it was moved to lives.
class PolicyOptionValues {
 public:
  PolicyOptionValues(PolicyOptionValues&&) = default;
  PolicyOptionValues& operator=(PolicyOptionValues&&) = default;

  /// What create() is called with; role, worker_count and slot_limit are left at 0 for the caller.
  pd_policy_config config(const pd_host* host) const;

  const std::vector<pd_option_value>& values() const { return values_; }

 private:
  friend boost::system::result<PolicyOptionValues, std::vector<PolicyError>> check_policy_options(
      const PolicyEntry& policy, const std::vector<PolicyOptionInput>& inputs);
  PolicyOptionValues() = default;

  std::vector<std::string> texts_;
  std::vector<pd_option_value> values_;
  std::vector<const pd_option_value*> pointers_;
};

/// Values for create(), or every fault of `inputs`, with file, line, key, what was found and what
/// is allowed. Integers are taken where a float is declared; nothing else is converted. Pure.
boost::system::result<PolicyOptionValues, std::vector<PolicyError>> check_policy_options(
    const PolicyEntry& policy, const std::vector<PolicyOptionInput>& inputs);

/// What may be configured for `option`, in words: "a number from 0 to 1".
std::string allowed_values(const pd_option& option);

/// The default of `option` as the configuration would write it.
std::string default_value(const pd_option& option);

}  // namespace pd
