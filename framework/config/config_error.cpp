#include "framework/config/config_error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace pd {
namespace {

ConfigError make(ConfigErrorCode code, ConfigPlace place, std::string message) {
  return {code, std::move(place.file), place.position, std::move(place.key), std::move(message)};
}

ConfigError of_file(ConfigErrorCode code, std::string file, std::string message) {
  return make(code, {std::move(file), {}, {}}, std::move(message));
}

}  // namespace

std::string_view code_name(ConfigErrorCode code) {
  switch (code) {
    case ConfigErrorCode::kFileMissing:
      return "file-missing";
    case ConfigErrorCode::kFileUnreadable:
      return "file-unreadable";
    case ConfigErrorCode::kNotAFile:
      return "not-a-file";
    case ConfigErrorCode::kFileTooLarge:
      return "file-too-large";
    case ConfigErrorCode::kFileEmpty:
      return "file-empty";
    case ConfigErrorCode::kNotUtf8:
      return "not-utf8";
    case ConfigErrorCode::kSyntax:
      return "syntax";
    case ConfigErrorCode::kTooDeep:
      return "too-deep";
    case ConfigErrorCode::kUnknownKey:
      return "unknown-key";
    case ConfigErrorCode::kWrongType:
      return "wrong-type";
    case ConfigErrorCode::kOutOfRange:
      return "out-of-range";
    case ConfigErrorCode::kMissingKey:
      return "missing-key";
    case ConfigErrorCode::kDuplicate:
      return "duplicate";
    case ConfigErrorCode::kConflict:
      return "conflict";
  }
  return "unknown";
}

std::string to_string(const ConfigError& error) {
  std::string text = error.file;
  if (error.position.line != 0) {
    text += fmt::format(":{}:{}", error.position.line, error.position.column);
  }
  if (!error.key.empty()) text += ": " + error.key;
  return text + ": " + error.message;
}

namespace config_errors {

ConfigError file_missing(std::string file) {
  return of_file(ConfigErrorCode::kFileMissing, std::move(file),
                 "there is no such file; name the right one with --config");
}

ConfigError file_unreadable(std::string file, std::string_view reason) {
  return of_file(ConfigErrorCode::kFileUnreadable, std::move(file),
                 fmt::format("the file cannot be read: {}", reason));
}

ConfigError not_a_file(std::string file, std::string_view what) {
  return of_file(ConfigErrorCode::kNotAFile, std::move(file),
                 fmt::format("found {}, allowed: a regular file in TOML", what));
}

ConfigError file_too_large(std::string file, std::uint64_t allowed_bytes) {
  return of_file(ConfigErrorCode::kFileTooLarge, std::move(file),
                 fmt::format("the file is too large, allowed: {} bytes", allowed_bytes));
}

ConfigError file_empty(std::string file) {
  return of_file(ConfigErrorCode::kFileEmpty, std::move(file),
                 "the file has no settings; the smallest one has a [[fleet.pod]]");
}

ConfigError not_utf8(ConfigPlace place) {
  return make(ConfigErrorCode::kNotUtf8, std::move(place),
              "not UTF-8; save the file in the UTF-8 encoding");
}

ConfigError not_utf8_but_utf16(ConfigPlace place) {
  return make(ConfigErrorCode::kNotUtf8, std::move(place),
              "not UTF-8 but probably UTF-16; save the file in the UTF-8 encoding");
}

ConfigError syntax(ConfigPlace place, std::string_view parser_text) {
  return make(ConfigErrorCode::kSyntax, std::move(place),
              fmt::format("not valid TOML: {}", parser_text));
}

ConfigError syntax_in_value(ConfigPlace place, std::string_view parser_text,
                            std::string_view allowed) {
  return make(ConfigErrorCode::kSyntax, std::move(place),
              fmt::format("not valid TOML: {}; allowed: {}", parser_text, allowed));
}

ConfigError stray_character(ConfigPlace place, std::string_view character) {
  return make(ConfigErrorCode::kSyntax, std::move(place),
              fmt::format("found the character \"{}\" outside a string, allowed: ASCII; put texts "
                          "in straight quotes",
                          character));
}

ConfigError too_deep(ConfigPlace place) {
  return make(ConfigErrorCode::kTooDeep, std::move(place),
              "this line nests tables deeper than any setting does");
}

ConfigError unknown_key(ConfigPlace place, const std::vector<std::string>& allowed_here) {
  return make(ConfigErrorCode::kUnknownKey, std::move(place),
              fmt::format("unknown key; allowed here: {}", fmt::join(allowed_here, ", ")));
}

ConfigError unknown_key_near(ConfigPlace place, std::string_view suggestion) {
  return make(ConfigErrorCode::kUnknownKey, std::move(place),
              fmt::format("unknown key; did you mean \"{}\"?", suggestion));
}

ConfigError found(ConfigErrorCode code, ConfigPlace place, std::string_view what,
                  std::string_view allowed) {
  return make(code, std::move(place), fmt::format("found {}, allowed: {}", what, allowed));
}

ConfigError missing_pod_key(ConfigPlace place, std::string_view allowed) {
  return make(ConfigErrorCode::kMissingKey, std::move(place),
              fmt::format("missing; every [[fleet.pod]] needs it, allowed: {}", allowed));
}

ConfigError missing_allow_id(ConfigPlace place) {
  return make(ConfigErrorCode::kMissingKey, std::move(place),
              "missing; every entry of plugins.allow names the id of one plugin");
}

ConfigError no_pods(ConfigPlace place) {
  return make(ConfigErrorCode::kMissingKey, std::move(place),
              "missing; a fleet needs at least one [[fleet.pod]]");
}

ConfigError duplicate_pod(ConfigPlace place, std::string_view name, std::uint32_t first_line) {
  return make(ConfigErrorCode::kDuplicate, std::move(place),
              fmt::format("found \"{}\" a second time (first in line {}), allowed: a name that no "
                          "other pod has",
                          name, first_line));
}

ConfigError duplicate_plugin(ConfigPlace place, std::string_view id, std::uint32_t first_line) {
  return make(ConfigErrorCode::kDuplicate, std::move(place),
              fmt::format("found \"{}\" a second time (first in line {}), allowed: one entry for "
                          "each plugin",
                          id, first_line));
}

ConfigError duplicate_policy_table(ConfigPlace place, std::uint32_t first_line) {
  return make(ConfigErrorCode::kDuplicate, std::move(place),
              fmt::format("the options of this policy stand in line {} already; names of policies "
                          "do not tell upper from lower case",
                          first_line));
}

ConfigError policy_table_in_table(ConfigPlace place) {
  return make(ConfigErrorCode::kWrongType, std::move(place),
              "found a table, allowed: an integer, a float, a boolean or a string; a policy whose "
              "name has a dot is written in quotes, as in [policy.\"my.policy\"]");
}

ConfigError stale_before_scrape(ConfigPlace place, std::string_view stale,
                                std::string_view scrape) {
  return make(ConfigErrorCode::kConflict, std::move(place),
              fmt::format("found {}, allowed: more than fleet.scrape, which is {}; else "
                          "every sample would count as missing",
                          stale, scrape));
}

ConfigError same_listen_and_admin(ConfigPlace place, std::string_view address) {
  return make(
      ConfigErrorCode::kConflict, std::move(place),
      fmt::format("found \"{}\", allowed: another address than that of server.listen", address));
}

}  // namespace config_errors

}  // namespace pd
