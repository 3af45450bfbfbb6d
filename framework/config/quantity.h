// Durations and sizes as pd.toml writes them: "250ms", "5m", "64MiB". Pure functions, any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pd {

/// "250ms", "30s", "5m", "2h" or "0": a whole number and one unit, nothing else.
/// Nothing for any other text and for more than 2^63-1 milliseconds.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

/// The shortest text that parse_duration() reads back, with the largest unit that divides evenly.
/// REQUIRES: duration >= 0.
std::string format_duration(std::chrono::milliseconds duration);

/// "16KiB", "64MiB", "1GiB" or plain bytes ("4096"). Nothing for any other text and beyond 2^64-1.
std::optional<std::uint64_t> parse_size(std::string_view text);

/// The shortest text that parse_size() reads back, with the largest unit that divides evenly.
std::string format_size(std::uint64_t bytes);

}  // namespace pd
