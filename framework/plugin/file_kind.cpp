#include "framework/plugin/file_kind.h"

#include <algorithm>
#include <string_view>

namespace pd {
namespace {

struct Compression {
  std::string_view magic;
  std::string_view name;
};
constexpr Compression kCompressions[] = {
    {"PK\x03\x04", "zip"},
    {"\x1f\x8b", "gzip"},
    {"\xfd"
     "7zXZ",
     "xz"},
    {"\x28\xb5\x2f\xfd", "zstd"},
    {"BZh", "bzip2"},
};

bool begins(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return out;
}

bool looks_like_text(std::string_view head) {
  return std::none_of(head.begin(), head.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x09 || (byte > 0x0d && byte < 0x20) || byte == 0x7f;
  });
}

bool looks_like_html(std::string_view head) {
  const std::string text = lower(head);
  const std::size_t start = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (start == std::string::npos) return false;
  const std::string_view begin = std::string_view(text).substr(start);
  return begins(begin, "<!doctype html") || begins(begin, "<html") || begins(begin, "<head") ||
         (begins(begin, "<?xml") && text.find("<html") != std::string::npos);
}

bool looks_like_linker_script(std::string_view head) {
  for (const std::string_view command : {"GROUP", "INPUT", "OUTPUT_FORMAT", "/* GNU ld script"}) {
    if (begins(head, command)) return true;
  }
  return false;
}

std::string hex_of(std::string_view bytes) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (!out.empty()) out += ' ';
    out += {kHex[byte >> 4], kHex[byte & 15]};
  }
  return out;
}

}  // namespace

std::optional<PluginError> not_elf_error(std::span<const std::byte> bytes,
                                         const std::string& file) {
  const std::string_view head(reinterpret_cast<const char*>(bytes.data()),
                              std::min<std::size_t>(bytes.size(), 1024));
  if (begins(head,
             "\x7f"
             "ELF"))
    return std::nullopt;
  const auto error = [&](PluginErrorCode code) { return make_plugin_error(code, file); };
  if (begins(head, "!<arch>\n") || begins(head, "!<thin>\n")) {
    return error(PluginErrorCode::kStaticArchive);
  }
  if (begins(head, "version https://git-lfs.github.com/spec/")) {
    return error(PluginErrorCode::kLfsPointer);
  }
  for (const Compression& compression : kCompressions) {
    if (begins(head, compression.magic)) {
      return make_plugin_error(PluginErrorCode::kCompressed, file, {compression.name});
    }
  }
  if (looks_like_html(head)) return error(PluginErrorCode::kHtmlPage);
  if (looks_like_linker_script(head)) return error(PluginErrorCode::kLinkerScript);
  if (!head.empty() && looks_like_text(head)) return error(PluginErrorCode::kTextFile);
  return make_plugin_error(PluginErrorCode::kNotElf, file, {hex_of(head.substr(0, 4))});
}

}  // namespace pd
