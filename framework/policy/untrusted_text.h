// Text that comes from the other side of a border: plugin strings, file names, loader messages.
// Pure functions, any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace pd {

/// A copy of the zero-terminated text at `data`. Nothing when `data` is null, when no zero is found
/// within limit + 1 bytes, or when the text is not UTF-8 or holds control characters.
/// Reads at most limit + 1 bytes.
std::optional<std::string> untrusted_text(const char* data, std::size_t limit);

/// `bytes` in a form that can be printed: control characters and what is not UTF-8 as \xNN, and
/// "..." in place of what lies beyond about `limit` bytes.
std::string printable_text(std::string_view bytes, std::size_t limit = 512);

}  // namespace pd
