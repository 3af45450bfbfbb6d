#include "host/commands/policy_setup.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <random>

#include "host/http/url.h"

namespace pd {
namespace {

PluginLoaderOptions loader_options(const PluginSettings& settings) {
  PluginLoaderOptions options;
  options.directories = settings.directories;
  for (const PluginAllow& allow : settings.allow) {
    options.allow.push_back({allow.id, allow.sha256, allow.file});
  }
  options.staging = settings.staging.value_or("");
  options.max_size = settings.max_size;
  return options;
}

std::vector<PolicyOptionInput> option_inputs(const std::vector<PolicyOption>& options,
                                             const std::string& file) {
  std::vector<PolicyOptionInput> inputs;
  for (const PolicyOption& option : options) {
    PolicyOptionInput input;
    input.key = option.key;
    std::visit([&](const auto& value) { input.value = value; }, option.value);
    input.line = option.position.line;
    input.file = option.variable.empty() ? file : option.variable;
    inputs.push_back(std::move(input));
  }
  return inputs;
}

PolicyChoice policy_choice(const Settings& settings, const std::string& file) {
  PolicyChoice choice;
  choice.prefill = settings.prefill.policy;
  choice.prefill_fallback = settings.prefill.fallback;
  choice.decode = settings.decode.policy;
  choice.decode_fallback = settings.decode.fallback;
  for (const auto& [name, options] : settings.policies) {
    choice.options[name] = option_inputs(options, file);
  }
  return choice;
}

// "http://HOST:PORT/PATH", as the configuration has checked it.
void set_metrics_address(const std::string& url, PodSpec& spec) {
  const std::size_t path = url.find('/', std::string_view("http://").size());
  const auto address = http::parse_url(url.substr(0, path));
  if (address) spec.metrics_port = address->port;
  if (path != std::string::npos) spec.metrics_path = url.substr(path);
}

std::string no_plugin(const LoadedPlugins& loaded) {
  return fmt::format(
      "no policy plugin was loaded, and this host has no policy compiled in; looked for lib*.so "
      "in: "
      "{} (plugins.directories)",
      fmt::join(loaded.folders, ", "));
}

}  // namespace

boost::system::result<PolicySetup, std::vector<std::string>> set_up_policies(
    const Settings& settings, const std::string& file, std::uint32_t workers,
    std::shared_ptr<const HostEnvironment> environment) {
  PolicySetup setup;
  setup.environment = std::move(environment);
  setup.plugin_host =
      std::make_shared<HostServices>(setup.environment, "plugin", RandomStream::kRouter);
  setup.loader =
      std::make_unique<PluginLoader>(loader_options(settings.plugins), setup.plugin_host->host());
  setup.registry = std::make_unique<PolicyRegistry>();

  std::vector<std::string> errors;
  const LoadedPlugins loaded = setup.loader->load_all(*setup.registry);
  std::vector<std::string> refusals;
  for (const PluginError& error : loaded.errors) {
    refusals.push_back(fmt::format("plugin {} refused at step \"{}\" ({}): {}", error.file,
                                   error.step, code_name(error.code), error.message));
  }
  if (loaded.plugins.empty()) {
    errors.push_back(no_plugin(loaded));
    errors.insert(errors.end(), refusals.begin(), refusals.end());
    return errors;
  }
  InstanceLimits limits;
  limits.worker_count = workers;
  auto policies = PolicySet::build(*setup.registry, policy_choice(settings, file), limits,
                                   setup.environment, 1);
  if (!policies) {
    errors = std::move(policies.error());
    errors.insert(errors.end(), refusals.begin(), refusals.end());
    return errors;
  }
  setup.policies = std::move(*policies);
  setup.warnings = std::move(refusals);
  for (const std::string& warning : setup.registry->warnings()) setup.warnings.push_back(warning);
  for (const auto& plugin : loaded.plugins) {
    for (const std::string& warning : plugin->facts().warnings) {
      setup.warnings.push_back(fmt::format("plugin {}: {}", plugin->facts().id, warning));
    }
  }
  for (const PodSettings& pod : settings.fleet.pods) {
    if (pod.role != ConfiguredRole::kCombined) continue;
    setup.warnings.push_back(
        fmt::format("pod {} has the role combined: it is scraped and shown, but "
                    "not chosen, because every choice is a pair of pods",
                    pod.name));
  }
  return setup;
}

SelectSettings select_settings(const Settings& settings) {
  SelectSettings out;
  out.prefill_min_spread = settings.prefill.min_spread;
  out.prefill_stddev_factor = settings.prefill.stddev_factor;
  out.decode_min_spread = settings.decode.min_spread;
  out.throughput_min_spread = settings.decode.throughput_min_spread;
  out.score_ratio = settings.decode.score_ratio;
  out.stale_ns = static_cast<std::uint64_t>(std::chrono::nanoseconds(settings.fleet.stale).count());
  out.block_size = settings.prefix_index.block_size;
  std::random_device chance;
  out.hash_seed = settings.prefix_index.hash_seed.value_or(
      (static_cast<std::uint64_t>(chance()) << 32U) | chance());
  return out;
}

std::vector<PodSpec> pod_specs(const Settings& settings) {
  std::vector<PodSpec> specs;
  for (const PodSettings& pod : settings.fleet.pods) {
    PodSpec spec;
    spec.name = pod.name;
    spec.model = pod.model;
    spec.role = pod.role == ConfiguredRole::kPrefill  ? Role::kPrefill
                : pod.role == ConfiguredRole::kDecode ? Role::kDecode
                                                      : Role::kCombined;
    spec.roleset = pod.roleset;
    spec.engine = "vllm";
    const ConnectorKind connector = pod.connector.value_or(settings.fleet.connector);
    spec.connector = connector == ConnectorKind::kNixl ? "nixl" : "shfs";
    // The configuration has checked the addresses.
    const http::Url url = *http::parse_url(pod.url);
    spec.host = url.host;
    spec.port = url.port;
    if (pod.metrics_url) set_metrics_address(*pod.metrics_url, spec);
    spec.group_index = pod.group_index;
    spec.replica_index = pod.replica_index;
    spec.labels = pod.labels;
    specs.push_back(std::move(spec));
  }
  return specs;
}

}  // namespace pd
