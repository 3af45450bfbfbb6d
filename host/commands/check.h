// pd-host check: would `serve` start with this configuration, and what would count?
#pragma once

#include <string>

namespace pd {

// Prints the effective configuration with the source of each value, loads the plugins and builds
// the policies, and says what is wrong. Listens on nothing. Gives the exit code.
int check(const std::string& config, bool json);

}  // namespace pd
