// Monotonic time as policies and records carry it: nanoseconds of the steady clock.
#pragma once

#include <chrono>
#include <cstdint>

namespace pd {

inline std::uint64_t monotonic_ns(std::chrono::steady_clock::time_point time) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count());
}

inline std::uint64_t monotonic_now_ns() {
  return monotonic_ns(std::chrono::steady_clock::now());
}

}  // namespace pd
