// The prefill side of Router::select. RowNN is the row of the parity table.
#include "framework/select/router.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/select/router_fixture.h"

namespace pd {
namespace {

using test::decode_pod;
using test::PodState;
using test::prefill_pod;
using test::RouterTest;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// ---- 7.5 Prefill scoring ----------------------------------------------------------------------

TEST_F(RouterTest, Row53_PrefixCacheGivesEveryRolesetAnEntryAndHashes) {
  choice_.prefill = "prefix_cache";
  set_fleet(
      with_decode({prefill_pod("p1", "rs1"), prefill_pod("p2", "rs1"), prefill_pod("p3", "rs2")}));
  ASSERT_TRUE(select());
  EXPECT_EQ(scratch_.finals.size(), 2u);
  for (const double final_score : scratch_.finals) EXPECT_FALSE(std::isnan(final_score));
  EXPECT_GE(scratch_.prefill.max_score, 0);
  EXPECT_EQ(context_.block_hashes.size(), 2u);  // 11 bytes, blocks of 4
}

TEST_F(RouterTest, Row54_ThePodWithThePrefixWins) {
  settings_.prefill_stddev_factor = 100;
  choice_.prefill = "prefix_cache";
  set_fleet(with_decode(
      {prefill_pod("pod1", "rs1", 2), prefill_pod("pod2", "rs1"), prefill_pod("pod3", "rs2")}));
  record_prefix("pod1", "hello world");
  EXPECT_EQ(selected(), "pod1 d-rs1 scores");
  EXPECT_EQ(prefill_score("pod1"), 1);   // (100 - 100) * 0.1 + 2 / 2
  EXPECT_EQ(prefill_score("pod2"), 10);  // nothing matched
  EXPECT_EQ(scratch_.prefill.match_percent[row(scratch_.prefill, "pod1")], 100);
}

TEST_F(RouterTest, Row55_WithoutAPrefixTheLoadDecides) {
  choice_.prefill = "prefix_cache";
  set_fleet(with_decode({prefill_pod("pod1"), prefill_pod("pod2", "rs1", 5)}));
  EXPECT_EQ(selected(), "pod1 d-rs1 scores");
  EXPECT_EQ(prefill_score("pod1"), 10);
  EXPECT_EQ(prefill_score("pod2"), 11);
}

TEST_F(RouterTest, Row57_OneWinnerPerRoleset) {
  choice_.prefill = "prefix_cache";
  set_fleet(with_decode(
      {prefill_pod("p1", "rs1", 1), prefill_pod("p2", "rs1"), prefill_pod("p3", "rs2")}));
  ASSERT_TRUE(select());
  ASSERT_EQ(scratch_.prefill.picks.size(), 2u);
  std::vector<std::string> winners;
  for (const auto& pick : scratch_.prefill.picks) {
    winners.push_back(scratch_.prefill.pods[pick.row]->spec.name);
  }
  EXPECT_THAT(winners, ::testing::UnorderedElementsAre("p2", "p3"));
}

TEST_F(RouterTest, Row60_LeastRequestPrefersTheIdlePod) {
  set_fleet(with_decode({prefill_pod("p1", "rs1", 5), prefill_pod("p2")}));
  EXPECT_EQ(selected(), "p2 d-rs1 scores");
}

TEST_F(RouterTest, Row61_LeastRequestInEachRoleset) {
  set_fleet(with_decode({prefill_pod("pod1", "rs1"), prefill_pod("pod2", "rs1", 3),
                         prefill_pod("pod3", "rs2", 1), prefill_pod("pod4", "rs2")}));
  ASSERT_TRUE(select());
  std::vector<std::string> winners;
  for (const auto& pick : scratch_.prefill.picks) {
    winners.push_back(scratch_.prefill.pods[pick.row]->spec.name);
  }
  EXPECT_THAT(winners, ::testing::UnorderedElementsAre("pod1", "pod4"));
}

TEST_F(RouterTest, Row62_LeastRequestScoresAreCounts) {
  settings_.prefill_stddev_factor = 100;
  set_fleet(with_decode({prefill_pod("p1", "rs1", 3), prefill_pod("p2", "rs2", 7)}));
  ASSERT_TRUE(select());
  EXPECT_EQ(prefill_score("p1"), 3);
  EXPECT_EQ(prefill_score("p2"), 7);
  EXPECT_EQ(scratch_.prefill.max_score, 7);
}

TEST_F(RouterTest, Row63_LeastRequestRecordsNoHashes) {
  choice_.decode = "load_balancing";
  set_fleet({prefill_pod("p1"), decode_pod("d1")});
  EXPECT_EQ(selected(), "p1 d1 scores");
  EXPECT_TRUE(context_.block_hashes.empty());
}

TEST_F(RouterTest, OverloadFilterUsesTheSampleDeviation) {
  // One outlier among n idle pods is above mean + sd from three pods on, never with two.
  set_fleet(with_decode({prefill_pod("p1", "rs1", 5), prefill_pod("p2")}));
  ASSERT_TRUE(select());
  EXPECT_EQ(prefill_drop("p1"), Drop::kNone);
  set_fleet(with_decode({prefill_pod("p1", "rs1", 5), prefill_pod("p2"), prefill_pod("p3")}));
  ASSERT_TRUE(select());
  EXPECT_EQ(prefill_drop("p1"), Drop::kOverload);
  EXPECT_TRUE(std::isnan(prefill_score("p1")));
}

TEST_F(RouterTest, OverloadFilterAtFactorTwoNeedsSixPods) {
  settings_.prefill_stddev_factor = 2;
  std::vector<PodState> pods = {prefill_pod("p0", "rs1", 5)};
  for (int others = 1; others <= 6; ++others) {
    pods.push_back(prefill_pod("p" + std::to_string(others)));
    set_fleet(with_decode(pods));
    ASSERT_TRUE(select());
    EXPECT_EQ(prefill_drop("p0"), others >= 5 ? Drop::kOverload : Drop::kNone) << others;
  }
}

TEST_F(RouterTest, DroppedPodsStillSetThePrefillMaximum) {
  choice_.prefill = "prefix_cache";
  set_fleet(with_decode({prefill_pod("p1", "rs1", 8), prefill_pod("p2", "rs1", 2),
                         prefill_pod("p3", "rs1", 2), prefill_pod("p4", "rs1", 2)}));
  ASSERT_TRUE(select());
  EXPECT_EQ(prefill_drop("p1"), Drop::kOverload);
  EXPECT_EQ(prefill_score("p2"), 10.25);
}

// ---- 7.6 Prefill imbalance --------------------------------------------------------------------

TEST_F(RouterTest, Row69_Row70_Row73_NoImbalance) {
  for (const auto& counts :
       std::vector<std::vector<std::uint32_t>>{{5, 5, 5}, {10, 15, 20}, {10}, {0, 16}}) {
    std::vector<PodState> pods;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      pods.push_back(prefill_pod("pod" + std::to_string(i + 1), "rs1", counts[i]));
    }
    set_fleet(with_decode(pods));
    EXPECT_EQ(selected(), "pod1 d-rs1 scores");
  }
}

TEST_F(RouterTest, Row69_EqualCountsAreDrawn) {
  set_fleet(with_decode({prefill_pod("pod1", "rs1", 5), prefill_pod("pod2", "rs1", 5),
                         prefill_pod("pod3", "rs1", 5)}));
  const auto counts = outcomes(60);
  EXPECT_EQ(counts.size(), 3u);
}

TEST_F(RouterTest, Row71_TheLeastLoadedIsTaken) {
  set_fleet(with_decode({prefill_pod("pod1", "rs1", 5), prefill_pod("pod2", "rs1", 40),
                         prefill_pod("pod3", "rs1", 45)}));
  EXPECT_EQ(selected(), "pod1 d-rs1 prefill_imbalance");
  EXPECT_EQ(prefill_drop("pod2"), Drop::kImbalance);
}

TEST_F(RouterTest, Row74_TwoPods) {
  set_fleet(with_decode({prefill_pod("pod1"), prefill_pod("pod2", "rs1", 50)}));
  EXPECT_EQ(selected(), "pod1 d-rs1 prefill_imbalance");
}

TEST_F(RouterTest, PrefillImbalanceIsStrictAndConfigured) {
  settings_.prefill_min_spread = 3;
  set_fleet(with_decode({prefill_pod("pod1"), prefill_pod("pod2", "rs1", 3)}));
  EXPECT_THAT(selected(), HasSubstr("scores"));
  set_fleet(with_decode({prefill_pod("pod1"), prefill_pod("pod2", "rs1", 4)}));
  EXPECT_EQ(selected(), "pod1 d-rs1 prefill_imbalance");
}

TEST_F(RouterTest, PrefillImbalanceKeepsTheDecodesOfItsRoleset) {
  set_fleet({prefill_pod("p1", "rs1"), decode_pod("d1", "rs1", 9), prefill_pod("p2", "rs2", 50),
             decode_pod("d2", "rs2", 0)});
  EXPECT_EQ(selected(), "p1 d1 prefill_imbalance");
  EXPECT_EQ(decode_drop("d2"), Drop::kImbalance);
}

TEST_F(RouterTest, PrefillImbalanceDrawsAmongTheLeastLoadedOfAllRolesets) {
  set_fleet(with_decode({prefill_pod("p1", "rs1"), prefill_pod("p2", "rs2"),
                         prefill_pod("p3", "rs2"), prefill_pod("p4", "rs1", 20)}));
  const auto counts = outcomes(300);
  ASSERT_EQ(counts.size(), 3u);
  for (const auto& [outcome, times] : counts) {
    EXPECT_THAT(outcome, HasSubstr("prefill_imbalance"));
    EXPECT_THAT(outcome, Not(StartsWith("p4")));
    EXPECT_GT(times, 60) << outcome;
  }
}

TEST_F(RouterTest, PrefillImbalanceStillRecordsThePrefix) {
  choice_.prefill = "prefix_cache";
  set_fleet(with_decode({prefill_pod("pod1"), prefill_pod("pod2", "rs1", 50)}));
  EXPECT_EQ(selected(), "pod1 d-rs1 prefill_imbalance");
  EXPECT_EQ(context_.block_hashes.size(), 2u);
}

// ---- The prefix index -------------------------------------------------------------------------

TEST_F(RouterTest, TheLongerPrefixWins) {
  choice_.prefill = "prefix_cache";
  set_prompt("aaaabbbbccccdddd");
  set_fleet(with_decode({prefill_pod("p1"), prefill_pod("p2"), prefill_pod("p3")}));
  record_prefix("p1", "aaaabbbb");
  record_prefix("p2", "aaaabbbbcccc");
  record_prefix("p3", "bbbbccccdddd");
  EXPECT_EQ(selected(), "p2 d-rs1 scores");
  EXPECT_EQ(scratch_.prefill.match_percent[row(scratch_.prefill, "p1")], 50);
  EXPECT_EQ(scratch_.prefill.match_percent[row(scratch_.prefill, "p2")], 75);
  EXPECT_EQ(scratch_.prefill.match_percent[row(scratch_.prefill, "p3")], 0);
  EXPECT_EQ(prefill_score("p2"), 2.5);
}

TEST_F(RouterTest, MatchPercentIsRoundedDown) {
  choice_.prefill = "prefix_cache";
  set_prompt("aaaabbbbcccc");
  set_fleet(with_decode({prefill_pod("p1")}));
  record_prefix("p1", "aaaabbbb");
  ASSERT_TRUE(select());
  EXPECT_EQ(scratch_.prefill.match_percent[0], 66);
}

TEST_F(RouterTest, PrefixesOfOtherModelsAndSaltsDoNotMatch) {
  choice_.prefill = "prefix_cache";
  set_fleet(with_decode({prefill_pod("p1", "rs1", 1), prefill_pod("p2")}));
  record_prefix("p1", "hello world", "other");
  EXPECT_EQ(selected(), "p2 d-rs1 scores");
  set_body(R"({"model":"m","cache_salt":"s","messages":[{"content":"hello world"}]})");
  record_prefix("p1", "hello world", "m");
  EXPECT_EQ(selected(), "p2 d-rs1 scores");
  record_prefix("p1", "hello world", "m", "\"s\"");
  EXPECT_EQ(selected(), "p1 d-rs1 scores");
}

TEST_F(RouterTest, WithoutAnIndexNothingMatches) {
  choice_.prefill = "prefix_cache";
  set_fleet(with_decode({prefill_pod("p1", "rs1", 1), prefill_pod("p2")}));
  record_prefix("p1", "hello world");
  index_.reset();
  EXPECT_EQ(selected(), "p2 d-rs1 scores");
  EXPECT_EQ(context_.block_hashes.size(), 2u);
}

TEST_F(RouterTest, BlockHashesAreThoseOfTheExtractedPrompt) {
  choice_.prefill = "prefix_cache";
  set_body(
      R"({"messages":[{"content":"a\u0062cd"},{"content":null},{"content":"ef"}],"model":"m"})");
  set_fleet({prefill_pod("p1"), decode_pod("d1")});
  ASSERT_TRUE(select());
  const std::string prompt = "abcd null ef";
  std::vector<std::uint64_t> expected;
  hash_prefix(std::as_bytes(std::span(prompt.data(), prompt.size())), 4, 0, expected);
  EXPECT_EQ(context_.block_hashes, expected);
  EXPECT_EQ(context_.prompt_bytes, prompt.size());
}

TEST_F(RouterTest, AnEmptyPromptHasNoBlocks) {
  choice_.prefill = "prefix_cache";
  set_body(R"({"messages":[{}],"model":"m"})");
  set_fleet({prefill_pod("p1"), decode_pod("d1")});
  EXPECT_EQ(selected(), "p1 d1 scores");
  EXPECT_TRUE(context_.block_hashes.empty());
  EXPECT_EQ(prefill_score("p1"), 10);
}

TEST_F(RouterTest, Row68_ConductorReckonsWithBytes) {
  choice_.prefill = "conductor";
  set_prompt("aaaabbbbcccc");
  auto p1 = prefill_pod("p1", "rs1", 2);
  p1.prefill_time_ms = 30;
  auto p2 = prefill_pod("p2", "rs1", 1);
  set_fleet(with_decode({p1, p2}));
  record_prefix("p1", "aaaabbbb");
  ASSERT_TRUE(select());
  // 66 % of 12 bytes are matched: 7.92
  const double matched = 66 * 12 / 100.0;
  EXPECT_DOUBLE_EQ(prefill_score("p1"),
                   2 * 30 + 0.005 * matched + 1.0 + 0.001 * std::pow(12 - matched, 1.5) + 5.0);
  EXPECT_DOUBLE_EQ(prefill_score("p2"),
                   0.001 * std::pow(512.0, 1.5) + 5.0 + 0.001 * std::pow(12.0, 1.5) + 5.0);
  EXPECT_EQ(context_.block_hashes.size(), 3u);
}

}  // namespace
}  // namespace pd
