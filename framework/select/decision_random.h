// Chance for one decision: a small seeded sequence, so that a recorded decision can be repeated.
#pragma once

#include <cstdint>

namespace pd {

// SplitMix64 (Steele, Lea, Flood 2014). One per decision; not thread-safe.
class DecisionRandom {
 public:
  DecisionRandom() = default;
  explicit DecisionRandom(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15U);
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
    return z ^ (z >> 31U);
  }

  // A uniform number in [0, bound); bound must be above 0. The bias of the multiplication is below
  // bound / 2^32, far below what a choice among pods could show.
  std::uint32_t below(std::uint32_t bound) {
    return static_cast<std::uint32_t>(((next() >> 32U) * bound) >> 32U);
  }

 private:
  std::uint64_t state_ = 0;
};

}  // namespace pd
