// THE declaration of every key of pd.toml: name, type, default, range, environment variable, help.
//
// The file reader, the environment, `pd-host check` and docs/configuration.md all derive from these
// tables. To add a setting: one member in settings.h, one row here. Immutable, any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "framework/config/setting_value.h"
#include "framework/config/settings.h"

namespace pd {

/// An environment variable of the reference router that overrides a key of the file.
struct EnvironmentOverride {
  std::string_view variable = {};  ///< empty = none
  std::string_view unit = {};      ///< appended to a whole number when the key is a duration
  bool fold_case = false;          ///< upper case counts as lower case
};

struct SettingRow {
  ValueSpec spec;  ///< spec.key is "section.name"
  EnvironmentOverride environment;
  void (*set)(Settings&, const SettingValue&) = nullptr;
  SettingValue (*get)(const Settings&) = nullptr;
};

/// One key of [[fleet.pod]].
struct PodRow {
  ValueSpec spec;
  bool required = false;
  void (*set)(PodSettings&, const SettingValue&) = nullptr;
  SettingValue (*get)(const PodSettings&) = nullptr;
};

/// An environment variable that sets an option of a policy. The policy's own table has the default
/// and the range; the variable must be a number above 0.
struct PolicyOptionOverride {
  std::string_view variable;
  std::string_view policy;
  std::string_view option;
};

/// In the order of the documentation; rows of one section stand together.
std::span<const SettingRow> settings_table();
std::span<const PodRow> pod_table();
std::span<const PolicyOptionOverride> policy_option_overrides();

/// The row of "section.name", or null.
const SettingRow* find_setting(std::string_view key);
/// The row of a key of [[fleet.pod]], or null.
const PodRow* find_pod_key(std::string_view key);

/// "section" of "section.name".
std::string_view section_of(std::string_view key);

/// Every default. fleet.pods and policies are empty.
Settings default_settings();

}  // namespace pd
