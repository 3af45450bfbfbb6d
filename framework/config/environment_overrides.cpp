#include "framework/config/environment_overrides.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "framework/config/address_text.h"
#include "framework/config/settings_table.h"
#include "framework/config/value_text.h"
#include "framework/policy/policy_entry.h"

namespace pd {
namespace {

template <class Number>
std::optional<Number> positive_number(std::string_view text) {
  // The reference's parsers take a plus sign, std::from_chars does not.
  if (text.size() > 1 && text.front() == '+' && text[1] != '-') text.remove_prefix(1);
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || rest != end || !(number > 0)) return std::nullopt;
  return number;
}

// The value of a variable by the rules of the reference. Nothing when it is to be ignored.
std::optional<SettingValue> value_of(const SettingRow& row, std::string_view text) {
  const EnvironmentOverride& override_of = row.environment;
  switch (row.spec.kind) {
    case ValueKind::kInteger:
    case ValueKind::kDuration: {
      const auto number = positive_number<std::int64_t>(text);
      if (!number) return std::nullopt;
      return value_from_text(row.spec, fmt::format("{}{}", *number, override_of.unit));
    }
    case ValueKind::kFloat: {
      const auto number = positive_number<double>(text);
      if (!number || !std::isfinite(*number)) return std::nullopt;
      return value_from_text(row.spec, format_float(*number));
    }
    case ValueKind::kPolicyName:
    case ValueKind::kChoice: {
      const std::string name =
          override_of.fold_case ? canonical_policy_name(text) : std::string(trimmed(text));
      if (row.spec.kind == ValueKind::kPolicyName && !is_policy_name(name)) return std::nullopt;
      return value_from_text(row.spec, name);
    }
    default:
      return value_from_text(row.spec, text);
  }
}

// What the variable may hold, which is stricter than the file: no 0.
std::string allowed_in_environment(const SettingRow& row) {
  switch (row.spec.kind) {
    case ValueKind::kInteger:
    case ValueKind::kFloat:
      return "above 0, " + allowed_text(row.spec);
    case ValueKind::kDuration:
      return fmt::format("whole number of {} above 0, {}", row.environment.unit,
                         allowed_text(row.spec));
    default:
      return allowed_text(row.spec);
  }
}

std::string_view variable_value(const EnvironmentVariables& environment,
                                std::string_view variable) {
  const auto found = environment.find(variable);
  return found == environment.end() ? std::string_view{} : std::string_view(found->second);
}

void apply_setting(const SettingRow& row, std::string_view text, LoadedSettings& loaded,
                   ValueSource& source) {
  const std::string before = format_value(row.spec, row.get(loaded.settings));
  const std::string origin = describe(source, loaded.file);
  const std::string_view variable = row.environment.variable;
  const auto value = value_of(row, text);
  if (!value) {
    loaded.notices.push_back(fmt::format("{}={} is ignored, allowed: {}; {} stays {} ({})",
                                         variable, in_quotes(text), allowed_in_environment(row),
                                         row.spec.key, before, origin));
    return;
  }
  row.set(loaded.settings, *value);
  source = {ValueSource::Kind::kEnvironment, {}, std::string(variable)};
  loaded.notices.push_back(fmt::format("{}={} overrides {} = {} ({})", variable, in_quotes(text),
                                       row.spec.key, before, origin));
}

void apply_option(const PolicyOptionOverride& row, std::string_view text, LoadedSettings& loaded) {
  const std::string key = fmt::format("policy.{}.{}", row.policy, row.option);
  const auto number = positive_number<double>(text);
  if (!number || !std::isfinite(*number)) {
    loaded.notices.push_back(fmt::format("{}={} is ignored, allowed: a number above 0; {} stays",
                                         row.variable, in_quotes(text), key));
    return;
  }
  std::vector<PolicyOption>& options = loaded.settings.policies[std::string(row.policy)];
  auto option = std::find_if(options.begin(), options.end(),
                             [&](const PolicyOption& each) { return each.key == row.option; });
  if (option == options.end()) {
    loaded.notices.push_back(fmt::format("{}={} sets {}", row.variable, in_quotes(text), key));
    option = options.insert(option, {std::string(row.option), {}, {}, {}});
  } else {
    loaded.notices.push_back(fmt::format("{}={} overrides {} = {} ({}:{})", row.variable,
                                         in_quotes(text), key, format_option(option->value),
                                         loaded.file, option->position.line));
  }
  option->value = *number;
  option->position = {};
  option->variable = row.variable;
}

}  // namespace

void apply_environment(const EnvironmentVariables& environment, LoadedSettings& loaded) {
  const auto rows = settings_table();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string_view text = variable_value(environment, rows[i].environment.variable);
    if (!text.empty()) apply_setting(rows[i], text, loaded, loaded.sources[i]);
  }
  for (const PolicyOptionOverride& row : policy_option_overrides()) {
    const std::string_view text = variable_value(environment, row.variable);
    if (!text.empty()) apply_option(row, text, loaded);
  }
}

EnvironmentVariables process_environment() {
  EnvironmentVariables environment;
  const auto take = [&](std::string_view variable) {
    if (variable.empty()) return;
    const std::string name(variable);
    if (const char* value = std::getenv(name.c_str())) environment.emplace(name, value);
  };
  for (const SettingRow& row : settings_table()) take(row.environment.variable);
  for (const PolicyOptionOverride& row : policy_option_overrides()) take(row.variable);
  return environment;
}

}  // namespace pd
