// TOML text -> ConfigNode. Pure, any thread. The only part that knows toml++.
#pragma once

#include <boost/system/result.hpp>
#include <string>
#include <string_view>

#include "framework/config/config_document.h"
#include "framework/config/config_error.h"

namespace pd {

/// Parses one document. A UTF-8 byte-order mark, CRLF and a missing last newline are fine; anything
/// but UTF-8 is refused, and so are tables nested deeper than any setting needs. One error only:
/// the parser stops at the first. `file` is the name in it.
boost::system::result<ConfigNode, ConfigError> parse_toml(std::string_view text,
                                                          const std::string& file);

}  // namespace pd
