// Loading texts in tests of framework/config.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "framework/config/config_loader.h"

namespace pd::config_test {

/// The smallest fleet; a text that ends with it is complete.
inline constexpr std::string_view kPod =
    "[[fleet.pod]]\nname = \"p0\"\nurl = \"http://10.0.0.1:8000\"\nmodel = \"m\"\nrole = "
    "\"prefill\"\n";

/// `text` as pd.toml with the smallest fleet behind it. A failure is a test failure.
inline LoadedSettings load_good(std::string_view text, const EnvironmentVariables& environment = {},
                                std::string_view pods = kPod) {
  LoadResult result =
      load_settings_text(std::string(text) + std::string(pods), "pd.toml", environment);
  if (result) return *std::move(result);
  for (const ConfigError& error : result.error()) ADD_FAILURE() << to_string(error);
  return {};
}

/// The errors of `text` with the smallest fleet behind it; a success is a test failure.
inline std::vector<ConfigError> errors_of(std::string_view text, std::string_view pods = kPod) {
  const LoadResult result =
      load_settings_text(std::string(text) + std::string(pods), "pd.toml", {});
  if (result) {
    ADD_FAILURE() << "accepted: " << text;
    return {};
  }
  EXPECT_FALSE(result.error().empty()) << text;
  return result.error();
}

inline std::vector<std::string> texts_of(const std::vector<ConfigError>& errors) {
  std::vector<std::string> texts;
  for (const ConfigError& error : errors) texts.push_back(to_string(error));
  return texts;
}

}  // namespace pd::config_test
