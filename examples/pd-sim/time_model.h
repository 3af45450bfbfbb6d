#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pd::sim {

using Clock = std::chrono::steady_clock;
using Duration = std::chrono::nanoseconds;

// Reads "250us", "1.5ms", "30s", "10ns" or "0"; nothing for anything else (a number needs its
// unit).
std::optional<Duration> parse_duration(std::string_view text);

// How long the simulated engine works. Prefill is one at a time per pod, decode steps run side by
// side. A term of zero is taken without a timer, in the handler that asked for it.
struct TimeModel {
  Duration prefill_base = std::chrono::milliseconds(2);
  Duration prefill_per_token = std::chrono::microseconds(20);
  Duration decode_base = std::chrono::milliseconds(5);
  Duration decode_per_running = std::chrono::microseconds(50);
  Duration kv_transfer_per_token = std::chrono::microseconds(1);
  Duration lease = std::chrono::seconds(30);
  std::uint32_t max_running = 256;

  // Every latency to zero; the lease and max_running stay.
  void remove_latency();
  // Sets the term `name` (as in the command line flag, with '_' for '-') from a duration text.
  // False: no such term or not a duration.
  bool set(std::string_view name, std::string_view text);

  Duration prefill(std::uint32_t uncached_tokens) const {
    return prefill_base + prefill_per_token * uncached_tokens;
  }
  Duration decode_step(std::uint32_t running) const {
    return decode_base + decode_per_running * running;
  }
  Duration transfer(std::uint32_t tokens) const { return kv_transfer_per_token * tokens; }
};

}  // namespace pd::sim
