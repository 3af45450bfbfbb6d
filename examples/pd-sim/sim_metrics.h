#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "examples/pd-sim/time_model.h"

namespace pd::sim {

// Histogram of seconds with the bucket bounds vLLM uses for the phases of a request.
class PhaseHistogram {
 public:
  static constexpr std::array<double, 21> kBounds = {
      0.3,  0.5,  0.8,  1.0,  1.5,   2.0,   2.5,   5.0,   10.0,   15.0,  20.0,
      30.0, 40.0, 50.0, 60.0, 120.0, 240.0, 480.0, 960.0, 1920.0, 7680.0};
  void observe(Duration phase);
  // Appends the _bucket, _sum and _count lines of `name`; `labels` without braces.
  void append(std::string& page, std::string_view name, std::string_view labels) const;

 private:
  std::array<std::uint64_t, kBounds.size() + 1> counts_{};
  double sum_ = 0;
};

// What a pod has done since its engine started. Counters only grow, until a restart.
struct EngineStats {
  std::uint64_t prompt_tokens_computed = 0;
  std::uint64_t prompt_tokens_cached = 0;
  std::uint64_t prompt_tokens_transferred = 0;
  std::uint64_t generation_tokens = 0;
  std::uint64_t prefix_queries = 0;
  std::uint64_t prefix_hits = 0;
  std::uint64_t preemptions = 0;
  std::uint64_t finished_stop = 0;
  std::uint64_t finished_length = 0;
  std::uint64_t finished_abort = 0;
  std::uint64_t finished_error = 0;
  std::uint64_t transfers_failed = 0;
  std::uint64_t handoffs_expired = 0;
  PhaseHistogram prefill_time;
  PhaseHistogram e2e_latency;
};

// What a pod is doing now.
struct EngineGauges {
  std::uint32_t running = 0;
  std::uint32_t waiting = 0;
  std::uint32_t block_size = 0;
  std::uint32_t block_count = 0;
  double kv_usage = 0;
};

// The page of GET /metrics, with the names and labels of vLLM.
std::string render_vllm_metrics(const EngineStats& stats, const EngineGauges& gauges,
                                std::string_view model);

}  // namespace pd::sim
