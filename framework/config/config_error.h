// What is wrong with a configuration, as values: where, what was found, what is allowed.
//
// Every text that a user can see is a whole literal of config_error.cpp, each with a stable code.
// Pure functions, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "framework/config/settings.h"

namespace pd {

enum class ConfigErrorCode : std::uint8_t {
  kFileMissing,
  kFileUnreadable,
  kNotAFile,
  kFileTooLarge,
  kFileEmpty,
  kNotUtf8,
  kSyntax,
  kTooDeep,
  kUnknownKey,
  kWrongType,
  kOutOfRange,
  kMissingKey,
  kDuplicate,
  kConflict,
};

/// The stable name of a code: "unknown-key", "wrong-type".
std::string_view code_name(ConfigErrorCode code);

struct ConfigError {
  ConfigErrorCode code{};
  std::string file;
  ConfigPosition position;  ///< line 0 = the file as a whole, or no line of it
  std::string key;          ///< dotted, "fleet.pod[2].url"; may be empty
  std::string message;
};

/// One line: `pd.toml:12:5: prefill.min_spread: found "abc" (string), allowed: integer 1..1000000`.
std::string to_string(const ConfigError& error);

/// Where an error is: the first three members of ConfigError.
struct ConfigPlace {
  std::string file;
  ConfigPosition position;
  std::string key;
};

namespace config_errors {

ConfigError file_missing(std::string file);
ConfigError file_unreadable(std::string file, std::string_view reason);
ConfigError not_a_file(std::string file, std::string_view what);
ConfigError file_too_large(std::string file, std::uint64_t allowed_bytes);
ConfigError file_empty(std::string file);
ConfigError not_utf8(ConfigPlace place);
ConfigError not_utf8_but_utf16(ConfigPlace place);
ConfigError syntax(ConfigPlace place, std::string_view parser_text);
/// `allowed` as in found(): for a syntax error in the value of a key that we know.
ConfigError syntax_in_value(ConfigPlace place, std::string_view parser_text,
                            std::string_view allowed);
/// `character` is one character in UTF-8.
ConfigError stray_character(ConfigPlace place, std::string_view character);
ConfigError too_deep(ConfigPlace place);
ConfigError unknown_key(ConfigPlace place, const std::vector<std::string>& allowed_here);
ConfigError unknown_key_near(ConfigPlace place, std::string_view suggestion);
/// `code` is kWrongType or kOutOfRange.
ConfigError found(ConfigErrorCode code, ConfigPlace place, std::string_view what,
                  std::string_view allowed);
ConfigError missing_pod_key(ConfigPlace place, std::string_view allowed);
ConfigError missing_allow_id(ConfigPlace place);
ConfigError no_pods(ConfigPlace place);
ConfigError duplicate_pod(ConfigPlace place, std::string_view name, std::uint32_t first_line);
ConfigError duplicate_plugin(ConfigPlace place, std::string_view id, std::uint32_t first_line);
ConfigError duplicate_policy_table(ConfigPlace place, std::uint32_t first_line);
ConfigError policy_table_in_table(ConfigPlace place);
ConfigError stale_before_scrape(ConfigPlace place, std::string_view stale, std::string_view scrape);
ConfigError same_listen_and_admin(ConfigPlace place, std::string_view address);

}  // namespace config_errors

}  // namespace pd
