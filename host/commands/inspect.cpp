#include "host/commands/inspect.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>

#include "framework/plugin/host_services.h"
#include "framework/plugin/plugin_inspection.h"
#include "host/commands/serve.h"

namespace pd {

int inspect(const std::string& file, bool json) {
  auto environment = std::make_shared<HostEnvironment>();
  environment->version = PD_VERSION;
  const HostServices services(environment, "inspect", RandomStream::kRouter);
  const PluginInspection inspection =
      inspect_plugin(std::filesystem::absolute(file).string(), {}, services.host());
  fmt::print("{}", json ? to_json(inspection) + "\n" : format_table(inspection));
  return inspection.error ? kExitPlugins : kExitOk;
}

}  // namespace pd
