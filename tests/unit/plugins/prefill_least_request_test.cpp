// least_request for prefill: the number of requests in prefill, as it is.
#include <gtest/gtest.h>

#include "built_plugin.h"

namespace pd::test {
namespace {

TEST(PrefillLeastRequest, IsOnePolicyThatNeedsNothingMore) {
  const BuiltPrefillPolicy policy("prefill_least_request");
  EXPECT_EQ(policy.plugin().registrar.prefill.size(), 1u);
  EXPECT_TRUE(policy.plugin().registrar.decode.empty());
  EXPECT_STREQ(policy.table().policy->name, "least_request");
  EXPECT_EQ(policy.table().policy->uses, 0u);
}

// Row 62 of the reference: 3 and 7 requests.
TEST(PrefillLeastRequest, ScoresByTheCountAloneAndRecordsNothing) {
  BuiltPrefillPolicy policy("prefill_least_request");
  EXPECT_EQ(policy.score({{3, 100}, {7, 0}, {0, 50}}), (std::vector<double>{3, 7, 0}));
  EXPECT_TRUE(policy.recorded.empty());
  EXPECT_EQ(policy.table().prefix_hashes, nullptr);
}

TEST(PrefillLeastRequest, NeverMakesANumberOutOfAnUnknown) {
  BuiltPrefillPolicy policy("prefill_least_request");
  EXPECT_TRUE(std::isnan(policy.score({{kNan, 0}})[0]));
}

TEST(PrefillLeastRequest, GivesTheCountOnAnyNumbers) {
  BuiltPrefillPolicy policy("prefill_least_request");
  Numbers numbers;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<PrefillPod> pods(numbers.pod_count());
    std::vector<double> counts;
    for (PrefillPod& pod : pods) {
      pod = {numbers.known(), numbers.whole_percent(), numbers.known_or_nan()};
      counts.push_back(pod.requests);
    }
    EXPECT_EQ(policy.score(pods, numbers.bytes()), counts) << "round " << round;
  }
}

}  // namespace
}  // namespace pd::test
