// Reads pd.toml: file -> TOML -> checked Settings, with the reference's environment variables on
// top. A load has no effect but its result, so a failed one leaves everything as it was.
// Control thread only by habit; nothing here is shared, so any thread may call.
#pragma once

#include <boost/system/result.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "framework/config/config_error.h"
#include "framework/config/settings.h"

namespace pd {

/// Variable -> value. An empty value counts as unset.
using EnvironmentVariables = std::map<std::string, std::string, std::less<>>;

/// The variables of this process that the tables of settings_table.h name. Reads the environment:
/// not while another thread changes it.
EnvironmentVariables process_environment();

struct ValueSource {
  enum class Kind : std::uint8_t { kDefault, kFile, kEnvironment };
  Kind kind = Kind::kDefault;
  ConfigPosition position;  ///< of kFile
  std::string variable;     ///< of kEnvironment
};

struct LoadedSettings {
  Settings settings;
  std::string file;                           ///< as the caller named it
  std::vector<ValueSource> sources;           ///< parallel to settings_table()
  std::vector<ConfigPosition> pod_positions;  ///< parallel to settings.fleet.pods
  /// One line for each environment variable that took effect or was ignored, for the log.
  std::vector<std::string> notices;
};

using LoadResult = boost::system::result<LoadedSettings, std::vector<ConfigError>>;

/// Loads the file at `path`. On failure: every error of the file, ordered by line; never empty.
/// A missing or empty file, a folder or a device is an error too: there is no start with defaults.
LoadResult load_settings(const std::string& path, const EnvironmentVariables& environment);

/// The same for a text; `name` stands for the file in messages, and its folder is where relative
/// paths start.
LoadResult load_settings_text(std::string_view text, const std::string& name,
                              const EnvironmentVariables& environment);

/// `default`, `pd.toml:12` or `environment AIBRIX_...`.
std::string describe(const ValueSource& source, const std::string& file);

}  // namespace pd
