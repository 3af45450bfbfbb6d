// From settings to plugins to policies: what `serve` and `check` both do before anything listens.
#pragma once

#include <boost/system/result.hpp>
#include <memory>
#include <string>
#include <vector>

#include "framework/config/settings.h"
#include "framework/fleet/pod_spec.h"
#include "framework/plugin/host_services.h"
#include "framework/plugin/plugin_loader.h"
#include "framework/policy/policy_registry.h"
#include "framework/policy/policy_set.h"
#include "framework/select/select_settings.h"

namespace pd {

// Plugins and policies, alive together: policies first, then the registry, then the loader.
struct PolicySetup {
  std::shared_ptr<const HostEnvironment> environment;
  std::shared_ptr<HostServices> plugin_host;  // what load() of the plugins sees
  std::unique_ptr<PluginLoader> loader;
  std::unique_ptr<PolicyRegistry> registry;
  std::shared_ptr<const PolicySet> policies;
  std::vector<std::string> warnings;
};

// Loads every plugin of the configured folders and builds the configured policies; or lists all
// that is wrong, one text each. A plugin that is refused is a warning as long as nothing needs it.
boost::system::result<PolicySetup, std::vector<std::string>> set_up_policies(
    const Settings& settings, const std::string& file, std::uint32_t workers,
    std::shared_ptr<const HostEnvironment> environment);

SelectSettings select_settings(const Settings& settings);
std::vector<PodSpec> pod_specs(const Settings& settings);

}  // namespace pd
