// conductor for prefill: requests * mean prefill time
//   + (matched > 0 ? 0.005 * matched + 1 : 0)
//   + (unmatched > 0 ? 0.001 * unmatched^1.5 + 5 : 0), sizes in bytes of tokenizer output.
// A mean that is not known counts as 0.001 * 512^1.5 + 5 = 16.585237502960395 ms.
#include <gtest/gtest.h>

#include "built_plugin.h"

namespace pd::test {
namespace {

constexpr double kUnknownMeanMs = 16.585237502960395;

TEST(PrefillConductor, IsOnePolicyThatUsesPrefixAndPrefillTime) {
  const BuiltPrefillPolicy policy("prefill_conductor");
  EXPECT_EQ(policy.plugin().registrar.prefill.size(), 1u);
  EXPECT_TRUE(policy.plugin().registrar.decode.empty());
  EXPECT_STREQ(policy.table().policy->name, "conductor");
  EXPECT_EQ(policy.table().policy->uses, PD_USES_PREFIX | PD_USES_PREFILL_TIME);
}

TEST(PrefillConductor, GivesTheScoresWorkedOutByHand) {
  BuiltPrefillPolicy policy("prefill_conductor");
  const std::vector<double> scores = policy.score(
      {
          {2, 25, 10},  // 20 + (0.5 + 1) + (0.001 * 300^1.5 + 5); 300^1.5 = 3000 * sqrt(3)
          {0, 0, 10},   // 0 + 0 + (0.001 * 8000 + 5); 400^1.5 = 20^3
          {3, 100, 7},  // 21 + (2 + 1) + 0
          {0, 75, 99},  // 0 + (1.5 + 1) + (0.001 * 1000 + 5); 100^1.5 = 10^3
      },
      400);
  EXPECT_TRUE(same_score(scores[0], 26.5 + 3 * std::sqrt(3.0)));
  EXPECT_TRUE(same_score(scores[1], 13));
  EXPECT_TRUE(same_score(scores[2], 24));
  EXPECT_TRUE(same_score(scores[3], 8.5));
}

TEST(PrefillConductor, TakesAnUnknownMeanForTheModelValue) {
  BuiltPrefillPolicy policy("prefill_conductor");
  const std::vector<double> scores = policy.score({{2, 100, kNan}, {0, 100, kNan}}, 200);
  EXPECT_TRUE(same_score(scores[0], 2 * kUnknownMeanMs + 2));
  EXPECT_TRUE(same_score(scores[1], 2));
}

TEST(PrefillConductor, CountsOnlyTheQueueForAnEmptyPrompt) {
  BuiltPrefillPolicy policy("prefill_conductor");
  const std::vector<double> scores = policy.score({{4, 0, 2.5}, {0, 0, kNan}}, 0);
  EXPECT_TRUE(same_score(scores[0], 10));
  EXPECT_TRUE(same_score(scores[1], 0));
}

TEST(PrefillConductor, RecordsTheBlocksOfThePrompt) {
  BuiltPrefillPolicy policy("prefill_conductor");
  policy.score({{0, 0, 1}}, 100);
  EXPECT_EQ(policy.recorded, (std::vector<std::uint64_t>{11, 22, 33}));
}

TEST(PrefillConductor, NeverMakesANumberOutOfAnUnknownCount) {
  BuiltPrefillPolicy policy("prefill_conductor");
  EXPECT_TRUE(std::isnan(policy.score({{kNan, 0, 1}}, 100)[0]));
}

TEST(PrefillConductor, AgreesWithTheFormulaOnAnyNumbers) {
  BuiltPrefillPolicy policy("prefill_conductor");
  Numbers numbers;
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t prompt_bytes = numbers.bytes();
    std::vector<PrefillPod> pods(numbers.pod_count());
    for (PrefillPod& pod : pods) {
      pod = {numbers.known(), numbers.whole_percent(), numbers.known_or_nan()};
      if (pod.prefill_time_ms == 0) pod.prefill_time_ms = 1;  // no prefill takes no time
    }
    const std::vector<double> scores = policy.score(pods, prompt_bytes);
    for (std::size_t i = 0; i < pods.size(); ++i) {
      const PrefillPod& pod = pods[i];
      const double matched = pod.match_percent * static_cast<double>(prompt_bytes) / 100;
      const double unmatched = static_cast<double>(prompt_bytes) - matched;
      double expected =
          pod.requests * (std::isnan(pod.prefill_time_ms) ? kUnknownMeanMs : pod.prefill_time_ms);
      if (matched > 0) expected += 0.005 * matched + 1;
      if (unmatched > 0) expected += 0.001 * unmatched * std::sqrt(unmatched) + 5;
      EXPECT_TRUE(same_score(scores[i], expected)) << "round " << round << ", pod " << i;
    }
  }
}

}  // namespace
}  // namespace pd::test
