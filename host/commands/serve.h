// pd-host serve: everything from the configuration file to a running gateway, and back down.
#pragma once

#include <string>

namespace pd {

// Exit codes, also of the other commands.
inline constexpr int kExitOk = 0;
inline constexpr int kExitUsage = 2;          // wrong words on the command line
inline constexpr int kExitConfiguration = 3;  // pd.toml cannot be used
inline constexpr int kExitPlugins = 4;        // no usable plugin, or a policy that is not there
inline constexpr int kExitListen = 5;         // an address cannot be listened on
inline constexpr int kExitCut = 6;            // stopped, but requests had to be cut

struct ServeOptions {
  std::string config;
  std::string ports_file;  // receives {"gateway": ..., "admin": ...} once both listen; or empty
};

// Serves until SIGTERM or SIGINT; a second signal cuts what is in progress. Gives the exit code.
int serve(const ServeOptions& options);

}  // namespace pd
