// The reference router's environment variables on top of a loaded file, by the reference's rules:
// a number must parse and be above 0, else it is ignored with a notice. Pure, any thread.
#pragma once

#include "framework/config/config_loader.h"

namespace pd {

/// Applies every variable of settings_table.h that `environment` has, records it in
/// loaded.sources and adds one notice for each.
void apply_environment(const EnvironmentVariables& environment, LoadedSettings& loaded);

}  // namespace pd
