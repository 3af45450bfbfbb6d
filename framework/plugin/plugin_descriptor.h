// The descriptor that pd_plugin_entry returns: checked and copied before anything of it is used.
#pragma once

#include <optional>
#include <string>

#include "framework/plugin/plugin.h"
#include "framework/plugin/plugin_error.h"
#include "pd/abi.h"

namespace pd {

/// Copies *from into `to` (full size, zeros beyond what the plugin knew) and its texts into
/// `facts`. Nothing is read before magic, size and version allow it. kNoDescriptor, kWrongMagic,
/// kWrongSize, kWrongMajor, kNewerMinor, kUnknownFlags, kMissingCallback, kInvalidText.
/// `facts` keeps what was read before a refusal. [control thread]
std::optional<PluginError> read_descriptor(const pd_plugin* from, pd_plugin& to,
                                           PluginFacts& facts);

}  // namespace pd
