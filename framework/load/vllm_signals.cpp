#include "framework/load/vllm_signals.h"

namespace pd {
namespace {

constexpr SignalRule kVllmRules[] = {
    {.series = "vllm:num_requests_running", .column = &EngineSample::running},
    {.series = "vllm:num_requests_waiting", .column = &EngineSample::waiting},
    {.series = "vllm:kv_cache_usage_perc",
     .column = &EngineSample::kv_usage,
     .ranks = RankRule::kHighest,
     .range = ValueRange::kShare},
    // The name in older versions; some serve both.
    {.series = "vllm:gpu_cache_usage_perc",
     .column = &EngineSample::kv_usage,
     .ranks = RankRule::kHighest,
     .range = ValueRange::kShare},
    {.series = "vllm:cache_config_info",
     .number_label = "num_gpu_blocks",
     .column = &EngineSample::kv_blocks,
     .range = ValueRange::kPositive},
    {.series = "vllm:cache_config_info",
     .number_label = "block_size",
     .column = &EngineSample::kv_block_tokens,
     .ranks = RankRule::kHighest,
     .range = ValueRange::kPositive},
    {.series = "vllm:generation_tokens_total", .column = &EngineSample::generated_tokens_total},
    {.series = "vllm:request_prefill_time_seconds_sum",
     .column = &EngineSample::prefill_seconds_sum},
    {.series = "vllm:request_prefill_time_seconds_count",
     .column = &EngineSample::prefill_seconds_count},
};

constexpr SignalTable kVllmSignals{
    .rules = kVllmRules, .model_label = "model_name", .rank_label = "engine"};

}  // namespace

const SignalTable& vllm_signals() {
  return kVllmSignals;
}

}  // namespace pd
