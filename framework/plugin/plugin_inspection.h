// What `pd-host plugin inspect FILE.so` shows: everything that loading a plugin tells about it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "framework/plugin/plugin.h"
#include "framework/plugin/plugin_error.h"
#include "framework/plugin/plugin_loader.h"
#include "pd/abi.h"

namespace pd {

/// One option of an inspected policy, as text.
struct InspectedOption {
  std::string key;
  std::string type;  ///< "float", "int", "bool", "string"
  std::string default_value;
  std::string allowed;
  std::string help;
};

struct InspectedPolicy {
  std::string kind;  ///< "decode" or "prefill"
  std::string name;
  std::string description;
  std::vector<std::string> uses;  ///< "prefix", "running" ...: PD_USES_* in lower case
  std::vector<std::string> reasons;
  std::vector<InspectedOption> options;
};

/// Copies, which need no library.
struct PluginInspection {
  PluginFacts facts;
  std::vector<InspectedPolicy> policies;
  std::optional<PluginError> error;  ///< why it would be refused
};

/// Loads `file` as the host would, into a registry of its own, and unloads it again. Runs code of
/// the plugin. [control thread] options.allow applies: leave it empty to look at any file.
PluginInspection inspect_plugin(const std::string& file, const PluginLoaderOptions& options,
                                const pd_host* host);

/// For people: aligned lines, the refusal last. Ends with a line break.
std::string format_table(const PluginInspection& inspection);

/// For programs: one JSON object. "error" is null or {code, step, message}.
std::string to_json(const PluginInspection& inspection);

}  // namespace pd
