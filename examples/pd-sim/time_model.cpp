#include "examples/pd-sim/time_model.h"

#include <charconv>

namespace pd::sim {

std::optional<Duration> parse_duration(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  if (error != std::errc{} || value < 0 || value > 1e9) return std::nullopt;
  const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  double scale = 0;
  if (unit == "ns") {
    scale = 1;
  } else if (unit == "us") {
    scale = 1e3;
  } else if (unit == "ms") {
    scale = 1e6;
  } else if (unit == "s") {
    scale = 1e9;
  } else if (!(unit.empty() && value == 0)) {
    return std::nullopt;
  }
  return Duration(static_cast<Duration::rep>(value * scale));
}

void TimeModel::remove_latency() {
  prefill_base = prefill_per_token = decode_base = decode_per_running = kv_transfer_per_token =
      Duration::zero();
}

bool TimeModel::set(std::string_view name, std::string_view text) {
  Duration* term = nullptr;
  if (name == "prefill_base") term = &prefill_base;
  if (name == "prefill_per_token") term = &prefill_per_token;
  if (name == "decode_base") term = &decode_base;
  if (name == "decode_per_running") term = &decode_per_running;
  if (name == "kv_transfer_per_token") term = &kv_transfer_per_token;
  if (name == "lease") term = &lease;
  const auto value = parse_duration(text);
  if (term == nullptr || !value) return false;
  *term = *value;
  return true;
}

}  // namespace pd::sim
