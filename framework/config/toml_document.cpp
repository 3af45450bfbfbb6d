#include "framework/config/toml_document.h"

// toml++ 3.3 asserts on "[[[", which is a user's mistake and has its own error path behind the
// assertion. With NDEBUG the library would turn assertions into assumptions instead.
#ifdef NDEBUG
#undef NDEBUG
#endif
#define TOML_ASSERT(expr) static_assert(true)
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "framework/config/address_text.h"
#include "framework/config/settings_table.h"
#include "framework/config/toml_text_checks.h"
#include "framework/config/value_text.h"

namespace pd {
namespace {

using Kind = ConfigNode::Kind;

// Settings nest four deep; below this depth a table is passed on without its children.
constexpr int kDeepestNode = 8;

// ---- syntax errors

std::string_view line_of(std::string_view text, std::uint32_t number) {
  for (std::uint32_t line = 1; line < number; ++line) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find('\n'));
}

// The inside of "[a.b]" or "[[a.b]]"; empty for any other line.
std::string_view header_name(std::string_view line) {
  line = trimmed(line);
  if (line.empty() || line.front() != '[') return {};
  const std::size_t start = line.find_first_not_of('[');
  const std::size_t end = line.find(']');
  if (start == std::string_view::npos || end == std::string_view::npos || end < start) return {};
  return trimmed(line.substr(start, end - start));
}

// The dotted key whose value stands in that line, as well as the text tells without a parser.
std::string key_in_line(std::string_view text, std::uint32_t number) {
  const std::string_view line = line_of(text, number);
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos) return {};
  const std::string name(trimmed(line.substr(0, equals)));
  const bool bare = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
  if (!bare) return {};
  for (std::uint32_t above = number - 1; above > 0; --above) {
    const std::string_view header = header_name(line_of(text, above));
    if (!header.empty()) return std::string(header) + "." + name;
  }
  return name;
}

std::string allowed_for(const std::string& key) {
  if (const SettingRow* row = find_setting(key)) return allowed_with_notation(row->spec);
  constexpr std::string_view kPod = "fleet.pod.";
  if (key.compare(0, kPod.size(), kPod) != 0) return {};
  const PodRow* row = find_pod_key(std::string_view(key).substr(kPod.size()));
  return row == nullptr ? std::string() : allowed_with_notation(row->spec);
}

ConfigError syntax_error(const toml::parse_error& error, std::string_view text,
                         const std::string& file) {
  const toml::source_position at = error.source().begin;
  const std::string key = key_in_line(text, at.line);
  const std::string allowed = allowed_for(key);
  // The parser quotes the character that it met, which may be a newline.
  std::string reason;
  for (const char c : error.description()) {
    if (c == '\n') {
      reason += "\\n";
    } else if (c == '\r') {
      reason += "\\r";
    } else {
      reason += is_plain_text({&c, 1}) ? c : '?';
    }
  }
  const ConfigPlace place{file, {at.line, at.column}, key};
  if (allowed.empty()) return config_errors::syntax(place, reason);
  return config_errors::syntax_in_value(place, reason, allowed);
}

// ---- toml++ nodes to ours

ConfigPosition position_of(const toml::source_region& region) {
  return {region.begin.line, region.begin.column};
}

template <class Value>
std::string printed(const toml::value<Value>& value) {
  std::ostringstream out;
  out << value.get();
  return out.str();
}

// Recursion is bounded by kDeepestNode.
ConfigNode convert(const toml::node& source, int depth) {
  ConfigNode node;
  node.position = position_of(source.source());
  if (const auto* table = source.as_table()) {
    node.kind = Kind::kTable;
    if (depth >= kDeepestNode) return node;
    for (const auto& [key, value] : *table) {
      ConfigNode child = convert(value, depth + 1);
      child.key = key.str();
      child.key_position = position_of(key.source());
      node.children.push_back(std::move(child));
    }
    std::stable_sort(
        node.children.begin(), node.children.end(),
        [](const ConfigNode& a, const ConfigNode& b) { return a.key_position < b.key_position; });
  } else if (const auto* array = source.as_array()) {
    node.kind = Kind::kArray;
    if (depth >= kDeepestNode) return node;
    for (const toml::node& element : *array) node.children.push_back(convert(element, depth + 1));
  } else if (const auto* text = source.as_string()) {
    node.kind = Kind::kString;
    node.text = text->get();
  } else if (const auto* integer = source.as_integer()) {
    node.kind = Kind::kInteger;
    node.integer = integer->get();
  } else if (const auto* number = source.as_floating_point()) {
    node.kind = Kind::kFloat;
    node.number = number->get();
  } else if (const auto* flag = source.as_boolean()) {
    node.kind = Kind::kBoolean;
    node.boolean = flag->get();
  } else {
    node.kind = Kind::kDate;
    if (const auto* date = source.as_date()) node.text = printed(*date);
    if (const auto* time = source.as_time()) node.text = printed(*time);
    if (const auto* both = source.as_date_time()) node.text = printed(*both);
  }
  return node;
}

}  // namespace

boost::system::result<ConfigNode, ConfigError> parse_toml(std::string_view text,
                                                          const std::string& file) {
  if (auto error = check_encoding(text, file)) return *std::move(error);
  if (auto error = check_characters(text, file)) return *std::move(error);
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) return syntax_error(parsed.error(), text, file);
  return convert(parsed.table(), 0);
}

}  // namespace pd
