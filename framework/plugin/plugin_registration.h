// Runs load() of a plugin and takes what it registers.
#pragma once

#include <memory>
#include <optional>

#include "framework/plugin/plugin.h"
#include "framework/plugin/plugin_error.h"
#include "framework/policy/policy_registry.h"
#include "pd/abi.h"

namespace pd {

/// Calls load() and adds the policies that it registers, and the plugin itself, to `registry`. When
/// load() fails or throws, `registry` is as before: kLoadFailed with the plugin's message,
/// kLoadThrew. A policy that is refused while load() succeeds becomes a warning of the plugin.
/// [control thread] `host` must live until unload() has returned.
std::optional<PluginError> run_load(const std::shared_ptr<Plugin>& plugin, const pd_host* host,
                                    PolicyRegistry& registry);

}  // namespace pd
