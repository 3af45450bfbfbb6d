// prefix_cache: (100 - match percent) * 0.1 + requests / max(requests of all, 1).
#include <gtest/gtest.h>

#include "built_plugin.h"

namespace pd::test {
namespace {

TEST(PrefillPrefixCache, IsOnePolicyThatUsesThePrefix) {
  const BuiltPrefillPolicy policy("prefill_prefix_cache");
  EXPECT_EQ(policy.plugin().registrar.prefill.size(), 1u);
  EXPECT_TRUE(policy.plugin().registrar.decode.empty());
  EXPECT_STREQ(policy.table().policy->name, "prefix_cache");
  EXPECT_EQ(policy.table().policy->uses, PD_USES_PREFIX);
}

// Row 55 of the reference: nothing cached, the second pod has 5 requests.
TEST(PrefillPrefixCache, PrefersTheIdlePodWhenNothingIsCached) {
  BuiltPrefillPolicy policy("prefill_prefix_cache");
  const std::vector<double> scores = policy.score({{0, 0}, {5, 0}});
  EXPECT_TRUE(same_score(scores[0], 10));
  EXPECT_TRUE(same_score(scores[1], 11));
}

TEST(PrefillPrefixCache, GivesTheScoresWorkedOutByHand) {
  BuiltPrefillPolicy policy("prefill_prefix_cache");
  const std::vector<double> scores = policy.score({{8, 100}, {2, 75}, {0, 33}, {0, 100}});
  EXPECT_TRUE(same_score(scores[0], 1));
  EXPECT_TRUE(same_score(scores[1], 2.75));
  EXPECT_TRUE(same_score(scores[2], 6.7));
  EXPECT_TRUE(same_score(scores[3], 0)) << "the best there is";
}

TEST(PrefillPrefixCache, RecordsTheBlocksOfThePrompt) {
  BuiltPrefillPolicy policy("prefill_prefix_cache");
  policy.score({{0, 0}});
  EXPECT_EQ(policy.recorded, (std::vector<std::uint64_t>{11, 22, 33}));
}

TEST(PrefillPrefixCache, NeverMakesANumberOutOfAnUnknown) {
  BuiltPrefillPolicy policy("prefill_prefix_cache");
  const std::vector<double> scores = policy.score({{1, kNan}, {kNan, 50}});
  EXPECT_TRUE(std::isnan(scores[0]));
  EXPECT_TRUE(std::isnan(scores[1]));
}

TEST(PrefillPrefixCache, AgreesWithTheFormulaOnAnyNumbers) {
  BuiltPrefillPolicy policy("prefill_prefix_cache");
  Numbers numbers;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<PrefillPod> pods(numbers.pod_count());
    double most = 1;
    for (PrefillPod& pod : pods) {
      pod = {numbers.known(), numbers.whole_percent()};
      if (pod.requests > most) most = pod.requests;
    }
    const std::vector<double> scores = policy.score(pods, numbers.bytes());
    for (std::size_t i = 0; i < pods.size(); ++i) {
      const double expected = (100 - pods[i].match_percent) * 0.1 + pods[i].requests / most;
      EXPECT_TRUE(same_score(scores[i], expected)) << "round " << round << ", pod " << i;
      EXPECT_GE(scores[i], 0);
      EXPECT_LE(scores[i], 11);
    }
  }
}

}  // namespace
}  // namespace pd::test
