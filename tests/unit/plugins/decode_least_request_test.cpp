// least_request for decode: the number of active requests, as it is.
#include <gtest/gtest.h>

#include "built_plugin.h"

namespace pd::test {
namespace {

TEST(DecodeLeastRequest, IsOnePolicyThatNeedsNothingMore) {
  const BuiltDecodePolicy policy("decode_least_request");
  EXPECT_EQ(policy.plugin().registrar.decode.size(), 1u);
  EXPECT_TRUE(policy.plugin().registrar.prefill.empty());
  EXPECT_STREQ(policy.table().policy->name, "least_request");
  EXPECT_EQ(policy.table().policy->uses, 0u);
  EXPECT_EQ(policy.table().policy->option_count, 0u);
}

// Row 87 of the reference: 3 and 7 requests.
TEST(DecodeLeastRequest, ScoresByTheCountAlone) {
  const BuiltDecodePolicy policy("decode_least_request");
  EXPECT_EQ(policy.score({{3, 0, 100}, {7, 500, 0.1}, {0, 1, 50}}), (std::vector<double>{3, 7, 0}));
}

TEST(DecodeLeastRequest, NeverMakesANumberOutOfAnUnknown) {
  const BuiltDecodePolicy policy("decode_least_request");
  EXPECT_TRUE(std::isnan(policy.score({{kNan, 10, 50}}, {3, 20, 50})[0]));
}

TEST(DecodeLeastRequest, GivesTheCountOnAnyNumbers) {
  const BuiltDecodePolicy policy("decode_least_request");
  Numbers numbers;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<DecodePod> pods(numbers.pod_count());
    std::vector<double> counts;
    for (DecodePod& pod : pods) {
      pod = {numbers.known(), numbers.known_or_nan(), numbers.free_percent()};
      counts.push_back(pod.running);
    }
    EXPECT_EQ(policy.score(pods, {1, 1, 1}), counts) << "round " << round;
  }
}

}  // namespace
}  // namespace pd::test
