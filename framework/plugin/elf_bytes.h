// Bounds-checked reading of an ELF file's bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <type_traits>

namespace pd {

/// [any thread] A view; any offset may be asked for.
class ElfBytes {
 public:
  explicit ElfBytes(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::uint64_t size() const { return bytes_.size(); }

  /// Does [offset, offset + length) lie inside the file?
  bool holds(std::uint64_t offset, std::uint64_t length) const {
    return offset <= bytes_.size() && length <= bytes_.size() - offset;
  }

  /// The struct at `offset`, whatever its alignment; nothing when it does not lie inside.
  template <class T>
  std::optional<T> at(std::uint64_t offset) const {
    static_assert(std::is_trivially_copyable_v<T>);
    if (!holds(offset, sizeof(T))) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }

  /// The zero-terminated text at `offset` that ends before `end`; nothing when it is longer than
  /// `limit` or leaves the file.
  std::optional<std::string> text(std::uint64_t offset, std::uint64_t end,
                                  std::size_t limit = 4096) const {
    if (end > size()) end = size();
    if (offset >= end) return std::nullopt;
    const std::size_t room = static_cast<std::size_t>(end - offset);
    const char* begin = reinterpret_cast<const char*>(bytes_.data() + offset);
    const std::size_t longest = room < limit ? room : limit;
    const std::size_t length = ::strnlen(begin, longest);
    if (length == longest) return std::nullopt;
    return std::string(begin, length);
  }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace pd
