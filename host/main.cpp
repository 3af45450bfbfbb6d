// pd-host: the command line.
#include <CLI/CLI.hpp>

#include "host/commands/check.h"
#include "host/commands/inspect.h"
#include "host/commands/serve.h"

int main(int argc, char** argv) {
  CLI::App app("Routes LLM requests over prefill and decode pods, by policies that are plugins.",
               "pd-host");
  app.set_version_flag("--version", std::string("pd-host ") + PD_VERSION);
  app.require_subcommand(1);

  pd::ServeOptions serve_options;
  auto* serve = app.add_subcommand("serve", "Serve requests until SIGTERM or SIGINT");
  serve->add_option("--config", serve_options.config, "Configuration file (pd.toml)")->required();
  serve->add_option("--ports-file", serve_options.ports_file,
                    "Receives the addresses as JSON once both ports listen");

  std::string config;
  bool json = false;
  auto* check = app.add_subcommand("check", "Check a configuration and print what would count");
  check->add_option("--config", config, "Configuration file (pd.toml)")->required();
  check->add_flag("--json", json, "Print JSON");

  std::string file;
  auto* plugin = app.add_subcommand("plugin", "Look at policy plugins");
  plugin->require_subcommand(1);
  auto* inspect = plugin->add_subcommand("inspect", "Print what a plugin is and offers");
  inspect->add_option("file", file, "Plugin file (.so)")->required();
  inspect->add_flag("--json", json, "Print JSON");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? pd::kExitOk : pd::kExitUsage;
  }
  if (*serve) return pd::serve(serve_options);
  if (*check) return pd::check(config, json);
  return pd::inspect(file, json);
}
