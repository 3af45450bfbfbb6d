#include "framework/policy/untrusted_text.h"

#include <cstring>

namespace pd {
namespace {

struct Utf8Range {
  unsigned char first;
  unsigned char last;
  std::size_t length;
  unsigned char second_min;  // excludes overlong forms and surrogates
  unsigned char second_max;
};

constexpr Utf8Range kUtf8Ranges[] = {
    {0x20, 0x7e, 1, 0, 0},       {0xc2, 0xdf, 2, 0x80, 0xbf}, {0xe0, 0xe0, 3, 0xa0, 0xbf},
    {0xe1, 0xec, 3, 0x80, 0xbf}, {0xed, 0xed, 3, 0x80, 0x9f}, {0xee, 0xef, 3, 0x80, 0xbf},
    {0xf0, 0xf0, 4, 0x90, 0xbf}, {0xf1, 0xf3, 4, 0x80, 0xbf}, {0xf4, 0xf4, 4, 0x80, 0x8f},
};

// Length of the printable character at the start of `bytes`; 0 when there is none.
std::size_t printable_length(std::string_view bytes) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  if (bytes.empty()) return 0;
  // U+0080 to U+009F are control characters, too.
  if (byte(0) == 0xc2 && bytes.size() > 1 && byte(1) < 0xa0) return 0;
  for (const Utf8Range& range : kUtf8Ranges) {
    if (byte(0) < range.first || byte(0) > range.last) continue;
    if (bytes.size() < range.length) return 0;
    if (range.length > 1 && (byte(1) < range.second_min || byte(1) > range.second_max)) return 0;
    for (std::size_t i = 2; i < range.length; ++i) {
      if ((byte(i) & 0xc0) != 0x80) return 0;
    }
    return range.length;
  }
  return 0;
}

bool is_printable(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = printable_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace

std::optional<std::string> untrusted_text(const char* data, std::size_t limit) {
  if (data == nullptr) return std::nullopt;
  const std::size_t length = ::strnlen(data, limit + 1);
  if (length > limit || !is_printable({data, length})) return std::nullopt;
  return std::string(data, length);
}

std::string printable_text(std::string_view bytes, std::size_t limit) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  while (!bytes.empty()) {
    if (out.size() >= limit) return out + "...";
    const std::size_t length = printable_length(bytes);
    if (length == 0) {
      const auto byte = static_cast<unsigned char>(bytes[0]);
      out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
      bytes.remove_prefix(1);
    } else {
      out += bytes.substr(0, length);
      bytes.remove_prefix(length);
    }
  }
  return out;
}

}  // namespace pd
