#include "framework/config/effective_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "framework/config/settings_table.h"
#include "framework/config/value_text.h"

namespace pd {
namespace {

struct EffectiveLine {
  std::string key;
  std::string value;
  std::string source;
};

std::string option_source(const PolicyOption& option, const std::string& file) {
  if (!option.variable.empty()) return "environment " + option.variable;
  return fmt::format("{}:{}", file, option.position.line);
}

std::string policy_option_key(const std::string& policy, const PolicyOption& option) {
  return fmt::format("policy.{}.{}", policy, option.key);
}

void add_pod_lines(const LoadedSettings& loaded, std::vector<EffectiveLine>& lines) {
  const std::vector<PodSettings>& pods = loaded.settings.fleet.pods;
  for (std::size_t i = 0; i < pods.size(); ++i) {
    std::string value;
    for (const PodRow& row : pod_table()) {
      const SettingValue member = row.get(pods[i]);
      if (std::holds_alternative<std::monostate>(member)) continue;
      value += fmt::format("{}{} = {}", value.empty() ? "" : ", ", row.spec.key,
                           format_value(row.spec, member));
    }
    lines.push_back({fmt::format("fleet.pod[{}]", i), "{ " + value + " }",
                     fmt::format("{}:{}", loaded.file, loaded.pod_positions[i].line)});
  }
}

std::vector<EffectiveLine> effective_lines(const LoadedSettings& loaded) {
  std::vector<EffectiveLine> lines;
  const auto rows = settings_table();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    lines.push_back({std::string(rows[i].spec.key),
                     format_value(rows[i].spec, rows[i].get(loaded.settings)),
                     describe(loaded.sources[i], loaded.file)});
  }
  for (const auto& [policy, options] : loaded.settings.policies) {
    for (const PolicyOption& option : options) {
      lines.push_back({policy_option_key(policy, option), format_option(option.value),
                       option_source(option, loaded.file)});
    }
  }
  add_pod_lines(loaded, lines);
  return lines;
}

// ---- JSON

std::string json_number(double number) {
  // JSON has no spelling for these; a policy option may hold one until its plugin is asked.
  if (!std::isfinite(number)) return in_quotes(format_float(number));
  return format_float(number);
}

template <class Range, class Format>
std::string json_list(const Range& range, Format format) {
  std::string text;
  for (const auto& item : range) {
    if (!text.empty()) text += ",";
    text += format(item);
  }
  return text;
}

std::string json_allow(const PluginAllow& entry) {
  std::string text = "{\"id\":" + in_quotes(entry.id);
  if (entry.sha256) text += ",\"sha256\":" + in_quotes(*entry.sha256);
  if (entry.file) text += ",\"file\":" + in_quotes(*entry.file);
  return text + "}";
}

struct JsonFormatter {
  const ValueSpec& spec;

  std::string operator()(std::monostate) const { return "null"; }
  std::string operator()(std::int64_t number) const { return std::to_string(number); }
  std::string operator()(double number) const { return json_number(number); }
  std::string operator()(std::chrono::milliseconds duration) const {
    return format_value(spec, duration);
  }
  std::string operator()(std::uint64_t number) const {
    if (spec.kind == ValueKind::kSeed) return in_quotes(std::to_string(number));
    return format_value(spec, number);
  }
  std::string operator()(ChoiceIndex choice) const { return format_value(spec, choice); }
  std::string operator()(const std::string& text) const { return in_quotes(text); }
  std::string operator()(const std::vector<std::string>& items) const {
    return "[" + json_list(items, [](const std::string& item) { return in_quotes(item); }) + "]";
  }
  std::string operator()(const std::vector<PluginAllow>& entries) const {
    return "[" + json_list(entries, json_allow) + "]";
  }
  std::string operator()(const std::map<std::string, std::string>& labels) const {
    return "{" +
           json_list(labels,
                     [](const auto& label) {
                       return in_quotes(label.first) + ":" + in_quotes(label.second);
                     }) +
           "}";
  }
};

std::string json_source(const ValueSource& source) {
  switch (source.kind) {
    case ValueSource::Kind::kDefault:
      return "\"source\":\"default\"";
    case ValueSource::Kind::kFile:
      return fmt::format("\"source\":\"file\",\"line\":{}", source.position.line);
    case ValueSource::Kind::kEnvironment:
      return "\"source\":\"environment\",\"variable\":" + in_quotes(source.variable);
  }
  return {};
}

std::string json_settings(const LoadedSettings& loaded) {
  std::string text;
  const auto rows = settings_table();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    text += fmt::format("{}{}:{{\"value\":{},{}}}", i == 0 ? "" : ",", in_quotes(rows[i].spec.key),
                        std::visit(JsonFormatter{rows[i].spec}, rows[i].get(loaded.settings)),
                        json_source(loaded.sources[i]));
  }
  return text;
}

std::string json_option(const PolicyOption& option) {
  const auto* number = std::get_if<double>(&option.value);
  const ValueSource source{
      option.variable.empty() ? ValueSource::Kind::kFile : ValueSource::Kind::kEnvironment,
      option.position, option.variable};
  return fmt::format("{}:{{\"value\":{},{}}}", in_quotes(option.key),
                     number != nullptr ? json_number(*number) : format_option(option.value),
                     json_source(source));
}

std::string json_pod(const PodSettings& pod, const ConfigPosition& position) {
  std::string text = fmt::format("\"line\":{}", position.line);
  for (const PodRow& row : pod_table()) {
    text += fmt::format(",{}:{}", in_quotes(row.spec.key),
                        std::visit(JsonFormatter{row.spec}, row.get(pod)));
  }
  return "{" + text + "}";
}

// ---- Markdown

// A bar would end the cell.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

std::string code(std::string_view text) {
  return text.empty() ? "" : fmt::format("`{}`", text);
}

std::string default_cell(const ValueSpec& spec) {
  if (spec.default_text.empty() && !spec.absent.empty()) return std::string(spec.absent);
  const auto value = value_from_text(spec, spec.default_text);
  return value ? code(format_value(spec, *value)) : std::string();
}

std::string settings_tables() {
  std::string text;
  std::string_view section;
  for (const SettingRow& row : settings_table()) {
    if (section != section_of(row.spec.key)) {
      section = section_of(row.spec.key);
      text += fmt::format(
          "\n### [{}]\n\n| key | default | allowed | environment | meaning "
          "|\n|---|---|---|---|---|\n",
          section);
    }
    text +=
        fmt::format("| {} | {} | {} | {} | {} |\n", code(row.spec.key.substr(section.size() + 1)),
                    default_cell(row.spec), cell(allowed_text(row.spec)),
                    code(row.environment.variable), cell(row.spec.help));
  }
  return text;
}

std::string pod_key_table() {
  std::string text =
      "\n### [[fleet.pod]]\n\n| key | default | allowed | meaning |\n|---|---|---|---|\n";
  for (const PodRow& row : pod_table()) {
    text += fmt::format("| {} | {} | {} | {} |\n", code(row.spec.key),
                        row.required ? "required" : default_cell(row.spec),
                        cell(allowed_text(row.spec)), cell(row.spec.help));
  }
  return text;
}

std::string policy_override_table() {
  std::string text =
      "\n### [policy.NAME]\n\n| option | environment | allowed there |\n|---|---|---|\n";
  for (const PolicyOptionOverride& row : policy_option_overrides()) {
    text += fmt::format("| `policy.{}.{}` | `{}` | number above 0 |\n", row.policy, row.option,
                        row.variable);
  }
  return text;
}

}  // namespace

std::string format_effective(const LoadedSettings& loaded) {
  const std::vector<EffectiveLine> lines = effective_lines(loaded);
  // One long pod line must not push every source off the screen.
  constexpr std::size_t kWidestValue = 40;
  std::size_t key_width = 0;
  std::size_t value_width = 0;
  for (const EffectiveLine& line : lines) {
    key_width = std::max(key_width, line.key.size());
    value_width = std::max(value_width, std::min(line.value.size(), kWidestValue));
  }
  std::string text;
  for (const EffectiveLine& line : lines) {
    text += fmt::format("{:<{}}  {:<{}}  {}\n", line.key, key_width, line.value, value_width,
                        line.source);
  }
  return text;
}

std::string format_effective_json(const LoadedSettings& loaded) {
  const auto& pods = loaded.settings.fleet.pods;
  std::string pod_text;
  for (std::size_t i = 0; i < pods.size(); ++i) {
    pod_text += (i == 0 ? "" : ",") + json_pod(pods[i], loaded.pod_positions[i]);
  }
  const std::string policies = json_list(loaded.settings.policies, [](const auto& policy) {
    return in_quotes(policy.first) + ":{" + json_list(policy.second, json_option) + "}";
  });
  const std::string notices =
      json_list(loaded.notices, [](const std::string& notice) { return in_quotes(notice); });
  return fmt::format(
      "{{\"file\":{},\"settings\":{{{}}},\"policies\":{{{}}},\"pods\":[{}],\"notices\":[{}]}}\n",
      in_quotes(loaded.file), json_settings(loaded), policies, pod_text, notices);
}

std::string format_reference_markdown() {
  return settings_tables() + pod_key_table() + policy_override_table();
}

}  // namespace pd
