#include "host/commands/check.h"

#include <fmt/format.h>

#include <cstdio>

#include "framework/config/config_loader.h"
#include "framework/config/cpu_budget.h"
#include "framework/config/effective_config.h"
#include "host/commands/policy_setup.h"
#include "host/commands/serve.h"

namespace pd {

int check(const std::string& config, bool json) {
  const auto loaded = load_settings(config, process_environment());
  if (!loaded) {
    for (const ConfigError& error : loaded.error()) {
      fmt::print(stderr, "{}\n", to_string(error));
    }
    return kExitConfiguration;
  }
  fmt::print("{}", json ? format_effective_json(*loaded) + "\n" : format_effective(*loaded));

  auto environment = std::make_shared<HostEnvironment>();
  environment->version = PD_VERSION;
  const WorkerThreads threads = worker_threads(loaded->settings);
  const auto setup =
      set_up_policies(loaded->settings, loaded->file, threads.count, std::move(environment));
  if (!setup) {
    for (const std::string& error : setup.error()) fmt::print(stderr, "error: {}\n", error);
    return kExitPlugins;
  }
  for (const std::string& warning : setup->warnings) fmt::print(stderr, "warning: {}\n", warning);
  if (json) return kExitOk;
  fmt::print("worker threads  {} ({})\n", threads.count, threads.origin);
  for (const auto& plugin : setup->registry->plugins()) {
    fmt::print("plugin          {} {} from {}\n", plugin->facts().id, plugin->facts().version,
               plugin->facts().path);
  }
  fmt::print("policies        {}\nconfiguration is usable\n", setup->policies->label());
  return kExitOk;
}

}  // namespace pd
