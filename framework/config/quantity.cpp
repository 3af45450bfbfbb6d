#include "framework/config/quantity.h"

#include <array>
#include <charconv>
#include <limits>

namespace pd {
namespace {

struct Unit {
  std::string_view suffix;
  std::uint64_t factor;
};

// Largest first: formatting takes the first that divides evenly.
constexpr std::array<Unit, 4> kDurationUnits{
    {{"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}}};
constexpr std::array<Unit, 4> kSizeUnits{
    {{"GiB", 1ULL << 30}, {"MiB", 1ULL << 20}, {"KiB", 1ULL << 10}, {"", 1}}};

template <std::size_t N>
std::optional<std::uint64_t> parse_quantity(std::string_view text,
                                            const std::array<Unit, N>& units) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc{}) return std::nullopt;
  const std::string_view suffix(rest, static_cast<std::size_t>(end - rest));
  for (const Unit& unit : units) {
    if (suffix != unit.suffix) continue;
    if (number > std::numeric_limits<std::uint64_t>::max() / unit.factor) return std::nullopt;
    return number * unit.factor;
  }
  return std::nullopt;
}

template <std::size_t N>
std::string format_quantity(std::uint64_t amount, const std::array<Unit, N>& units) {
  if (amount == 0) return "0";
  for (const Unit& unit : units) {
    if (amount % unit.factor == 0) {
      return std::to_string(amount / unit.factor) + std::string(unit.suffix);
    }
  }
  return std::to_string(amount);
}

}  // namespace

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) {
  if (text == "0") return std::chrono::milliseconds{0};
  const auto amount = parse_quantity(text, kDurationUnits);
  constexpr auto kLargest = std::numeric_limits<std::int64_t>::max();
  if (!amount || *amount > static_cast<std::uint64_t>(kLargest)) return std::nullopt;
  return std::chrono::milliseconds{static_cast<std::int64_t>(*amount)};
}

std::string format_duration(std::chrono::milliseconds duration) {
  return format_quantity(static_cast<std::uint64_t>(duration.count()), kDurationUnits);
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  return parse_quantity(text, kSizeUnits);
}

std::string format_size(std::uint64_t bytes) {
  return format_quantity(bytes, kSizeUnits);
}

}  // namespace pd
