// What one scrape of one pod's engine told about one model.
#pragma once

#include <cstdint>
#include <limits>

#include "framework/load/page_problems.h"

namespace pd {

// NaN is "not known", never "zero"; any other value is finite and not negative.
struct EngineSample {
  static constexpr double kNotKnown = std::numeric_limits<double>::quiet_NaN();

  // The engine columns of pd_load, in its units.
  double running = kNotKnown;          // requests being computed, all ranks
  double waiting = kNotKnown;          // requests queued, all ranks
  double throughput = kNotKnown;       // generated tokens per second
  double kv_usage = kNotKnown;         // 0..1, of the fullest rank
  double kv_blocks = kNotKnown;        // blocks of the KV cache, all ranks
  double kv_block_tokens = kNotKnown;  // tokens in one of them
  double prefill_time_ms = kNotKnown;  // mean since the engine started
  double drain_rate = kNotKnown;  // finished requests per second; no page tells it: see DrainRate
  double prefill_prealloc = kNotKnown;
  double decode_prealloc = kNotKnown;

  // What rates and means are made of. Counters since the engine started.
  double generated_tokens_total = kNotKnown;
  double prefill_seconds_sum = kNotKnown;
  double prefill_seconds_count = kNotKnown;
  // Changes when generated_tokens_total sums over other series than before: see TokenRate.
  std::uint64_t generated_tokens_sources = 0;

  // A series of this model was unusable while others of its column were taken: some sum or maximum
  // leaves out a data-parallel rank. `problems` names it.
  bool partial = false;
  PageProblems problems;
};

}  // namespace pd
