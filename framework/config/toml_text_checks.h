// What is checked in a TOML text before the parser sees it: its encoding, and three things that
// toml++ 3.3 does not survive. Pure functions, any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "framework/config/config_error.h"

namespace pd {

/// Refuses everything but UTF-8; tells UTF-16 apart, because editors save it by accident.
std::optional<ConfigError> check_encoding(std::string_view text, const std::string& file);

/// Refuses characters beyond ASCII outside strings and comments (no TOML has them there, and toml++
/// runs into undefined behaviour), the same behind a backslash, and keys of so many parts that
/// freeing the nested tables would overflow the stack. REQUIRES: check_encoding() found nothing.
std::optional<ConfigError> check_characters(std::string_view text, const std::string& file);

}  // namespace pd
