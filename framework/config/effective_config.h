// What counts in the end: the values of `pd-host check` with their sources, and the reference part
// of docs/configuration.md. Both derive from settings_table.h. Pure functions, any thread.
#pragma once

#include <string>

#include "framework/config/config_loader.h"

namespace pd {

/// One line for each key: key, value as TOML would write it, source. Then the options of policies
/// and the pods. For people.
std::string format_effective(const LoadedSettings& loaded);

/// The same as one JSON object: {"file", "settings": {key: {"value", "source", ...}}, "policies",
/// "pods", "notices"}. "source" is "default", "file" (with "line") or "environment" (with
/// "variable"); values keep their types, durations and sizes are strings, and so is hash_seed (it
/// does not fit a JSON reader's number).
std::string format_effective_json(const LoadedSettings& loaded);

/// The Markdown tables of all keys.
std::string format_reference_markdown();

}  // namespace pd
