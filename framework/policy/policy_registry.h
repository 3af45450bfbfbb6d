// The policies that a set of plugins has registered, by kind and name.
//
//   PolicyRegistry registry;
//   register_decode_policy(registry, &table, nullptr);
//   auto policy = resolve_decode_policy(registry, " Load_Balancing ");
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "framework/policy/policy_entry.h"
#include "framework/policy/policy_error.h"

namespace pd {

/// [control thread] while it is filled; afterwards any thread may read it. A value: a copy shares
/// the entries, which is how a failed load is undone. Filled before a router is built from it; a
/// reload fills another one.
class PolicyRegistry {
 public:
  template <class Entry>
  using Entries = std::map<std::string, std::shared_ptr<const Entry>, std::less<>>;

  const Entries<DecodePolicyEntry>& decode_policies() const { return decode_policies_; }
  const Entries<PrefillPolicyEntry>& prefill_policies() const { return prefill_policies_; }

  /// Every plugin of this registry in the order of loading, also one without a policy.
  const std::vector<std::shared_ptr<const Plugin>>& plugins() const { return plugins_; }

  /// What an operator should know, for instance that a name was replaced. Sentences.
  const std::vector<std::string>& warnings() const { return warnings_; }

  /// Adds a checked entry. One of the same kind and name is replaced, with a warning that names
  /// both plugins.
  void add(std::shared_ptr<const DecodePolicyEntry> entry);
  void add(std::shared_ptr<const PrefillPolicyEntry> entry);

  /// Keeps `plugin` in plugins(). REQUIRES: not null.
  void add_plugin(std::shared_ptr<const Plugin> plugin) { plugins_.push_back(std::move(plugin)); }

 private:
  template <class Entry>
  void put(Entries<Entry>& entries, std::string_view kind, std::shared_ptr<const Entry> entry);

  // Declared first, so that the last reference to a plugin is not dropped before its entries.
  std::vector<std::shared_ptr<const Plugin>> plugins_;
  Entries<DecodePolicyEntry> decode_policies_;
  Entries<PrefillPolicyEntry> prefill_policies_;
  std::vector<std::string> warnings_;
};

/// Checks `table` and adds it under its name; the new entry, or why it breaks the contract.
/// [control thread] `plugin` is the one whose code the table belongs to; null for a policy of the
/// host, of a test or of an embedder, whose tables must then outlive the registry.
PolicyResult<std::shared_ptr<const DecodePolicyEntry>> register_decode_policy(
    PolicyRegistry& registry, const pd_decode_policy* table, std::shared_ptr<const Plugin> plugin);
PolicyResult<std::shared_ptr<const PrefillPolicyEntry>> register_prefill_policy(
    PolicyRegistry& registry, const pd_prefill_policy* table, std::shared_ptr<const Plugin> plugin);

/// The policy of that name, whatever its case and the blanks around it. kUnknownPolicy, with the
/// registered names and the closest of them, when there is none. Never falls back by itself.
PolicyResult<std::shared_ptr<const DecodePolicyEntry>> resolve_decode_policy(
    const PolicyRegistry& registry, std::string_view name);
PolicyResult<std::shared_ptr<const PrefillPolicyEntry>> resolve_prefill_policy(
    const PolicyRegistry& registry, std::string_view name);

/// Sorted.
std::vector<std::string> decode_policy_names(const PolicyRegistry& registry);
std::vector<std::string> prefill_policy_names(const PolicyRegistry& registry);

}  // namespace pd
