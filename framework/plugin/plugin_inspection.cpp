#include "framework/plugin/plugin_inspection.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <boost/json.hpp>
#include <string_view>
#include <utility>

#include "framework/policy/policy_options.h"
#include "framework/policy/policy_registry.h"

namespace pd {
namespace {

struct UseName {
  std::uint64_t bit;
  std::string_view name;
};
constexpr UseName kUseNames[] = {
    {PD_USES_PREFIX, "prefix"},
    {PD_USES_PROMPT, "prompt"},
    {PD_USES_PROMPT_TOKENS, "prompt_tokens"},
    {PD_USES_TOKEN_IDS, "token_ids"},
    {PD_USES_TOKENIZER_OUTPUT, "tokenizer_output"},
    {PD_USES_RUNNING, "running"},
    {PD_USES_WAITING, "waiting"},
    {PD_USES_THROUGHPUT, "throughput"},
    {PD_USES_KV_USAGE, "kv_usage"},
    {PD_USES_KV_BLOCKS, "kv_blocks"},
    {PD_USES_PREFILL_TIME, "prefill_time"},
    {PD_USES_DRAIN_RATE, "drain_rate"},
    {PD_USES_PREALLOC, "prealloc"},
    {PD_USES_SAMPLE_AGE, "sample_age"},
    {PD_USES_OWN_REQUESTS, "own_requests"},
    {PD_USES_OWN_TOKENS, "own_tokens"},
    {PD_USES_IDLE_TIME, "idle_time"},
    {PD_USES_OUTCOME_AVERAGES, "outcome_averages"},
};

constexpr std::uint64_t named_uses() {
  std::uint64_t bits = 0;
  for (const UseName& use : kUseNames) bits |= use.bit;
  return bits;
}
static_assert(named_uses() == PD_USES_KNOWN, "every known PD_USES_ bit has a name here");

std::string type_name(std::uint32_t type) {
  switch (type) {
    case PD_OPTION_FLOAT:
      return "float";
    case PD_OPTION_INT:
      return "int";
    case PD_OPTION_BOOL:
      return "bool";
    default:
      return "string";
  }
}

InspectedPolicy inspect_policy(std::string kind, const PolicyEntry& entry) {
  InspectedPolicy out;
  out.kind = std::move(kind);
  out.name = entry.name;
  out.description = entry.description;
  out.reasons = entry.reasons;
  for (const UseName& use : kUseNames) {
    if ((entry.policy.uses & use.bit) != 0) out.uses.emplace_back(use.name);
  }
  for (const pd_option& option : entry.options) {
    out.options.push_back({option.key, type_name(option.type), default_value(option),
                           allowed_values(option), option.help});
  }
  return out;
}

// ---- Table
// ---------------------------------------------------------------------------------------

void add_line(std::string& out, std::string_view label, std::string_view value) {
  constexpr std::size_t kLabelWidth = 14;
  if (value.empty()) return;
  out += label;
  out.append(label.size() < kLabelWidth ? kLabelWidth - label.size() : 1, ' ');
  out += value;
  out += '\n';
}

std::string abi_text(const PluginFacts& facts) {
  if (facts.abi_major == 0) return {};
  return "needs " + std::to_string(facts.abi_major) + "." + std::to_string(facts.abi_minor) +
         ", built with " + std::to_string(facts.abi_major) + "." +
         std::to_string(facts.header_minor);
}

void add_policy(std::string& out, const InspectedPolicy& policy) {
  add_line(out, policy.kind + " policy", policy.name + ": " + policy.description);
  add_line(out, "  uses", fmt::format("{}", fmt::join(policy.uses, ", ")));
  for (const std::string& reason : policy.reasons) add_line(out, "  excludes", reason);
  for (const InspectedOption& option : policy.options) {
    add_line(
        out, "  option",
        option.key + " = " + option.default_value + "  (" + option.allowed + ") " + option.help);
  }
}

// ---- JSON
// ----------------------------------------------------------------------------------------

boost::json::array json_strings(const std::vector<std::string>& strings) {
  return boost::json::array(strings.begin(), strings.end());
}

boost::json::object json_policy(const InspectedPolicy& policy) {
  boost::json::array options;
  for (const InspectedOption& option : policy.options) {
    options.push_back(boost::json::object{{"key", option.key},
                                          {"type", option.type},
                                          {"default", option.default_value},
                                          {"allowed", option.allowed},
                                          {"help", option.help}});
  }
  return {{"kind", policy.kind},
          {"name", policy.name},
          {"description", policy.description},
          {"uses", json_strings(policy.uses)},
          {"reasons", json_strings(policy.reasons)},
          {"options", std::move(options)}};
}

boost::json::value json_error(const std::optional<PluginError>& error) {
  if (!error) return nullptr;
  return boost::json::object{
      {"code", code_name(error->code)}, {"step", error->step}, {"message", error->message}};
}

}  // namespace

PluginInspection inspect_plugin(const std::string& file, const PluginLoaderOptions& options,
                                const pd_host* host) {
  PluginInspection inspection;
  PluginLoader loader(options, host);
  PolicyRegistry registry;
  const auto plugin = loader.load(file, registry, inspection.facts);
  if (!plugin) inspection.error = plugin.error();
  for (const auto& [name, entry] : registry.decode_policies()) {
    inspection.policies.push_back(inspect_policy("decode", *entry));
  }
  for (const auto& [name, entry] : registry.prefill_policies()) {
    inspection.policies.push_back(inspect_policy("prefill", *entry));
  }
  return inspection;
}

std::string format_table(const PluginInspection& inspection) {
  const PluginFacts& facts = inspection.facts;
  std::string out;
  add_line(out, "file", facts.path);
  if (facts.real_path != facts.path) add_line(out, "real file", facts.real_path);
  add_line(out, "sha256", facts.sha256);
  if (facts.size != 0) add_line(out, "size", std::to_string(facts.size) + " bytes");
  add_line(out, "id", facts.id);
  add_line(out, "version", facts.version);
  add_line(out, "vendor", facts.vendor);
  add_line(out, "licence", facts.licence);
  add_line(out, "description", facts.description);
  add_line(out, "build", facts.build);
  add_line(out, "ABI", abi_text(facts));
  if (!facts.id.empty()) {
    add_line(out, "unload safe", (facts.flags & PD_PLUGIN_UNLOAD_SAFE) != 0 ? "yes" : "no");
  }
  add_line(out, "libraries", fmt::format("{}", fmt::join(facts.elf.needed, ", ")));
  for (const InspectedPolicy& policy : inspection.policies) add_policy(out, policy);
  for (const std::string& warning : facts.warnings) add_line(out, "warning", warning);
  if (inspection.error) {
    add_line(out, "refused",
             "[" + std::string(code_name(inspection.error->code)) + "] " + inspection.error->step +
                 ": " + inspection.error->message);
  } else {
    add_line(out, "result", "ok");
  }
  return out;
}

std::string to_json(const PluginInspection& inspection) {
  const PluginFacts& facts = inspection.facts;
  boost::json::array policies;
  for (const InspectedPolicy& policy : inspection.policies) policies.push_back(json_policy(policy));
  const boost::json::object object{
      {"file", facts.path},
      {"real_file", facts.real_path},
      {"sha256", facts.sha256},
      {"size", facts.size},
      {"id", facts.id},
      {"version", facts.version},
      {"vendor", facts.vendor},
      {"licence", facts.licence},
      {"description", facts.description},
      {"build", facts.build},
      {"abi_major", facts.abi_major},
      {"needs_minor", facts.abi_minor},
      {"header_minor", facts.header_minor},
      {"unload_safe", (facts.flags & PD_PLUGIN_UNLOAD_SAFE) != 0},
      {"libraries", json_strings(facts.elf.needed)},
      {"extra_exports", json_strings(facts.exports)},
      {"static_tls", facts.elf.static_tls},
      {"tls_bytes", facts.elf.tls_size},
      {"policies", std::move(policies)},
      {"warnings", json_strings(facts.warnings)},
      {"error", json_error(inspection.error)},
  };
  return boost::json::serialize(object);
}

}  // namespace pd
