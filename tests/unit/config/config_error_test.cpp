#include "framework/config/config_error.h"

#include <gtest/gtest.h>

#include <set>

namespace pd {
namespace {

TEST(ConfigError, OneLineNamesEverything) {
  const ConfigError error =
      config_errors::found(ConfigErrorCode::kWrongType, {"pd.toml", {12, 5}, "prefill.min_spread"},
                           "\"abc\" (string)", "integer 1..1000000");
  EXPECT_EQ(
      to_string(error),
      "pd.toml:12:5: prefill.min_spread: found \"abc\" (string), allowed: integer 1..1000000");
  EXPECT_EQ(code_name(error.code), "wrong-type");
}

TEST(ConfigError, WithoutAPlaceTheFileStandsAlone) {
  EXPECT_EQ(to_string(config_errors::file_missing("/etc/pd.toml")),
            "/etc/pd.toml: there is no such file; name the right one with --config");
}

TEST(ConfigError, EveryCodeHasItsOwnName) {
  std::set<std::string_view> names;
  constexpr int kLast = static_cast<int>(ConfigErrorCode::kConflict);
  for (int code = 0; code <= kLast; ++code) {
    const std::string_view name = code_name(static_cast<ConfigErrorCode>(code));
    EXPECT_NE(name, "unknown") << code;
    names.insert(name);
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(kLast) + 1);
}

}  // namespace
}  // namespace pd
