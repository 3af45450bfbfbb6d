#include "framework/policy/policy_registry.h"

#include "framework/plugin/plugin.h"
#include "framework/policy/closest_name.h"
#include "framework/policy/error_template.h"

namespace pd {
namespace {

std::string origin(const std::shared_ptr<const Plugin>& plugin) {
  if (plugin == nullptr) return "the host itself";
  return "plugin " + plugin->facts().id + " (" + plugin->facts().path + ")";
}

template <class Entry>
std::vector<std::string> names_of(const PolicyRegistry::Entries<Entry>& entries) {
  std::vector<std::string> names;
  names.reserve(entries.size());
  for (const auto& [name, entry] : entries) names.push_back(name);
  return names;
}

std::string trimmed_lower(std::string_view name) {
  static constexpr std::string_view kBlanks = " \t\r\n\v\f";
  const std::size_t first = name.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  std::string out(name.substr(first, name.find_last_not_of(kBlanks) - first + 1));
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

PolicyError unknown_policy(std::string_view kind, std::string_view name,
                           const std::vector<std::string>& known) {
  std::string listed;
  for (const std::string& each : known) listed += (listed.empty() ? "" : ", ") + each;
  if (listed.empty()) listed = "none (no plugin of this kind is loaded)";
  const std::string closest = closest_name(trimmed_lower(name), known);
  const std::string hint = closest.empty() ? "" : "; did you mean \"" + closest + "\"?";
  return make_policy_error(PolicyErrorCode::kUnknownPolicy, {kind, name, listed, hint});
}

template <class Entry>
PolicyResult<std::shared_ptr<const Entry>> resolve(const PolicyRegistry::Entries<Entry>& entries,
                                                   std::string_view kind, std::string_view name) {
  const auto found = entries.find(trimmed_lower(name));
  if (found == entries.end()) return unknown_policy(kind, name, names_of(entries));
  return found->second;
}

template <class Table>
auto register_policy(PolicyRegistry& registry, const Table* table,
                     std::shared_ptr<const Plugin> plugin) {
  auto entry = make_policy_entry(table, std::move(plugin));
  if (entry) registry.add(*entry);
  return entry;
}

}  // namespace

template <class Entry>
void PolicyRegistry::put(Entries<Entry>& entries, std::string_view kind,
                         std::shared_ptr<const Entry> entry) {
  std::shared_ptr<const Entry>& place = entries[entry->name];
  if (place != nullptr) {
    warnings_.push_back(
        fill_template("{} policy {} of {} is replaced by the one of {}; give one of them another "
                      "name or remove a plugin",
                      {kind, entry->name, origin(place->plugin), origin(entry->plugin)}));
  }
  place = std::move(entry);
}

void PolicyRegistry::add(std::shared_ptr<const DecodePolicyEntry> entry) {
  put(decode_policies_, "decode", std::move(entry));
}

void PolicyRegistry::add(std::shared_ptr<const PrefillPolicyEntry> entry) {
  put(prefill_policies_, "prefill", std::move(entry));
}

PolicyResult<std::shared_ptr<const DecodePolicyEntry>> register_decode_policy(
    PolicyRegistry& registry, const pd_decode_policy* table, std::shared_ptr<const Plugin> plugin) {
  return register_policy(registry, table, std::move(plugin));
}

PolicyResult<std::shared_ptr<const PrefillPolicyEntry>> register_prefill_policy(
    PolicyRegistry& registry, const pd_prefill_policy* table,
    std::shared_ptr<const Plugin> plugin) {
  return register_policy(registry, table, std::move(plugin));
}

PolicyResult<std::shared_ptr<const DecodePolicyEntry>> resolve_decode_policy(
    const PolicyRegistry& registry, std::string_view name) {
  return resolve(registry.decode_policies(), "decode", name);
}

PolicyResult<std::shared_ptr<const PrefillPolicyEntry>> resolve_prefill_policy(
    const PolicyRegistry& registry, std::string_view name) {
  return resolve(registry.prefill_policies(), "prefill", name);
}

std::vector<std::string> decode_policy_names(const PolicyRegistry& registry) {
  return names_of(registry.decode_policies());
}

std::vector<std::string> prefill_policy_names(const PolicyRegistry& registry) {
  return names_of(registry.prefill_policies());
}

}  // namespace pd
