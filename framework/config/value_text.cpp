#include "framework/config/value_text.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

#include "framework/config/quantity.h"

namespace pd {
namespace {

std::string describe_string(const std::string& text) {
  constexpr std::size_t kShown = 60;
  if (text.size() <= kShown) return in_quotes(text) + " (string)";
  std::size_t cut = kShown;
  // Never cut inside a UTF-8 sequence.
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0U) == 0x80U) --cut;
  return in_quotes(text.substr(0, cut)) + "... (string)";
}

std::string choices_text(const ValueSpec& spec) {
  std::string text;
  for (std::size_t i = 0; i < spec.choices.size(); ++i) {
    if (i > 0) text += i + 1 == spec.choices.size() ? " or " : ", ";
    text += in_quotes(spec.choices[i]);
  }
  return text;
}

std::string format_list(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) {
    text += (text.empty() ? "" : ", ") + in_quotes(item);
  }
  return "[" + text + "]";
}

std::string format_allow(const std::vector<PluginAllow>& entries) {
  std::string text;
  for (const PluginAllow& entry : entries) {
    if (!text.empty()) text += ", ";
    if (!entry.sha256 && !entry.file) {
      text += in_quotes(entry.id);
      continue;
    }
    text += "{ id = " + in_quotes(entry.id);
    if (entry.sha256) text += ", sha256 = " + in_quotes(*entry.sha256);
    if (entry.file) text += ", file = " + in_quotes(*entry.file);
    text += " }";
  }
  return "[" + text + "]";
}

std::string format_labels(const std::map<std::string, std::string>& labels) {
  if (labels.empty()) return "{}";
  std::string text;
  for (const auto& [key, value] : labels) {
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", in_quotes(key), in_quotes(value));
  }
  return "{ " + text + " }";
}

struct ValueFormatter {
  const ValueSpec& spec;

  std::string operator()(std::monostate) const { return std::string(spec.absent); }
  std::string operator()(std::int64_t number) const { return std::to_string(number); }
  std::string operator()(double number) const { return format_float(number); }
  std::string operator()(std::chrono::milliseconds duration) const {
    return in_quotes(format_duration(duration));
  }
  std::string operator()(std::uint64_t number) const {
    if (spec.kind == ValueKind::kSeed) return std::to_string(number);
    return in_quotes(format_size(number));
  }
  std::string operator()(ChoiceIndex choice) const { return in_quotes(spec.choices[choice.index]); }
  std::string operator()(const std::string& text) const { return in_quotes(text); }
  std::string operator()(const std::vector<std::string>& items) const { return format_list(items); }
  std::string operator()(const std::vector<PluginAllow>& entries) const {
    return format_allow(entries);
  }
  std::string operator()(const std::map<std::string, std::string>& labels) const {
    return format_labels(labels);
  }
};

}  // namespace

std::string describe(const ConfigNode& node) {
  switch (node.kind) {
    case ConfigNode::Kind::kString:
      return describe_string(node.text);
    case ConfigNode::Kind::kInteger:
      return fmt::format("{} (integer)", node.integer);
    case ConfigNode::Kind::kFloat:
      return format_float(node.number) + " (float)";
    case ConfigNode::Kind::kBoolean:
      return node.boolean ? "true (boolean)" : "false (boolean)";
    case ConfigNode::Kind::kDate:
      return node.text + " (date or time)";
    case ConfigNode::Kind::kArray:
      return node.children.empty() ? "[] (empty array)"
                                   : fmt::format("an array of {}", node.children.size());
    case ConfigNode::Kind::kTable:
      return "a table";
  }
  return "nothing";
}

std::string allowed_text(const ValueSpec& spec) {
  switch (spec.kind) {
    case ValueKind::kInteger:
      return fmt::format("integer {}..{}", spec.min, spec.max);
    case ValueKind::kFloat:
      return fmt::format("number {}..{}", spec.min, spec.max);
    case ValueKind::kDuration:
      return fmt::format("duration {}..{}", spec.min, spec.max);
    case ValueKind::kSize:
      return fmt::format("size {}..{}", spec.min, spec.max);
    case ValueKind::kSeed:
      return "integer 0..18446744073709551615";
    case ValueKind::kChoice:
      return choices_text(spec);
    case ValueKind::kPolicyName:
      return "name of a policy: a-z, 0-9, '_', '.' and '-'";
    case ValueKind::kListen:
      return "\"ADDRESS:PORT\", \"[IPV6]:PORT\" or \"unix:/PATH\"";
    case ValueKind::kPath:
      return "path of a folder";
    case ValueKind::kPathList:
      return "list of at least one folder";
    case ValueKind::kAllowList:
      return "list of plugin ids or of { id, sha256, file }";
    case ValueKind::kPodName:
      return "1..253 letters, digits, '.', '_' and '-'";
    case ValueKind::kPodUrl:
      return "\"http://HOST:PORT\"";
    case ValueKind::kMetricsUrl:
      return "\"http://HOST:PORT/PATH\"";
    case ValueKind::kText:
      return "text that is not empty";
    case ValueKind::kLabels:
      return "table of strings";
  }
  return {};
}

std::string allowed_with_notation(const ValueSpec& spec) {
  const std::string allowed = allowed_text(spec);
  switch (spec.kind) {
    case ValueKind::kDuration:
      return allowed + ", with its unit as in \"250ms\", \"30s\", \"5m\" or \"2h\"";
    case ValueKind::kSize:
      return allowed + ", as in \"16KiB\", \"64MiB\" or \"1GiB\", or plain bytes without quotes";
    case ValueKind::kSeed:
      return allowed + ", above 9223372036854775807 in quotes";
    case ValueKind::kPathList:
      return allowed + ", as in [\"/usr/lib/pd/plugins\"]";
    default:
      return allowed;
  }
}

std::string format_value(const ValueSpec& spec, const SettingValue& value) {
  return std::visit(ValueFormatter{spec}, value);
}

std::string format_option(const PolicyOptionValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
  if (const auto* number = std::get_if<double>(&value)) return format_float(*number);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  return in_quotes(std::get<std::string>(value));
}

std::string format_float(double number) {
  if (!std::isfinite(number)) return std::isnan(number) ? "nan" : (number > 0 ? "inf" : "-inf");
  std::array<char, 32> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
  std::string text(buffer.data(), end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\u{:04x}", byte);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

}  // namespace pd
