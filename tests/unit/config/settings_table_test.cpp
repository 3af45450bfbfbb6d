// Every key of the tables, from the outside: through a document.
#include "framework/config/settings_table.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>

#include "framework/config/quantity.h"
#include "framework/config/value_text.h"
#include "tests/unit/config/loaded_text.h"

namespace pd {
namespace {

using config_test::errors_of;
using config_test::load_good;
using config_test::texts_of;

std::string name_in_section(const SettingRow& row) {
  return std::string(row.spec.key.substr(section_of(row.spec.key).size() + 1));
}

// "[section]\nname = value\n": the value starts in line 2.
std::string document(const SettingRow& row, std::string_view value) {
  return fmt::format("[{}]\n{} = {}\n", section_of(row.spec.key), name_in_section(row), value);
}

bool has_range(const SettingRow& row) {
  return !row.spec.min.empty();
}

// A bound of the table in the notation of the file.
std::string literal(const SettingRow& row, std::string_view bound) {
  const bool is_text = row.spec.kind == ValueKind::kDuration || row.spec.kind == ValueKind::kSize;
  return is_text ? fmt::format("\"{}\"", bound) : std::string(bound);
}

// One step outside a bound.
std::string beyond(const SettingRow& row, std::string_view bound, int step) {
  switch (row.spec.kind) {
    case ValueKind::kInteger:
      return std::to_string(std::stoll(std::string(bound)) + step);
    case ValueKind::kFloat:
      return fmt::format("{:f}", std::stod(std::string(bound)) + step * 0.01);
    case ValueKind::kDuration:
      return fmt::format("\"{}ms\"", parse_duration(bound)->count() + step);
    default:
      return std::to_string(static_cast<std::int64_t>(*parse_size(bound)) + step);
  }
}

void expect_refused(const SettingRow& row, const std::string& value, ConfigErrorCode code) {
  const auto errors = errors_of(document(row, value));
  ASSERT_EQ(errors.size(), 1U) << row.spec.key << " = " << value;
  EXPECT_EQ(errors[0].code, code) << to_string(errors[0]);
  EXPECT_EQ(errors[0].key, row.spec.key);
  EXPECT_EQ(errors[0].position.line, 2U);
  EXPECT_EQ(errors[0].position.column, name_in_section(row).size() + 4);
  EXPECT_NE(errors[0].message.find(allowed_text(row.spec)), std::string::npos) << errors[0].message;
}

TEST(SettingsTable, KeysAndVariablesAreUnique) {
  std::set<std::string_view> keys;
  std::set<std::string_view> variables;
  for (const SettingRow& row : settings_table()) {
    EXPECT_TRUE(keys.insert(row.spec.key).second) << row.spec.key;
    EXPECT_FALSE(row.spec.help.empty()) << row.spec.key;
    if (row.environment.variable.empty()) continue;
    EXPECT_TRUE(variables.insert(row.environment.variable).second) << row.environment.variable;
  }
  for (const PolicyOptionOverride& row : policy_option_overrides()) {
    EXPECT_TRUE(variables.insert(row.variable).second) << row.variable;
  }
}

TEST(SettingsTable, DefaultsObeyTheirRowsAndAreCanonical) {
  for (const SettingRow& row : settings_table()) {
    if (row.spec.default_text.empty()) continue;
    const auto value = value_from_text(row.spec, row.spec.default_text);
    ASSERT_TRUE(value) << row.spec.key;
    if (row.spec.kind == ValueKind::kPathList) continue;
    std::string shown = format_value(row.spec, *value);
    if (shown.front() == '"') shown = shown.substr(1, shown.size() - 2);
    EXPECT_EQ(shown, row.spec.default_text) << row.spec.key;
  }
}

TEST(SettingsTable, EveryDefaultStandsInAnEmptyConfiguration) {
  const LoadedSettings loaded = load_good("");
  for (const SettingRow& row : settings_table()) {
    const auto wanted = value_from_text(row.spec, row.spec.default_text);
    if (row.spec.default_text.empty() && !row.spec.absent.empty()) {
      EXPECT_TRUE(std::holds_alternative<std::monostate>(row.get(loaded.settings)));
    } else {
      EXPECT_EQ(format_value(row.spec, row.get(loaded.settings)), format_value(row.spec, *wanted))
          << row.spec.key;
    }
  }
}

TEST(SettingsTable, EveryKeyRefusesWrongTypes) {
  for (const SettingRow& row : settings_table()) {
    for (const char* value : {"true", "1979-05-27", "07:32:00", "1979-05-27T07:32:00Z", "{}"}) {
      expect_refused(row, value, ConfigErrorCode::kWrongType);
    }
    if (row.spec.kind != ValueKind::kPathList && row.spec.kind != ValueKind::kAllowList) {
      expect_refused(row, "[]", ConfigErrorCode::kWrongType);
      expect_refused(row, "[1]", ConfigErrorCode::kWrongType);
    }
  }
}

TEST(SettingsTable, NumbersAndTextsAreNotMixedUp) {
  for (const SettingRow& row : settings_table()) {
    switch (row.spec.kind) {
      case ValueKind::kInteger:
      case ValueKind::kFloat:
        expect_refused(row, "\"4\"", ConfigErrorCode::kWrongType);
        expect_refused(row, "\"\"", ConfigErrorCode::kWrongType);
        break;
      case ValueKind::kDuration:
        expect_refused(row, "5", ConfigErrorCode::kWrongType);
        expect_refused(row, "0.5", ConfigErrorCode::kWrongType);
        expect_refused(row, "\"5\"", ConfigErrorCode::kWrongType);
        break;
      case ValueKind::kSize:
        expect_refused(row, "4096.0", ConfigErrorCode::kWrongType);
        expect_refused(row, "\"64MB\"", ConfigErrorCode::kWrongType);
        break;
      default:
        expect_refused(row, "1.5", ConfigErrorCode::kWrongType);
    }
  }
}

TEST(SettingsTable, BothEndsOfEveryRangeAreAccepted) {
  for (const SettingRow& row : settings_table()) {
    if (!has_range(row)) continue;
    for (const std::string_view bound : {row.spec.min, row.spec.max}) {
      std::string text = document(row, literal(row, bound));
      // The one rule over two keys must hold beside the bound.
      if (row.spec.key == "fleet.scrape") text += "stale = \"24h\"\n";
      if (row.spec.key == "fleet.stale") text += "scrape = \"10ms\"\n";
      const LoadedSettings loaded = load_good(text);
      const auto wanted = value_from_text(row.spec, bound);
      ASSERT_TRUE(wanted) << row.spec.key;
      EXPECT_EQ(format_value(row.spec, row.get(loaded.settings)), format_value(row.spec, *wanted))
          << row.spec.key;
    }
  }
}

TEST(SettingsTable, OneStepBeyondEveryRangeIsRefused) {
  for (const SettingRow& row : settings_table()) {
    if (!has_range(row)) continue;
    expect_refused(row, beyond(row, row.spec.max, 1), ConfigErrorCode::kOutOfRange);
    const bool has_negative_form = row.spec.kind != ValueKind::kDuration;
    if (row.spec.min != "0" || has_negative_form) {
      expect_refused(row, beyond(row, row.spec.min, -1), ConfigErrorCode::kOutOfRange);
    }
  }
}

TEST(SettingsTable, EveryChoiceIsAcceptedAndKept) {
  for (const SettingRow& row : settings_table()) {
    if (row.spec.kind != ValueKind::kChoice) continue;
    for (const std::string_view choice : row.spec.choices) {
      const std::string value = fmt::format("\"{}\"", choice);
      EXPECT_EQ(format_value(row.spec, row.get(load_good(document(row, value)).settings)), value);
    }
    expect_refused(row, "\"other\"", ConfigErrorCode::kOutOfRange);
    expect_refused(row, "\"\"", ConfigErrorCode::kOutOfRange);
  }
}

TEST(SettingsTable, EnumsAreInTheOrderOfTheirChoices) {
  EXPECT_EQ(load_good("[log]\nlevel = \"error\"\n").settings.log.level, LogLevel::kError);
  EXPECT_EQ(load_good("[log]\nlevel = \"trace\"\n").settings.log.level, LogLevel::kTrace);
  EXPECT_EQ(load_good("[log]\nlevel = \"debug\"\n").settings.log.level, LogLevel::kDebug);
  EXPECT_EQ(load_good("[log]\nlevel = \"info\"\n").settings.log.level, LogLevel::kInfo);
  EXPECT_EQ(load_good("[log]\nlevel = \"warn\"\n").settings.log.level, LogLevel::kWarn);
  EXPECT_EQ(load_good("[log]\nformat = \"json\"\n").settings.log.format, LogFormat::kJson);
  EXPECT_EQ(load_good("[log]\nformat = \"text\"\n").settings.log.format, LogFormat::kText);
  EXPECT_EQ(load_good("[routing]\nhandoff_missing = \"fail\"\n").settings.routing.handoff_missing,
            HandoffMissing::kFail);
  EXPECT_EQ(load_good("[fleet]\nconnector = \"shfs\"\n").settings.fleet.connector,
            ConnectorKind::kShfs);
}

TEST(SettingsTable, EveryKeySpelledNearlyNamesTheRightOne) {
  for (const SettingRow& row : settings_table()) {
    std::string name = name_in_section(row);
    const std::string wanted = fmt::format("did you mean \"{}\"?", name);
    name.insert(name.size() / 2, "x");
    const auto errors = errors_of(fmt::format("[{}]\n{} = 1\n", section_of(row.spec.key), name));
    ASSERT_EQ(errors.size(), 1U) << name;
    EXPECT_EQ(errors[0].code, ConfigErrorCode::kUnknownKey);
    EXPECT_EQ(errors[0].position, (ConfigPosition{2, 1}));
    EXPECT_EQ(errors[0].key, fmt::format("{}.{}", section_of(row.spec.key), name));
    EXPECT_NE(errors[0].message.find(wanted), std::string::npos) << errors[0].message;
  }
}

TEST(SettingsTable, EveryPodKeyRefusesWrongTypes) {
  for (const PodRow& row : pod_table()) {
    for (const char* value : {"true", "1", "1.5", "[]", "1979-05-27"}) {
      const std::string text = fmt::format("[[fleet.pod]]\n{} = {}\n", row.spec.key, value);
      const auto errors = errors_of(text, "");
      const auto found = std::find_if(errors.begin(), errors.end(), [](const ConfigError& error) {
        return error.code == ConfigErrorCode::kWrongType;
      });
      ASSERT_NE(found, errors.end()) << text;
      EXPECT_EQ(found->key, fmt::format("fleet.pod[0].{}", row.spec.key));
      EXPECT_EQ(found->position.line, 2U);
      EXPECT_NE(found->message.find(allowed_text(row.spec)), std::string::npos);
    }
  }
}

TEST(SettingsTable, EveryRequiredPodKeyIsMissed) {
  const auto errors = errors_of("", "[[fleet.pod]]\n");
  std::vector<std::string> keys;
  for (const ConfigError& error : errors) {
    EXPECT_EQ(error.code, ConfigErrorCode::kMissingKey) << to_string(error);
    EXPECT_EQ(error.position.line, 1U);
    keys.push_back(error.key);
  }
  EXPECT_EQ(keys, (std::vector<std::string>{"fleet.pod[0].name", "fleet.pod[0].url",
                                            "fleet.pod[0].model", "fleet.pod[0].role"}));
}

TEST(SettingsTable, DefaultsThatTheDesignFixes) {
  const Settings settings = load_good("").settings;
  EXPECT_EQ(settings.server.listen, "0.0.0.0:8080");
  EXPECT_EQ(settings.server.admin, "127.0.0.1:9090");
  EXPECT_EQ(settings.server.threads, 0U);
  EXPECT_EQ(settings.plugins.directories, std::vector<std::string>{"/usr/lib/pd/plugins"});
  EXPECT_TRUE(settings.plugins.allow.empty());
  EXPECT_EQ(settings.prefill.policy, "prefix_cache");
  EXPECT_EQ(settings.prefill.fallback, "least_request");
  EXPECT_EQ(settings.prefill.min_spread, 16U);
  EXPECT_EQ(settings.prefill.stddev_factor, 1.0);
  EXPECT_EQ(settings.decode.policy, "load_balancing");
  EXPECT_EQ(settings.decode.min_spread, 16.0);
  EXPECT_EQ(settings.decode.throughput_min_spread, 2048.0);
  EXPECT_EQ(settings.decode.score_ratio, 1.5);
  EXPECT_EQ(settings.prefix_index.block_size, 128U);
  EXPECT_EQ(settings.prefix_index.capacity, 2'000'000U);
  EXPECT_EQ(settings.prefix_index.ttl, std::chrono::minutes{20});
  EXPECT_FALSE(settings.prefix_index.hash_seed);
  EXPECT_EQ(settings.routing.handoff_missing, HandoffMissing::kRecompute);
  EXPECT_EQ(settings.routing.attempts, 3U);
  EXPECT_EQ(settings.limits.concurrent_requests, 4096U);
  EXPECT_EQ(settings.limits.body, 64U << 20);
  EXPECT_EQ(settings.limits.header, 16U << 10);
  EXPECT_EQ(settings.timeouts.connect, std::chrono::seconds{2});
  EXPECT_EQ(settings.timeouts.prefill, std::chrono::seconds{120});
  EXPECT_EQ(settings.timeouts.first_byte, std::chrono::seconds{120});
  EXPECT_EQ(settings.timeouts.between_bytes, std::chrono::seconds{300});
  EXPECT_EQ(settings.timeouts.upstream_idle, std::chrono::seconds{4});
  EXPECT_EQ(settings.timeouts.total, std::chrono::seconds{0});
  EXPECT_EQ(settings.timeouts.drain, std::chrono::seconds{30});
  EXPECT_EQ(settings.log.level, LogLevel::kInfo);
  EXPECT_EQ(settings.log.format, LogFormat::kText);
  EXPECT_EQ(settings.fleet.scrape, std::chrono::milliseconds{250});
}

}  // namespace
}  // namespace pd
