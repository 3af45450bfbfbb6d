// conductor for decode: (t > 0 ? 1000/t : 20) * (1 + 1/max(r, 1)) * (1 - free/100 > 0.9 ? 1.5 : 1).
#include <gtest/gtest.h>

#include "built_plugin.h"

namespace pd::test {
namespace {

TEST(DecodeConductor, IsOnePolicyThatNeedsNothingMore) {
  const BuiltDecodePolicy policy("decode_conductor");
  EXPECT_EQ(policy.plugin().registrar.decode.size(), 1u);
  EXPECT_TRUE(policy.plugin().registrar.prefill.empty());
  EXPECT_STREQ(policy.table().policy->name, "conductor");
  EXPECT_EQ(policy.table().policy->uses, 0u);
}

TEST(DecodeConductor, GivesTheScoresWorkedOutByHand) {
  const BuiltDecodePolicy policy("decode_conductor");
  const std::vector<double> scores = policy.score({
      {4, 100, 50},     // 10 ms * 1.25
      {0, 200, 50},     // 5 ms * 2: at least one request
      {2, 0, 50},       // 20 ms when the rate is not known, * 1.5
      {4, 100, 5},      // 10 ms * 1.25, and 95 % of the cache in use
      {1, 0.5, 100},    // 2,000 ms * 2
      {0.5, 1000, 80},  // 1 ms * 2: half a request counts as one
  });
  EXPECT_TRUE(same_score(scores[0], 12.5));
  EXPECT_TRUE(same_score(scores[1], 10));
  EXPECT_TRUE(same_score(scores[2], 30));
  EXPECT_TRUE(same_score(scores[3], 18.75));
  EXPECT_TRUE(same_score(scores[4], 4000));
  EXPECT_TRUE(same_score(scores[5], 2));
}

TEST(DecodeConductor, PunishesAboveNineTenthsOnly) {
  const BuiltDecodePolicy policy("decode_conductor");
  const std::vector<double> scores = policy.score({{1, 100, 10.5}, {1, 100, 9.5}, {1, 100, 0.1}});
  EXPECT_TRUE(same_score(scores[0], 20));
  EXPECT_TRUE(same_score(scores[1], 30));
  EXPECT_TRUE(same_score(scores[2], 30));
}

TEST(DecodeConductor, TakesAnUnknownRateForTheModelValue) {
  const BuiltDecodePolicy policy("decode_conductor");
  const std::vector<double> scores = policy.score({{1, kNan, 50}, {1, 0, 50}}, {1, 1, 50});
  EXPECT_TRUE(same_score(scores[0], 40));
  EXPECT_TRUE(same_score(scores[1], 40));
}

TEST(DecodeConductor, AgreesWithTheFormulaOnAnyNumbers) {
  const BuiltDecodePolicy policy("decode_conductor");
  Numbers numbers;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<DecodePod> pods(numbers.pod_count());
    for (DecodePod& pod : pods) {
      pod = {numbers.known(), numbers.known_or_nan(), numbers.free_percent()};
    }
    const std::vector<double> scores = policy.score(pods, {1, 1, 1});
    for (std::size_t i = 0; i < pods.size(); ++i) {
      const double per_token_ms = pods[i].throughput > 0 ? 1000 / pods[i].throughput : 20;
      const double sharing = 1 + 1 / (pods[i].running > 1 ? pods[i].running : 1);
      const double pressure = 1 - pods[i].free_percent / 100 > 0.9 ? 1.5 : 1;
      EXPECT_TRUE(same_score(scores[i], per_token_ms * sharing * pressure))
          << "round " << round << ", pod " << i;
    }
  }
}

}  // namespace
}  // namespace pd::test
