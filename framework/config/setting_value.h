// The kinds of values that settings have: how each is read from a file or from plain text and
// checked against its range (value_text.h prints them). Pure functions, any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "framework/config/config_document.h"
#include "framework/config/config_error.h"
#include "framework/config/settings.h"

namespace pd {

enum class ValueKind : std::uint8_t {
  kInteger,
  kFloat,
  kDuration,
  kSize,
  kSeed,
  kChoice,
  kPolicyName,
  kListen,
  kPath,
  kPathList,
  kAllowList,
  kPodName,
  kPodUrl,
  kMetricsUrl,
  kText,
  kLabels,
};

/// Index into ValueSpec::choices, and at the same time the value of the enum in settings.h.
struct ChoiceIndex {
  std::size_t index = 0;
  friend bool operator==(const ChoiceIndex&, const ChoiceIndex&) = default;
};

/// monostate = an optional setting that is absent.
using SettingValue = std::variant<std::monostate, std::int64_t, double, std::chrono::milliseconds,
                                  std::uint64_t, ChoiceIndex, std::string, std::vector<std::string>,
                                  std::vector<PluginAllow>, std::map<std::string, std::string>>;

/// The declaration of one key. Bounds are inclusive and written as the file would write them.
struct ValueSpec {
  std::string_view key = {};
  ValueKind kind = ValueKind::kText;
  std::string_view default_text = {};  ///< empty = absent, or an empty list
  std::string_view min = {};           ///< of integers, floats, durations and sizes
  std::string_view max = {};
  std::span<const std::string_view> choices = {};
  std::string_view absent = {};  ///< what an absent value means, for tables ("random")
  std::string_view help = {};
};

/// Where a value stands; relative paths are resolved against `base_folder` ("" = left as they are).
struct ValueContext {
  std::string file;
  std::string base_folder;
  std::string key;  ///< dotted, for error texts
};

/// Reads and checks one value of a file. Nothing after adding at least one error to `errors`.
std::optional<SettingValue> read_value(const ValueSpec& spec, const ConfigNode& node,
                                       const ValueContext& context,
                                       std::vector<ConfigError>& errors);

/// Reads a value without quotes, as the table of defaults and the environment write it. Nothing
/// when malformed or out of range.
std::optional<SettingValue> value_from_text(const ValueSpec& spec, std::string_view text);

}  // namespace pd
