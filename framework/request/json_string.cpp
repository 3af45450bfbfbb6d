// The text of JSON strings. Unlike simdjson's, this reader accepts a lone surrogate, which agents
// produce when they cut a conversation in the middle of an emoji.
#include <cstdint>
#include <optional>

#include "framework/request/request_view.h"

namespace pd {
namespace {

void append_utf8(std::uint32_t point, std::string& out) {
  if (point < 0x80) {
    out.push_back(static_cast<char>(point));
  } else if (point < 0x800) {
    out.push_back(static_cast<char>(0xC0 | (point >> 6)));
    out.push_back(static_cast<char>(0x80 | (point & 0x3F)));
  } else if (point < 0x10000) {
    out.push_back(static_cast<char>(0xE0 | (point >> 12)));
    out.push_back(static_cast<char>(0x80 | ((point >> 6) & 0x3F)));
    out.push_back(static_cast<char>(0x80 | (point & 0x3F)));
  } else {
    out.push_back(static_cast<char>(0xF0 | (point >> 18)));
    out.push_back(static_cast<char>(0x80 | ((point >> 12) & 0x3F)));
    out.push_back(static_cast<char>(0x80 | ((point >> 6) & 0x3F)));
    out.push_back(static_cast<char>(0x80 | (point & 0x3F)));
  }
}

// The four hex digits at `at`, or nothing.
std::optional<std::uint32_t> hex4(std::string_view s, std::size_t at) {
  if (s.size() < at + 4) return std::nullopt;
  std::uint32_t value = 0;
  for (char c : s.substr(at, 4)) {
    value <<= 4;
    if (c >= '0' && c <= '9') {
      value |= static_cast<std::uint32_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      value |= static_cast<std::uint32_t>(c - 'a' + 10);
    } else if (c >= 'A' && c <= 'F') {
      value |= static_cast<std::uint32_t>(c - 'A' + 10);
    } else {
      return std::nullopt;
    }
  }
  return value;
}

bool is_high_surrogate(std::uint32_t unit) {
  return unit >= 0xD800 && unit < 0xDC00;
}
bool is_low_surrogate(std::uint32_t unit) {
  return unit >= 0xDC00 && unit < 0xE000;
}

// Reads the escape "\uXXXX" at `at` (of the backslash), with its second half if it is a pair.
// Returns the bytes read, 0 when malformed.
std::size_t append_unicode_escape(std::string_view s, std::size_t at, std::string& out) {
  constexpr std::uint32_t kReplacement = 0xFFFD;
  const auto unit = hex4(s, at + 2);
  if (!unit) return 0;
  if (is_high_surrogate(*unit) && s.substr(at + 6, 2) == "\\u") {
    const auto low = hex4(s, at + 8);
    if (low && is_low_surrogate(*low)) {
      append_utf8(0x10000 + ((*unit - 0xD800) << 10) + (*low - 0xDC00), out);
      return 12;
    }
  }
  const bool lone = is_high_surrogate(*unit) || is_low_surrogate(*unit);
  append_utf8(lone ? kReplacement : *unit, out);
  return 6;
}

}  // namespace

bool append_unescaped(std::string_view escaped, std::string& out) {
  std::size_t at = 0;
  while (true) {
    const std::size_t slash = escaped.find('\\', at);
    out.append(escaped.substr(at, slash - at));
    if (slash == std::string_view::npos) return true;
    if (slash + 1 >= escaped.size()) return false;
    std::size_t length = 2;
    switch (escaped[slash + 1]) {
      case '"':
        out.push_back('"');
        break;
      case '\\':
        out.push_back('\\');
        break;
      case '/':
        out.push_back('/');
        break;
      case 'b':
        out.push_back('\b');
        break;
      case 'f':
        out.push_back('\f');
        break;
      case 'n':
        out.push_back('\n');
        break;
      case 'r':
        out.push_back('\r');
        break;
      case 't':
        out.push_back('\t');
        break;
      case 'u':
        length = append_unicode_escape(escaped, slash, out);
        break;
      default:
        return false;
    }
    if (length == 0) return false;
    at = slash + length;
  }
}

}  // namespace pd
