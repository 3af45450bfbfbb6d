// One registered policy: a checked, full-size copy of what its plugin handed over.
#pragma once

#include <boost/system/result.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "framework/policy/policy_error.h"
#include "pd/abi.h"

namespace pd {

class Plugin;

/// What decode and prefill policies share. Immutable once made; any thread may read it. Not
/// copyable: the tables point into it. Members beyond what the plugin knew are zero.
struct PolicyEntry {
  PolicyEntry() = default;
  PolicyEntry(const PolicyEntry&) = delete;
  PolicyEntry& operator=(const PolicyEntry&) = delete;

  std::shared_ptr<const Plugin> plugin;  ///< keeps the code mapped; null when registered in-process
  std::string name;                      ///< [a-z0-9_.-]+, 1 to 64 bytes
  std::string description;
  std::vector<std::string> reasons;
  std::vector<pd_option> options;  ///< in the order of the plugin; their texts are the plugin's
  pd_policy
      policy{};  ///< name, description, options and reasons point to the members of this entry

 protected:
  ~PolicyEntry() = default;

 private:
  friend struct PolicyEntryBuilder;
  std::vector<const pd_option*> option_pointers_;
  std::vector<const char*> reason_pointers_;
};

struct DecodePolicyEntry final : PolicyEntry {
  pd_decode_policy table{};  ///< table.policy is &policy
};

struct PrefillPolicyEntry final : PolicyEntry {
  pd_prefill_policy table{};  ///< table.policy is &policy; prefix_hashes and release may be null
};

template <class T>
using PolicyResult = boost::system::result<T, PolicyError>;

/// Checks a table against the contract and copies it. [control thread]
/// `table` and what it points to must outlive the entry, which `plugin` sees to when it is not
/// null.
PolicyResult<std::shared_ptr<const DecodePolicyEntry>> make_policy_entry(
    const pd_decode_policy* table, std::shared_ptr<const Plugin> plugin);
PolicyResult<std::shared_ptr<const PrefillPolicyEntry>> make_policy_entry(
    const pd_prefill_policy* table, std::shared_ptr<const Plugin> plugin);

/// Does `name` match [a-z0-9_.-]+ with at most 64 bytes?
bool is_policy_name(std::string_view name);

}  // namespace pd
