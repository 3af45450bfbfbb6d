// Values of settings as text: for error messages, `pd-host check` and the documentation.
// Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>

#include "framework/config/config_document.h"
#include "framework/config/setting_value.h"

namespace pd {

/// What stands there, for an error text: `"abc" (string)`, `4.5 (float)`, `a table`.
/// Long strings are cut, control characters are escaped.
std::string describe(const ConfigNode& node);

/// What may stand there, in short: `integer 1..1000000`, `"text" or "json"`.
std::string allowed_text(const ValueSpec& spec);

/// allowed_text() with an example of the notation where people get that wrong.
std::string allowed_with_notation(const ValueSpec& spec);

/// The value as TOML would write it, in canonical form; ValueSpec::absent when there is none.
std::string format_value(const ValueSpec& spec, const SettingValue& value);

/// The same for an option of a policy.
std::string format_option(const PolicyOptionValue& value);

/// The shortest text that reads back as the same float, and shows that it is one: "1.0", "0.25".
std::string format_float(double number);

/// A TOML basic string, quotes and escapes included. It is a JSON string, too.
std::string in_quotes(std::string_view text);

}  // namespace pd
