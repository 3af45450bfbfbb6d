// load_balancing for decode: (wR * r/maxR + wT * (1 - t/maxT)) / (free/maxFree).
#include <gtest/gtest.h>

#include "built_plugin.h"

namespace pd::test {
namespace {

OptionValues weights(double running, double throughput) {
  return OptionValues().number(running).number(throughput);
}

TEST(DecodeLoadBalancing, IsOnePolicyWithTwoWeights) {
  const BuiltDecodePolicy policy("decode_load_balancing", weights(1, 1));
  EXPECT_EQ(policy.plugin().registrar.decode.size(), 1u);
  EXPECT_TRUE(policy.plugin().registrar.prefill.empty());
  const pd_policy& table = *policy.table().policy;
  EXPECT_STREQ(table.name, "load_balancing");
  EXPECT_EQ(table.uses, 0u) << "the batch has all that it needs";
  ASSERT_EQ(table.option_count, 2u);
  EXPECT_STREQ(table.options[0]->key, "weight_running");
  EXPECT_STREQ(table.options[1]->key, "weight_throughput");
  EXPECT_EQ(table.options[0]->default_float, 1.0);
  EXPECT_EQ(table.options[1]->default_float, 1.0);
}

// Row 76 of the reference: running 2, 40, 35; throughput 100, 120, 110; free 70, 20, 30.
TEST(DecodeLoadBalancing, GivesTheScoresWorkedOutByHand) {
  const BuiltDecodePolicy policy("decode_load_balancing", weights(1, 1));
  const std::vector<double> scores =
      policy.score({{2, 100, 70}, {40, 120, 20}, {35, 110, 30}}, {40, 120, 70});
  // 2/40 + 1 - 100/120 = 1/20 + 1/6 = 13/60; the free share is the largest
  EXPECT_TRUE(same_score(scores[0], 13.0 / 60));
  // (1 + 0) / (20/70)
  EXPECT_TRUE(same_score(scores[1], 3.5));
  // (7/8 + 1/12) / (3/7) = 23/24 * 7/3
  EXPECT_TRUE(same_score(scores[2], 161.0 / 72));
}

TEST(DecodeLoadBalancing, WeighsRunningAndThroughput) {
  const BuiltDecodePolicy policy("decode_load_balancing", weights(2, 0.5));
  const std::vector<double> scores =
      policy.score({{2, 100, 70}, {40, 120, 20}, {35, 110, 30}}, {40, 120, 70});
  EXPECT_TRUE(same_score(scores[0], 0.1 + 1.0 / 12));
  EXPECT_TRUE(same_score(scores[1], 7.0));
  EXPECT_TRUE(same_score(scores[2], (1.75 + 1.0 / 24) * 7 / 3));
}

// Row 80 of the reference: a pod without metrics has 0, 0, 100 and the maxima are 1, 1, 100.
TEST(DecodeLoadBalancing, ScoresAPodWithoutMetrics) {
  const BuiltDecodePolicy policy("decode_load_balancing", weights(1, 1));
  EXPECT_TRUE(same_score(policy.score({{0, 0, 100}}, {1, 1, 100})[0], 1.0));
}

TEST(DecodeLoadBalancing, GivesInfinityForAPodWithoutAnyRoom) {
  const BuiltDecodePolicy policy("decode_load_balancing", weights(1, 1));
  EXPECT_EQ(policy.score({{3, 10, 0}}, {3, 20, 50})[0], kInf);
}

TEST(DecodeLoadBalancing, NeverMakesANumberOutOfAnUnknown) {
  const BuiltDecodePolicy policy("decode_load_balancing", weights(1, 1));
  EXPECT_TRUE(std::isnan(policy.score({{kNan, 10, 50}}, {3, 20, 50})[0]));
  EXPECT_TRUE(std::isnan(policy.score({{1, kNan, 50}}, {3, 20, 50})[0]));
  EXPECT_TRUE(std::isnan(policy.score({{1, 10, kNan}}, {3, 20, 50})[0]));
}

TEST(DecodeLoadBalancing, AgreesWithTheFormulaOnAnyNumbers) {
  Numbers numbers;
  for (int round = 0; round < kRounds; ++round) {
    const double running_weight = numbers.weight();
    const double throughput_weight = numbers.weight();
    std::vector<DecodePod> pods(numbers.pod_count());
    for (DecodePod& pod : pods) {
      pod = {numbers.known(), numbers.known(), numbers.free_percent()};
    }
    const DecodeMaxima maxima = maxima_of(pods);
    const BuiltDecodePolicy policy("decode_load_balancing",
                                   weights(running_weight, throughput_weight));
    const std::vector<double> scores = policy.score(pods, maxima);
    for (std::size_t i = 0; i < pods.size(); ++i) {
      const double load = running_weight * (pods[i].running / maxima.running) +
                          throughput_weight * (1 - pods[i].throughput / maxima.throughput);
      EXPECT_TRUE(same_score(scores[i], load / (pods[i].free_percent / maxima.free_percent)))
          << "round " << round << ", pod " << i;
    }
  }
}

}  // namespace
}  // namespace pd::test
