#include "framework/load/signal_table.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/load/metrics_page_file.h"

namespace pd {
namespace {

// Another engine is another table and nothing else; these are SGLang's names.
constexpr SignalRule kRules[] = {
    {.series = "sglang:num_running_reqs", .column = &EngineSample::running},
    {.series = "sglang:num_queue_reqs", .column = &EngineSample::waiting},
    {.series = "sglang:token_usage",
     .column = &EngineSample::kv_usage,
     .ranks = RankRule::kHighest,
     .range = ValueRange::kShare},
    {.series = "sglang:gen_throughput", .column = &EngineSample::throughput},
    {.series = "sglang:tokens", .column = &EngineSample::generated_tokens_total},
    {.series = "sglang:prefill_sum", .column = &EngineSample::prefill_seconds_sum},
    {.series = "sglang:prefill_count", .column = &EngineSample::prefill_seconds_count},
    {.series = "sglang:cache_config_info",
     .number_label = "num_pages",
     .column = &EngineSample::kv_blocks,
     .range = ValueRange::kPositive}};
constexpr SignalTable kTable{.rules = kRules, .model_label = "model_name", .rank_label = "rank"};

EngineSample read(std::string_view page, const ModelScope& scope = {.model = "m", .of_pod = "m"}) {
  EngineSample sample;
  read_signals(kTable, page, scope, sample);
  return sample;
}

std::string running(const std::string& model, const std::string& value) {
  return "sglang:num_running_reqs{model_name=\"" + model + "\"} " + value + "\n";
}

TEST(SignalTable, OddValuesOfAnotherEngineCostThemselvesOnly) {
  const EngineSample sample =
      read(read_page_file("odd_values_sglang.prom"), {.model = "m-small", .of_pod = "m-small"});
  EXPECT_EQ(sample.running, 7);
  EXPECT_EQ(sample.waiting, 2);
  EXPECT_EQ(sample.kv_usage, 0.42);
  EXPECT_TRUE(std::isnan(sample.throughput)) << "Inf is no throughput";
  EXPECT_FALSE(sample.partial);
  ASSERT_EQ(sample.problems.listed().size(), 2u);
  EXPECT_EQ(sample.problems.listed()[0].series, "sglang:cache_hit_rate");
  EXPECT_EQ(sample.problems.listed()[1].series, "sglang:gen_throughput");
}

TEST(SignalTable, ComparesModelNamesWhole) {
  const std::string page = running("org/m", "1") + running("org/m-2", "2") + running("org", "4") +
                           running("m", "8") + running("q\\\"m", "16");
  const auto of = [&page](std::string_view model) {
    return read(page, {.model = model, .of_pod = model}).running;
  };
  EXPECT_EQ(of("org/m"), 1);
  EXPECT_EQ(of("org/m-2"), 2);
  EXPECT_EQ(of("org"), 4);
  EXPECT_EQ(of("m"), 8);
  EXPECT_EQ(of("q\"m"), 16);
  EXPECT_TRUE(std::isnan(of("org/")));
}

TEST(SignalTable, ASeriesWithoutAModelBelongsToThePodsOwn) {
  for (const std::string page :
       {"sglang:num_running_reqs 3\n", "sglang:num_running_reqs{rank=\"0\"} 3\n",
        "sglang:num_running_reqs{model_name=\"\"} 3\n",
        "sglang:num_running_reqs{model_name=\"undefined\"} 3\n"}) {
    EXPECT_EQ(read(page, {.model = "m", .of_pod = "m"}).running, 3) << page;
    EXPECT_TRUE(std::isnan(read(page, {.model = "adapter", .of_pod = "m"}).running)) << page;
  }
}

TEST(SignalTable, SaysSoWhenThePageIsAboutAnotherModel) {
  const EngineSample sample = read(running("served-name", "3"));
  EXPECT_TRUE(std::isnan(sample.running));
  ASSERT_EQ(sample.problems.listed().size(), 1u);
  EXPECT_EQ(sample.problems.listed()[0].series, "served-name");
  EXPECT_EQ(sample.problems.listed()[0].line, 0u);
  EXPECT_EQ(read(running("served-name", "3") + running("m", "4")).problems.count(), 0u);
}

TEST(SignalTable, KeepsToTheRanges) {
  for (const std::string value : {"-1", "-0.5", "NaN", "+Inf", "-Inf", "0x1", "nope"}) {
    const EngineSample sample = read(running("m", value));
    EXPECT_TRUE(std::isnan(sample.running)) << value;
    EXPECT_EQ(sample.problems.count(), 1u) << value;
    EXPECT_FALSE(sample.partial) << value << ": no rank was taken";
  }
  EXPECT_EQ(read(running("m", "0")).running, 0);

  const auto kv_usage = [](const std::string& value) {
    return read("sglang:token_usage " + value + "\n").kv_usage;
  };
  EXPECT_EQ(kv_usage("0"), 0);
  EXPECT_EQ(kv_usage("1"), 1);
  EXPECT_EQ(kv_usage("1.0000001"), 1);
  EXPECT_EQ(kv_usage("-1e-9"), 0);
  EXPECT_TRUE(std::isnan(kv_usage("1.01"))) << "a percentage, perhaps; not to be guessed";
  EXPECT_TRUE(std::isnan(kv_usage("87")));
  EXPECT_TRUE(std::isnan(kv_usage("-0.1")));

  for (const std::string blocks : {"0", "-4", "None", "", "NaN", "0x10"}) {
    const EngineSample sample = read("sglang:cache_config_info{num_pages=\"" + blocks + "\"} 1\n");
    EXPECT_TRUE(std::isnan(sample.kv_blocks)) << blocks;
    EXPECT_EQ(sample.problems.count(), 1u) << blocks;
  }
  EXPECT_EQ(read("sglang:cache_config_info{other=\"1\"} 1\n").problems.count(), 1u);
}

TEST(SignalTable, LeavesOutABadRankAndMarksIt) {
  const EngineSample sample = read(
      "sglang:num_running_reqs{rank=\"0\"} 3\n"
      "sglang:num_running_reqs{rank=\"1\"} bad\n"
      "sglang:num_running_reqs{rank=\"2\"} 5\n"
      "sglang:num_queue_reqs{rank=\"0\"} 1\n"
      "sglang:num_queue_reqs{rank=\"1} 1\n");
  EXPECT_EQ(sample.running, 8);
  EXPECT_EQ(sample.waiting, 1);
  EXPECT_TRUE(sample.partial);
  EXPECT_EQ(sample.problems.count(), 2u);
  EXPECT_FALSE(read(running("m", "1") + running("other", "NaN")).partial);
  EXPECT_FALSE(read(running("m", "1") + running("other", "bad")).partial);
}

TEST(SignalTable, ASumBeyondTheRangeOfADoubleStaysFinite) {
  const EngineSample sample = read(
      "sglang:tokens{rank=\"0\"} 1.7e308\n"
      "sglang:tokens{rank=\"1\"} 1.7e308\n");
  EXPECT_EQ(sample.generated_tokens_total, 1.7e308);
  EXPECT_TRUE(sample.partial);
}

TEST(SignalTable, TellsWhenATotalSumsOverOtherRanks) {
  const std::string rank0 = "sglang:tokens{rank=\"0\"} 10\n";
  const std::string rank1 = "sglang:tokens{rank=\"1\"} 20\n";
  const std::uint64_t both = read(rank0 + rank1).generated_tokens_sources;
  EXPECT_EQ(read(rank1 + rank0).generated_tokens_sources, both);
  EXPECT_EQ(read("sglang:tokens{rank=\"0\"} 11\n" + rank1).generated_tokens_sources, both);
  EXPECT_NE(read(rank0).generated_tokens_sources, both);
  EXPECT_NE(read(rank0 + "sglang:tokens{rank=\"1\"} NaN\n").generated_tokens_sources, both);
  EXPECT_NE(read(rank0).generated_tokens_sources, read(rank1).generated_tokens_sources);
}

TEST(SignalTable, AMeanNeedsSumAndCountOfTheSameRanks) {
  const std::string sums = "sglang:prefill_sum{rank=\"0\"} 2\nsglang:prefill_sum{rank=\"1\"} 4\n";
  EXPECT_DOUBLE_EQ(read(sums + "sglang:prefill_count{rank=\"0\"} 1\n"
                               "sglang:prefill_count{rank=\"1\"} 2\n")
                       .prefill_time_ms,
                   2000);
  const EngineSample uneven = read(sums +
                                   "sglang:prefill_count{rank=\"0\"} 1\n"
                                   "sglang:prefill_count{rank=\"1\"} NaN\n");
  EXPECT_TRUE(std::isnan(uneven.prefill_time_ms));
  EXPECT_EQ(uneven.problems.count(), 2u);
  EXPECT_TRUE(std::isnan(read(sums).prefill_time_ms));
  EXPECT_TRUE(
      std::isnan(read("sglang:prefill_sum 1e300\nsglang:prefill_count 1e-300\n").prefill_time_ms));
}

TEST(SignalTable, ForgetsTheSampleBefore) {
  EngineSample sample;
  read_signals(kTable, running("m", "3") + "broken{\n", {.model = "m", .of_pod = "m"}, sample);
  EXPECT_EQ(sample.running, 3);
  sample.drain_rate = 2;
  read_signals(kTable, "", {.model = "m", .of_pod = "m"}, sample);
  EXPECT_TRUE(std::isnan(sample.running));
  EXPECT_TRUE(std::isnan(sample.drain_rate));
  EXPECT_EQ(sample.problems.count(), 0u);
  EXPECT_TRUE(sample.problems.listed().empty());
}

TEST(PageProblems, CountsAllAndListsTheFirst) {
  std::string page;
  for (int i = 0; i < 1000; ++i) page += "series_" + std::to_string(i) + " bad\n";
  const EngineSample sample = read(page);
  EXPECT_EQ(sample.problems.count(), 1000u);
  ASSERT_EQ(sample.problems.listed().size(), PageProblems::kMaxListed);
  EXPECT_EQ(sample.problems.listed().front().series, "series_0");
  EXPECT_EQ(sample.problems.listed().back().line, PageProblems::kMaxListed);
}

TEST(PageProblems, ShowsNoBytesThatALogCouldTripOver) {
  PageProblems problems;
  problems.add("a\nb\x1b[31m\xff" + std::string(500, 'x'), 1, "reason");
  EXPECT_EQ(problems.listed()[0].series.substr(0, 10), "a?b?[31m?x");
  EXPECT_EQ(problems.listed()[0].series.size(), PageProblems::kMaxSeriesBytes);
}

}  // namespace
}  // namespace pd
