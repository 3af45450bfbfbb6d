// From a parsed document to Settings: looks every key up in the tables, checks every value, and
// collects all errors instead of stopping at the first. Pure, any thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "framework/config/config_document.h"
#include "framework/config/config_error.h"
#include "framework/config/settings.h"

namespace pd {

/// What a document said. `settings` starts from the defaults; it is only usable when no error was
/// added.
struct DocumentReading {
  Settings settings;
  std::map<std::string, ConfigPosition> positions;  ///< dotted key -> its value in the file
  std::vector<ConfigPosition> pod_positions;        ///< parallel to settings.fleet.pods
};

/// `file` is the name for error texts; relative paths in the document start at `base_folder`.
DocumentReading read_document(const ConfigNode& root, const std::string& file,
                              const std::string& base_folder, std::vector<ConfigError>& errors);

}  // namespace pd
