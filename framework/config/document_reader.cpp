#include "framework/config/document_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "framework/config/address_text.h"
#include "framework/config/settings_table.h"
#include "framework/config/value_text.h"
#include "framework/policy/closest_name.h"
#include "framework/policy/policy_entry.h"

namespace pd {
namespace {

using Kind = ConfigNode::Kind;

constexpr std::string_view kPolicySection = "policy";
constexpr std::string_view kFleetSection = "fleet";
constexpr std::string_view kPodKey = "pod";

std::string dotted(std::string_view section, std::string_view name) {
  return fmt::format("{}.{}", section, name);
}

std::vector<std::string> section_names() {
  std::vector<std::string> names;
  for (const SettingRow& row : settings_table()) {
    const std::string_view section = section_of(row.spec.key);
    if (names.empty() || names.back() != section) names.emplace_back(section);
  }
  names.emplace_back(kPolicySection);
  return names;
}

std::vector<std::string> keys_of_section(std::string_view section) {
  std::vector<std::string> keys;
  for (const SettingRow& row : settings_table()) {
    if (section_of(row.spec.key) == section)
      keys.emplace_back(row.spec.key.substr(section.size() + 1));
  }
  if (section == kFleetSection) keys.emplace_back(kPodKey);
  return keys;
}

std::vector<std::string> pod_keys() {
  std::vector<std::string> keys;
  for (const PodRow& row : pod_table()) keys.emplace_back(row.spec.key);
  return keys;
}

// "score_ratio" in the wrong section is no misspelling: name the section that has it.
std::string same_name_elsewhere(std::string_view name) {
  for (const SettingRow& row : settings_table()) {
    if (row.spec.key.substr(section_of(row.spec.key).size() + 1) == name) {
      return std::string(row.spec.key);
    }
  }
  return {};
}

class DocumentReader {
 public:
  DocumentReader(const std::string& file, const std::string& base_folder,
                 std::vector<ConfigError>& errors)
      : file_(file), base_folder_(base_folder), errors_(errors) {
    reading_.settings = default_settings();
  }

  DocumentReading read(const ConfigNode& root) {
    const std::vector<std::string> sections = section_names();
    for (const ConfigNode& node : root.children) {
      if (std::find(sections.begin(), sections.end(), node.key) == sections.end()) {
        report_unknown(node, node.key, sections);
      } else if (node.kind != Kind::kTable) {
        report_found(node, node.key, fmt::format("a table, as in [{}]", node.key));
      } else if (node.key == kPolicySection) {
        read_policies(node);
      } else {
        read_section(node);
      }
    }
    if (!pods_seen_) errors_.push_back(config_errors::no_pods({file_, {}, "fleet.pod"}));
    return std::move(reading_);
  }

 private:
  void report_found(const ConfigNode& node, std::string key, std::string_view allowed) {
    errors_.push_back(config_errors::found(ConfigErrorCode::kWrongType,
                                           {file_, node.position, std::move(key)}, describe(node),
                                           allowed));
  }

  void report_unknown(const ConfigNode& node, std::string key,
                      const std::vector<std::string>& allowed_here) {
    ConfigPlace place{file_, node.key_position, std::move(key)};
    std::string suggestion = closest_name(node.key, allowed_here);
    if (suggestion.empty()) suggestion = same_name_elsewhere(node.key);
    errors_.push_back(suggestion.empty()
                          ? config_errors::unknown_key(std::move(place), allowed_here)
                          : config_errors::unknown_key_near(std::move(place), suggestion));
  }

  void read_section(const ConfigNode& section) {
    for (const ConfigNode& node : section.children) {
      std::string key = dotted(section.key, node.key);
      if (const SettingRow* row = find_setting(key)) {
        const auto value = read_value(row->spec, node, {file_, base_folder_, key}, errors_);
        if (value) row->set(reading_.settings, *value);
        reading_.positions.emplace(std::move(key), node.position);
      } else if (section.key == kFleetSection && node.key == kPodKey) {
        read_pods(node);
      } else {
        report_unknown(node, std::move(key), keys_of_section(section.key));
      }
    }
  }

  void read_pods(const ConfigNode& pods) {
    pods_seen_ = true;
    if (pods.kind != Kind::kArray || pods.children.empty()) {
      report_found(pods, "fleet.pod", "tables, each under its own [[fleet.pod]]");
      return;
    }
    std::map<std::string, std::uint32_t> first_lines;
    for (std::size_t i = 0; i < pods.children.size(); ++i) {
      read_pod(pods.children[i], fmt::format("fleet.pod[{}]", i), first_lines);
    }
  }

  void read_pod(const ConfigNode& node, const std::string& path,
                std::map<std::string, std::uint32_t>& first_lines) {
    if (node.kind != Kind::kTable) {
      report_found(node, path, "a table under [[fleet.pod]]");
      return;
    }
    PodSettings pod = default_pod();
    for (const ConfigNode& child : node.children) {
      const std::string key = dotted(path, child.key);
      const PodRow* row = find_pod_key(child.key);
      if (row == nullptr) {
        report_unknown(child, key, pod_keys());
        continue;
      }
      const auto value = read_value(row->spec, child, {file_, base_folder_, key}, errors_);
      if (value) row->set(pod, *value);
    }
    report_missing_pod_keys(node, path);
    if (!pod.name.empty()) {
      const std::uint32_t line = node.child("name")->position.line;
      const auto [first, added] = first_lines.emplace(pod.name, line);
      if (!added) {
        errors_.push_back(config_errors::duplicate_pod(
            {file_, node.child("name")->position, dotted(path, "name")}, pod.name, first->second));
      }
    }
    reading_.settings.fleet.pods.push_back(std::move(pod));
    reading_.pod_positions.push_back(node.position);
  }

  static PodSettings default_pod() {
    PodSettings pod;
    for (const PodRow& row : pod_table()) {
      const auto value = value_from_text(row.spec, row.spec.default_text);
      if (value) row.set(pod, *value);
    }
    return pod;
  }

  void report_missing_pod_keys(const ConfigNode& node, const std::string& path) {
    for (const PodRow& row : pod_table()) {
      if (!row.required || node.child(row.spec.key) != nullptr) continue;
      errors_.push_back(config_errors::missing_pod_key(
          {file_, node.position, dotted(path, row.spec.key)}, allowed_text(row.spec)));
    }
  }

  void read_policies(const ConfigNode& section) {
    std::map<std::string, std::uint32_t> first_lines;
    for (const ConfigNode& node : section.children) {
      const std::string path = dotted(kPolicySection, node.key);
      const std::string name = canonical_policy_name(node.key);
      if (node.kind != Kind::kTable) {
        report_found(node, path, fmt::format("a table, as in [{}]", path));
      } else if (!is_policy_name(name)) {
        errors_.push_back(config_errors::found(
            ConfigErrorCode::kOutOfRange, {file_, node.key_position, path}, in_quotes(node.key),
            "name of a policy: a-z, 0-9, '_', '.' and '-'"));
      } else if (const auto [first, added] = first_lines.emplace(name, node.position.line);
                 !added) {
        errors_.push_back(
            config_errors::duplicate_policy_table({file_, node.key_position, path}, first->second));
      } else {
        read_policy_options(node, path, reading_.settings.policies[name]);
      }
    }
  }

  void read_policy_options(const ConfigNode& table, const std::string& path,
                           std::vector<PolicyOption>& options) {
    for (const ConfigNode& node : table.children) {
      PolicyOption option{node.key, {}, node.position, {}};
      switch (node.kind) {
        case Kind::kString:
          option.value = node.text;
          break;
        case Kind::kInteger:
          option.value = node.integer;
          break;
        case Kind::kFloat:
          option.value = node.number;
          break;
        case Kind::kBoolean:
          option.value = node.boolean;
          break;
        case Kind::kTable:
          errors_.push_back(
              config_errors::policy_table_in_table({file_, node.position, dotted(path, node.key)}));
          continue;
        default:
          report_found(node, dotted(path, node.key), "an integer, a float, a boolean or a string");
          continue;
      }
      options.push_back(std::move(option));
    }
  }

  const std::string& file_;
  const std::string& base_folder_;
  std::vector<ConfigError>& errors_;
  DocumentReading reading_;
  bool pods_seen_ = false;
};

}  // namespace

DocumentReading read_document(const ConfigNode& root, const std::string& file,
                              const std::string& base_folder, std::vector<ConfigError>& errors) {
  return DocumentReader(file, base_folder, errors).read(root);
}

}  // namespace pd
