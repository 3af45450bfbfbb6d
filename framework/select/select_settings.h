// The numbers of the selection rules, as configured.
#pragma once

#include <cstdint>

namespace pd {

struct SelectSettings {
  double prefill_min_spread = 16;  // strict: a larger spread of requests sends to the least loaded
  double prefill_stddev_factor = 1;     // overload filter: mean + factor * sample deviation
  double decode_min_spread = 16;        // a spread of this many requests or more
  double throughput_min_spread = 2048;  // strict, tokens per second
  double score_ratio = 1.5;             // strict, requests per drain rate
  std::uint64_t stale_ns = 0;           // a sample of this age is missing; 0: never
  std::uint32_t block_size = 128;       // bytes of tokenizer output
  std::uint64_t hash_seed = 0;
};

}  // namespace pd
