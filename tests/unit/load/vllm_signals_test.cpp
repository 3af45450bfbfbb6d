#include "framework/load/vllm_signals.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/load/metrics_page_file.h"

namespace pd {
namespace {

EngineSample read_vllm(std::string_view page, std::string_view model = "m-small") {
  EngineSample sample;
  read_signals(vllm_signals(), page, {.model = model, .of_pod = model}, sample);
  return sample;
}

TEST(VllmSignals, ReadsARealBusyPage) {
  const EngineSample sample = read_vllm(read_page_file("vllm_decode_busy.prom"), "tiny");
  EXPECT_EQ(sample.running, 11);
  EXPECT_EQ(sample.waiting, 21);
  EXPECT_EQ(sample.kv_usage, 0.9411764705882353);
  EXPECT_EQ(sample.kv_blocks, 256);
  EXPECT_EQ(sample.kv_block_tokens, 32);
  EXPECT_EQ(sample.generated_tokens_total, 4862);
  EXPECT_EQ(sample.prefill_seconds_sum, 10643.481394982004);
  EXPECT_EQ(sample.prefill_seconds_count, 37);
  EXPECT_DOUBLE_EQ(sample.prefill_time_ms, 10643.481394982004 / 37 * 1000);
  EXPECT_TRUE(std::isnan(sample.throughput));
  EXPECT_TRUE(std::isnan(sample.drain_rate));
  EXPECT_FALSE(sample.partial);
  EXPECT_EQ(sample.problems.count(), 0u);
}

TEST(VllmSignals, OddValuesCostThemselvesOnly) {
  const EngineSample sample = read_vllm(read_page_file("odd_values_vllm.prom"));
  EXPECT_EQ(sample.running, 1) << "rank 1 is NaN and left out";
  EXPECT_TRUE(std::isnan(sample.waiting)) << "-1 is no count";
  EXPECT_EQ(sample.kv_usage, 1) << "rounding above 1, and a hexadecimal rank";
  EXPECT_EQ(sample.generated_tokens_total, 9007199254740992.0) << "rank 1 overflows";
  EXPECT_TRUE(std::isnan(sample.prefill_time_ms)) << "a mean of nothing";
  EXPECT_EQ(sample.prefill_seconds_count, 0);
  EXPECT_TRUE(sample.partial);

  EXPECT_EQ(sample.problems.count(), 4u);
  std::vector<std::pair<std::string, std::size_t>> listed;
  for (const PageProblem& problem : sample.problems.listed()) {
    listed.emplace_back(problem.series, problem.line);
    EXPECT_FALSE(problem.reason.empty());
  }
  EXPECT_EQ(listed, (std::vector<std::pair<std::string, std::size_t>>{
                        {"vllm:num_requests_running", 2},
                        {"vllm:num_requests_waiting", 3},
                        {"vllm:kv_cache_usage_perc", 5},
                        {"vllm:generation_tokens_total", 7}}));
}

TEST(VllmSignals, ReadsTheOpenMetricsDialect) {
  const EngineSample sample = read_vllm(read_page_file("openmetrics.om"));
  EXPECT_EQ(sample.running, 4) << "nothing after # EOF counts";
  EXPECT_EQ(sample.generated_tokens_total, 120) << "an exemplar and _created are not tokens";
  EXPECT_DOUBLE_EQ(sample.prefill_time_ms, 250);
  // Its model label is spelled "model.name" there, so the series is the pod's own.
  EXPECT_EQ(sample.waiting, 2);
  EXPECT_FALSE(sample.partial);
  EXPECT_EQ(sample.problems.count(), 0u);
}

TEST(VllmSignals, ReadsCrlfWithoutALastNewline) {
  const EngineSample sample = read_vllm(read_page_file("crlf_no_last_newline.prom"));
  EXPECT_EQ(sample.running, 4);
  EXPECT_EQ(sample.waiting, 2);
  EXPECT_EQ(sample.problems.count(), 0u);
}

TEST(VllmSignals, SumsCountsAndTakesTheFullestRank) {
  const EngineSample sample = read_vllm(
      "vllm:num_requests_running{engine=\"0\",model_name=\"m-small\"} 3\n"
      "vllm:num_requests_running{engine=\"1\",model_name=\"m-small\"} 4\n"
      "vllm:num_requests_waiting{engine=\"0\",model_name=\"m-small\"} 5\n"
      "vllm:num_requests_waiting{engine=\"1\",model_name=\"m-small\"} 0\n"
      "vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"m-small\"} 0.75\n"
      "vllm:kv_cache_usage_perc{engine=\"1\",model_name=\"m-small\"} 0.25\n"
      "vllm:generation_tokens_total{engine=\"0\",model_name=\"m-small\"} 100\n"
      "vllm:generation_tokens_total{engine=\"1\",model_name=\"m-small\"} 200\n"
      "vllm:request_prefill_time_seconds_sum{engine=\"0\",model_name=\"m-small\"} 1\n"
      "vllm:request_prefill_time_seconds_sum{engine=\"1\",model_name=\"m-small\"} 5\n"
      "vllm:request_prefill_time_seconds_count{engine=\"1\",model_name=\"m-small\"} 2\n"
      "vllm:request_prefill_time_seconds_count{engine=\"0\",model_name=\"m-small\"} 1\n"
      "vllm:cache_config_info{engine=\"0\",block_size=\"16\",num_gpu_blocks=\"1000\"} 1\n"
      "vllm:cache_config_info{engine=\"1\",block_size=\"16\",num_gpu_blocks=\"900\"} 1\n");
  EXPECT_EQ(sample.running, 7);
  EXPECT_EQ(sample.waiting, 5);
  EXPECT_EQ(sample.kv_usage, 0.75);
  EXPECT_EQ(sample.generated_tokens_total, 300);
  EXPECT_DOUBLE_EQ(sample.prefill_time_ms, 2000);
  EXPECT_EQ(sample.kv_blocks, 1900);
  EXPECT_EQ(sample.kv_block_tokens, 16);
  EXPECT_FALSE(sample.partial);
}

TEST(VllmSignals, AnEngineThatIsStillStartingHasNoBlocks) {
  const EngineSample sample = read_vllm(
      "vllm:cache_config_info{engine=\"0\",block_size=\"16\",num_gpu_blocks=\"None\"} 1\n");
  EXPECT_TRUE(std::isnan(sample.kv_blocks));
  EXPECT_EQ(sample.kv_block_tokens, 16);
  EXPECT_EQ(sample.problems.count(), 1u);
}

TEST(VllmSignals, TheOldNameCountsWhereTheNewOneTellsNothing) {
  EXPECT_EQ(read_vllm("vllm:gpu_cache_usage_perc{model_name=\"m-small\"} 0.5\n").kv_usage, 0.5);
  EXPECT_EQ(read_vllm("vllm:gpu_cache_usage_perc{model_name=\"m-small\"} 0.5\n"
                      "vllm:kv_cache_usage_perc{model_name=\"m-small\"} 0.25\n")
                .kv_usage,
            0.25);
  EXPECT_EQ(read_vllm("vllm:gpu_cache_usage_perc{model_name=\"m-small\"} 0.5\n"
                      "vllm:kv_cache_usage_perc{model_name=\"m-small\"} NaN\n")
                .kv_usage,
            0.5);
}

}  // namespace
}  // namespace pd
