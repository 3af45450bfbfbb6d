// The symbols that a shared object exports, read without mapping it.
#pragma once

#include <optional>
#include <string>

#include "framework/plugin/plugin.h"
#include "framework/plugin/plugin_error.h"

namespace pd {

/// Requires pd_plugin_entry among the exports of the copy at `staged_path`, and notes all others in
/// facts.exports and a warning. kNoEntrySymbol, kMalformedElf. REQUIRES: read_elf() accepted the
/// copy. [control thread]
std::optional<PluginError> read_exports(const std::string& staged_path, PluginFacts& facts);

}  // namespace pd
