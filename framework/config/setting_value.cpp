#include "framework/config/setting_value.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <utility>

#include "framework/config/address_text.h"
#include "framework/config/quantity.h"
#include "framework/config/value_text.h"
#include "framework/policy/closest_name.h"
#include "framework/policy/policy_entry.h"

namespace pd {
namespace {

using Kind = ConfigNode::Kind;

constexpr std::size_t kSha256Digits = 64;

template <class Number>
std::optional<Number> whole_number(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{} || rest != end) return std::nullopt;
  return number;
}

template <class Number>
std::optional<SettingValue> wrap(const std::optional<Number>& number) {
  if (!number) return std::nullopt;
  return SettingValue{*number};
}

// A bound of the table or a text of the environment, without the range check.
std::optional<SettingValue> number_from_text(ValueKind kind, std::string_view text) {
  switch (kind) {
    case ValueKind::kInteger:
      return wrap(whole_number<std::int64_t>(text));
    case ValueKind::kFloat:
      return wrap(whole_number<double>(text));
    case ValueKind::kDuration:
      return wrap(parse_duration(text));
    case ValueKind::kSize:
      return wrap(parse_size(text));
    default:
      return std::nullopt;
  }
}

bool has_range(ValueKind kind) {
  return kind == ValueKind::kInteger || kind == ValueKind::kFloat || kind == ValueKind::kDuration ||
         kind == ValueKind::kSize;
}

template <class Number>
bool within(const SettingValue& min, const SettingValue& value, const SettingValue& max) {
  // False for NaN, whatever the bounds.
  return std::get<Number>(value) >= std::get<Number>(min) &&
         std::get<Number>(value) <= std::get<Number>(max);
}

bool in_range(const ValueSpec& spec, const SettingValue& value) {
  if (!has_range(spec.kind)) return true;
  const auto min = number_from_text(spec.kind, spec.min);
  const auto max = number_from_text(spec.kind, spec.max);
  if (!min || !max) return false;
  switch (spec.kind) {
    case ValueKind::kInteger:
      return within<std::int64_t>(*min, value, *max);
    case ValueKind::kFloat:
      return within<double>(*min, value, *max);
    case ValueKind::kDuration:
      return within<std::chrono::milliseconds>(*min, value, *max);
    default:
      return within<std::uint64_t>(*min, value, *max);
  }
}

std::optional<ChoiceIndex> choice_of(const ValueSpec& spec, std::string_view text) {
  const auto found = std::find(spec.choices.begin(), spec.choices.end(), text);
  if (found == spec.choices.end()) return std::nullopt;
  return ChoiceIndex{static_cast<std::size_t>(found - spec.choices.begin())};
}

std::string resolved_path(std::string_view text, const std::string& base_folder) {
  std::filesystem::path path(text);
  if (path.is_relative() && !base_folder.empty()) path = base_folder / path;
  return path.lexically_normal().string();
}

// The kinds that are one string. Nothing when the text is not one that the kind allows.
std::optional<SettingValue> string_from_text(const ValueSpec& spec, std::string_view text,
                                             const std::string& base_folder) {
  if (text.empty() || !is_plain_text(text)) return std::nullopt;
  switch (spec.kind) {
    case ValueKind::kChoice:
      return wrap(choice_of(spec, text));
    case ValueKind::kPolicyName: {
      std::string name = canonical_policy_name(text);
      if (!is_policy_name(name)) return std::nullopt;
      return name;
    }
    case ValueKind::kListen:
      if (!is_listen_address(text)) return std::nullopt;
      return std::string(text);
    case ValueKind::kPodName:
      if (!is_plain_name(text)) return std::nullopt;
      return std::string(text);
    case ValueKind::kPodUrl:
      if (!is_pod_url(text)) return std::nullopt;
      return std::string(text.substr(0, text.size() - (text.back() == '/' ? 1 : 0)));
    case ValueKind::kMetricsUrl:
      if (!is_http_url(text)) return std::nullopt;
      return std::string(text);
    case ValueKind::kPath:
      return resolved_path(text, base_folder);
    case ValueKind::kSeed:
      return wrap(whole_number<std::uint64_t>(text));
    case ValueKind::kText:
      return std::string(text);
    default:
      return std::nullopt;
  }
}

/// Reads one node; the members are what every step needs.
class ValueReader {
 public:
  ValueReader(const ValueSpec& spec, const ValueContext& context, std::vector<ConfigError>& errors)
      : spec_(spec), context_(context), errors_(errors) {}

  std::optional<SettingValue> read(const ConfigNode& node) {
    switch (spec_.kind) {
      case ValueKind::kInteger:
        if (node.kind != Kind::kInteger) return wrong_type(node);
        return checked(node, node.integer);
      case ValueKind::kFloat:
        return read_float(node);
      case ValueKind::kDuration:
        return read_duration(node);
      case ValueKind::kSize:
        return read_size(node);
      case ValueKind::kSeed:
        return read_seed(node);
      case ValueKind::kPathList:
        return read_paths(node);
      case ValueKind::kAllowList:
        return read_allow_list(node);
      case ValueKind::kLabels:
        return read_labels(node);
      default:
        return read_string(node);
    }
  }

 private:
  std::nullopt_t refuse(ConfigErrorCode code, const ConfigNode& node, std::string key,
                        std::string_view allowed) {
    errors_.push_back(config_errors::found(code, {context_.file, node.position, std::move(key)},
                                           describe(node), allowed));
    return std::nullopt;
  }
  std::nullopt_t wrong_type(const ConfigNode& node) {
    return refuse(ConfigErrorCode::kWrongType, node, context_.key, allowed_with_notation(spec_));
  }
  std::nullopt_t out_of_range(const ConfigNode& node) {
    return refuse(ConfigErrorCode::kOutOfRange, node, context_.key, allowed_with_notation(spec_));
  }
  std::optional<SettingValue> checked(const ConfigNode& node, SettingValue value) {
    if (!in_range(spec_, value)) return out_of_range(node);
    return value;
  }

  std::optional<SettingValue> read_float(const ConfigNode& node) {
    if (node.kind == Kind::kInteger) return checked(node, static_cast<double>(node.integer));
    if (node.kind != Kind::kFloat) return wrong_type(node);
    // Adding zero turns -0.0 into 0.0, so that no minus sign shows up where 0 is allowed.
    return checked(node, node.number + 0.0);
  }

  std::optional<SettingValue> read_duration(const ConfigNode& node) {
    if (node.kind != Kind::kString) return wrong_type(node);
    const auto duration = parse_duration(node.text);
    if (!duration) return wrong_type(node);
    return checked(node, *duration);
  }

  std::optional<SettingValue> read_size(const ConfigNode& node) {
    if (node.kind == Kind::kInteger) {
      if (node.integer < 0) return out_of_range(node);
      return checked(node, static_cast<std::uint64_t>(node.integer));
    }
    if (node.kind != Kind::kString) return wrong_type(node);
    const auto size = parse_size(node.text);
    if (!size) return wrong_type(node);
    return checked(node, *size);
  }

  // TOML integers end at 2^63-1; the upper half of the seeds needs a string.
  std::optional<SettingValue> read_seed(const ConfigNode& node) {
    if (node.kind == Kind::kInteger) {
      if (node.integer < 0) return out_of_range(node);
      return static_cast<std::uint64_t>(node.integer);
    }
    if (node.kind != Kind::kString) return wrong_type(node);
    const auto seed = whole_number<std::uint64_t>(node.text);
    if (!seed) return out_of_range(node);
    return *seed;
  }

  std::optional<SettingValue> read_string(const ConfigNode& node) {
    if (node.kind != Kind::kString) return wrong_type(node);
    auto value = string_from_text(spec_, node.text, context_.base_folder);
    if (!value) return out_of_range(node);
    return value;
  }

  std::optional<SettingValue> read_paths(const ConfigNode& node) {
    if (node.kind != Kind::kArray) return wrong_type(node);
    if (node.children.empty()) return out_of_range(node);
    std::vector<std::string> paths;
    bool good = true;
    for (const ConfigNode& element : node.children) {
      good = add_path(element, paths) && good;
    }
    if (!good) return std::nullopt;
    return paths;
  }

  bool add_path(const ConfigNode& element, std::vector<std::string>& paths) {
    if (element.kind != Kind::kString || element.text.empty() || !is_plain_text(element.text)) {
      wrong_type(element);
      return false;
    }
    paths.push_back(resolved_path(element.text, context_.base_folder));
    return true;
  }

  std::optional<SettingValue> read_allow_list(const ConfigNode& node) {
    if (node.kind != Kind::kArray) return wrong_type(node);
    const std::size_t errors_before = errors_.size();
    std::vector<PluginAllow> entries;
    std::map<std::string, std::uint32_t> first_lines;
    for (const ConfigNode& element : node.children) {
      PluginAllow entry = read_allow_entry(element);
      if (entry.id.empty()) continue;
      const auto [first, added] = first_lines.emplace(entry.id, element.position.line);
      if (!added) {
        errors_.push_back(config_errors::duplicate_plugin(
            {context_.file, element.position, context_.key}, entry.id, first->second));
      }
      entries.push_back(std::move(entry));
    }
    if (errors_.size() != errors_before) return std::nullopt;
    return entries;
  }

  PluginAllow read_allow_entry(const ConfigNode& element) {
    PluginAllow entry;
    if (element.kind == Kind::kTable) {
      read_allow_table(element, entry);
    } else if (element.kind == Kind::kString && is_plain_name(element.text)) {
      entry.id = element.text;
    } else {
      wrong_type(element);
    }
    return entry;
  }

  void read_allow_table(const ConfigNode& table, PluginAllow& entry) {
    static const std::vector<std::string> kKeys{"id", "sha256", "file"};
    if (table.child("id") == nullptr) {
      errors_.push_back(
          config_errors::missing_allow_id({context_.file, table.position, context_.key + ".id"}));
    }
    for (const ConfigNode& node : table.children) {
      const std::string key = context_.key + "." + node.key;
      const bool text = node.kind == Kind::kString && is_plain_text(node.text);
      if (node.key == "id") {
        if (text && is_plain_name(node.text)) {
          entry.id = node.text;
        } else {
          refuse(ConfigErrorCode::kWrongType, node, key,
                 "the id of a plugin, of letters, digits, '.', '_' and '-'");
        }
      } else if (node.key == "sha256") {
        entry.sha256 = text ? lower_hex(node.text) : std::nullopt;
        if (!entry.sha256) {
          refuse(ConfigErrorCode::kWrongType, node, key,
                 "64 hexadecimal digits, as sha256sum prints them");
        }
      } else if (node.key == "file") {
        if (text && !node.text.empty()) {
          entry.file = resolved_path(node.text, context_.base_folder);
        } else {
          refuse(ConfigErrorCode::kWrongType, node, key, "the path of a plugin file");
        }
      } else {
        const ConfigPlace place{context_.file, node.key_position, key};
        const std::string near = closest_name(node.key, kKeys);
        errors_.push_back(near.empty() ? config_errors::unknown_key(place, kKeys)
                                       : config_errors::unknown_key_near(place, near));
      }
    }
  }

  static std::optional<std::string> lower_hex(std::string_view text) {
    std::string digits;
    for (const char c : text) {
      if (c >= 'A' && c <= 'F') {
        digits += static_cast<char>(c - 'A' + 'a');
      } else if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')) {
        digits += c;
      } else {
        return std::nullopt;
      }
    }
    if (digits.size() != kSha256Digits) return std::nullopt;
    return digits;
  }

  std::optional<SettingValue> read_labels(const ConfigNode& node) {
    if (node.kind != Kind::kTable) return wrong_type(node);
    std::map<std::string, std::string> labels;
    bool good = true;
    for (const ConfigNode& label : node.children) {
      if (label.kind == Kind::kString && is_plain_text(label.text) && is_plain_text(label.key)) {
        labels.emplace(label.key, label.text);
        continue;
      }
      refuse(ConfigErrorCode::kWrongType, label, context_.key + "." + label.key,
             "a string without control characters");
      good = false;
    }
    if (!good) return std::nullopt;
    return labels;
  }

  const ValueSpec& spec_;
  const ValueContext& context_;
  std::vector<ConfigError>& errors_;
};

}  // namespace

std::optional<SettingValue> read_value(const ValueSpec& spec, const ConfigNode& node,
                                       const ValueContext& context,
                                       std::vector<ConfigError>& errors) {
  return ValueReader(spec, context, errors).read(node);
}

std::optional<SettingValue> value_from_text(const ValueSpec& spec, std::string_view text) {
  if (spec.kind == ValueKind::kPathList) {
    std::vector<std::string> paths;
    if (!text.empty()) paths.emplace_back(text);
    return paths;
  }
  if (spec.kind == ValueKind::kAllowList && text.empty()) return std::vector<PluginAllow>{};
  if (spec.kind == ValueKind::kLabels && text.empty()) return std::map<std::string, std::string>{};
  if (has_range(spec.kind)) {
    auto value = number_from_text(spec.kind, text);
    if (!value || !in_range(spec, *value)) return std::nullopt;
    return value;
  }
  return string_from_text(spec, text, {});
}

}  // namespace pd
