// The decode side of Router::select. RowNN is the row of the parity table.
#include "framework/select/router.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <ostream>

#include "tests/unit/select/router_fixture.h"

namespace pd {
namespace {

using test::decode_pod;
using test::kUnknown;
using test::PodState;
using test::prefill_pod;
using test::RouterTest;
using ::testing::HasSubstr;

// ---- 7.7 Decode imbalance ---------------------------------------------------------------------

struct DecodeCase {
  const char* name;
  std::vector<PodState> pods;
  const char* expected;  // "" where no fast path applies
  double max_requests, max_throughput, max_free;
  std::vector<double> free;
};

void PrintTo(const DecodeCase& decode_case, std::ostream* out) {
  *out << decode_case.name;
}

class DecodeImbalanceTest : public RouterTest, public ::testing::WithParamInterface<DecodeCase> {};

TEST_P(DecodeImbalanceTest, PicksAndSetsTheMaxima) {
  const auto& param = GetParam();
  set_fleet(with_prefill(param.pods));
  const std::string result = selected();
  if (*param.expected == '\0') {
    EXPECT_THAT(result, HasSubstr(" scores"));
  } else {
    EXPECT_EQ(result, std::string("p1 ") + param.expected);
  }
  EXPECT_EQ(scratch_.decode.max_requests, param.max_requests);
  EXPECT_EQ(scratch_.decode.max_throughput, param.max_throughput);
  EXPECT_EQ(scratch_.decode.max_free_gpu, param.max_free);
  for (std::size_t i = 0; i < param.pods.size(); ++i) {
    EXPECT_EQ(scratch_.decode.free_gpu_percent[row(scratch_.decode, param.pods[i].name)],
              param.free[i]);
  }
}

PodState drained(PodState pod, double rate) {
  pod.drain_rate = rate;
  return pod;
}

INSTANTIATE_TEST_SUITE_P(
    Rows, DecodeImbalanceTest,
    ::testing::Values(
        DecodeCase{"Row75",
                   {decode_pod("pod1", "rs1", 5, 100, .5), decode_pod("pod2", "rs1", 7, 120, .6)},
                   "",
                   7,
                   120,
                   50,
                   {50, 40}},
        DecodeCase{"Row76",
                   {decode_pod("pod1", "rs1", 2, 100, .3), decode_pod("pod2", "rs1", 40, 120, .8),
                    decode_pod("pod3", "rs1", 35, 110, .7)},
                   "pod1 decode_requests",
                   40,
                   120,
                   70,
                   {70, 20, 30}},
        DecodeCase{"Row78",
                   {decode_pod("pod1", "rs1", 10, 100, .4), decode_pod("pod2", "rs1", 12, 200, .5)},
                   "",
                   12,
                   200,
                   60,
                   {60, 50}},
        DecodeCase{"Row79",
                   {decode_pod("pod1", "rs1", 0, 100, .2), decode_pod("pod2", "rs1", 5, 120, .3)},
                   "",
                   5,
                   120,
                   80,
                   {80, 70}},
        DecodeCase{"Row80", {decode_pod("pod1")}, "", 1, 1, 100, {100}},
        DecodeCase{"Row81",
                   {decode_pod("pod1", "rs1", 5, 100, .95), decode_pod("pod2", "rs1", 7, 120, 1)},
                   "",
                   7,
                   120,
                   5,
                   {5, 0.1}},
        DecodeCase{"Row84",
                   {drained(decode_pod("pod1", "rs1", 8, 100, .3), 2),
                    decode_pod("pod2", "rs1", 6, 100, .5)},
                   "",
                   8,
                   100,
                   70,
                   {70, 50}}),
    [](const auto& test_case) { return test_case.param.name; });

TEST_F(RouterTest, DecodeRequestSpreadIsInclusive) {
  set_fleet(with_prefill({decode_pod("d1", "rs1", 0), decode_pod("d2", "rs1", 15)}));
  EXPECT_EQ(selected(), "p1 d1 scores");
  set_fleet(with_prefill({decode_pod("d1", "rs1", 0), decode_pod("d2", "rs1", 16)}));
  EXPECT_EQ(selected(), "p1 d1 decode_requests");
}

TEST_F(RouterTest, DecodeRequestSpreadCountsPendingOnes) {
  auto d1 = decode_pod("d1", "rs1", 3), d2 = decode_pod("d2", "rs1", 10);
  d1.pending = 23;
  set_fleet(with_prefill({d1, d2}));
  EXPECT_EQ(selected(), "p1 d2 decode_requests");
}

TEST_F(RouterTest, ColdPodsAreNotInTheRequestSpread) {
  auto cold = decode_pod("cold");
  cold.pending = 100;
  set_fleet(with_prefill({cold, decode_pod("d1", "rs1", 5), decode_pod("d2", "rs1", 20)}));
  EXPECT_EQ(selected(), "p1 d1 scores");
  set_fleet(with_prefill({cold, decode_pod("d1", "rs1", 5), decode_pod("d2", "rs1", 21)}));
  EXPECT_EQ(selected(), "p1 d1 decode_requests");
}

TEST_F(RouterTest, DecodeThroughputSpreadIsStrictAndTakesTheLowest) {
  set_fleet(with_prefill({decode_pod("d1", "rs1", 9, 2148), decode_pod("d2", "rs1", 5, 100)}));
  EXPECT_EQ(selected(), "p1 d2 scores");
  set_fleet(with_prefill({decode_pod("d1", "rs1", 5, 2149), decode_pod("d2", "rs1", 9, 100)}));
  EXPECT_EQ(selected(), "p1 d2 decode_throughput");
}

TEST_F(RouterTest, AnUnknownThroughputIsNotInTheSpread) {
  choice_.decode = "least_request";
  set_fleet(with_prefill({decode_pod("d1", "rs1", 5, 9000), decode_pod("d2", "rs1", 9)}));
  EXPECT_EQ(selected(), "p1 d1 scores");
}

TEST_F(RouterTest, DecodeRatioNeedsARateOfEveryPodAndIsStrict) {
  const auto ratio = [&](double r1, double rate1, double r2, double rate2) {
    set_fleet(with_prefill({drained(decode_pod("d1", "rs1", r1), rate1),
                            drained(decode_pod("d2", "rs1", r2), rate2)}));
    return selected();
  };
  EXPECT_EQ(ratio(6, 2, 4, 1), "p1 d2 scores");        // 3 and 4: ratio 1.33
  EXPECT_EQ(ratio(6, 3, 4, 1), "p1 d1 decode_ratio");  // 2 and 4
  EXPECT_EQ(ratio(6, 3, 3, 1), "p1 d2 scores");        // 2 and 3: exactly 1.5
  EXPECT_EQ(ratio(6, 3, 4, 0), "p1 d2 scores");        // a rate of 0 is none
  EXPECT_EQ(ratio(6, 3, 4, kUnknown), "p1 d2 scores");
  EXPECT_EQ(ratio(0, 3, 4, 1), "p1 d1 scores");              // the lowest is 0
  EXPECT_EQ(ratio(1, 0.001, 3, 0.1), "p1 d1 decode_ratio");  // rates count as 0.1 at least
}

TEST_F(RouterTest, DecodeChecksApplyInOrder) {
  set_fleet(with_prefill({drained(decode_pod("d1", "rs1", 20, 100), 50),
                          drained(decode_pod("d2", "rs1", 4, 9000), 1)}));
  EXPECT_EQ(selected(), "p1 d2 decode_requests");
  set_fleet(with_prefill({drained(decode_pod("d1", "rs1", 9, 100), 1),
                          drained(decode_pod("d2", "rs1", 4, 9000), 50)}));
  EXPECT_EQ(selected(), "p1 d1 decode_throughput");
}

TEST_F(RouterTest, DecodeImbalanceKeepsThePrefillsOfItsRoleset) {
  set_fleet({prefill_pod("p1", "rs1", 0), decode_pod("d1", "rs1", 30), prefill_pod("p2", "rs2", 9),
             prefill_pod("p3", "rs2", 8), decode_pod("d2", "rs2", 2)});
  EXPECT_EQ(selected(), "p3 d2 decode_requests");
  EXPECT_EQ(prefill_drop("p1"), Drop::kImbalance);
  EXPECT_EQ(decode_drop("d1"), Drop::kImbalance);
}

TEST_F(RouterTest, BothSidesMayApply) {
  set_fleet({prefill_pod("p1", "rs1", 0), prefill_pod("p2", "rs1", 40), decode_pod("d1", "rs1", 30),
             decode_pod("d2", "rs1", 2), prefill_pod("p3", "rs2", 20), decode_pod("d3", "rs2", 0)});
  EXPECT_EQ(selected(), "p1 d2 prefill_imbalance+decode_requests");
}

TEST_F(RouterTest, MaximaAreThoseBeforeTheFastPath) {
  choice_.decode = "load_balancing";
  set_fleet(
      with_prefill({decode_pod("d1", "rs1", 2, 100, .3), decode_pod("d2", "rs1", 40, 400, .1)}));
  EXPECT_EQ(selected(), "p1 d1 decode_requests");
  EXPECT_DOUBLE_EQ(decode_score("d1"), (2.0 / 40 + (1 - 100.0 / 400)) / (70.0 / 90));
}

TEST_F(RouterTest, MaximaAreThoseAfterThePrefillFastPath) {
  choice_.decode = "load_balancing";
  set_fleet({prefill_pod("p1", "rs1"), decode_pod("d1", "rs1", 2, 100, .3),
             prefill_pod("p2", "rs2", 40), decode_pod("d2", "rs2", 10, 400, .1)});
  EXPECT_EQ(selected(), "p1 d1 prefill_imbalance");
  EXPECT_EQ(scratch_.decode.max_requests, 2);
  EXPECT_EQ(scratch_.decode.max_throughput, 100);
  EXPECT_EQ(scratch_.decode.max_free_gpu, 70);
}

// ---- 7.8 Decode scoring -----------------------------------------------------------------------

TEST_F(RouterTest, Row85_LoadBalancingWithoutAnyData) {
  choice_.decode = "load_balancing";
  set_fleet({prefill_pod("p1", "rs1"), decode_pod("d1", "rs1"), prefill_pod("p2", "rs2"),
             decode_pod("d2", "rs2")});
  ASSERT_TRUE(select());
  EXPECT_EQ(scratch_.finals.size(), 2u);
  EXPECT_GE(scratch_.decode.max_score, 0);
}

TEST_F(RouterTest, Row86_LoadBalancingHasOneEntryPerRoleset) {
  choice_.decode = "load_balancing";
  set_fleet({prefill_pod("p1", "rs1"), decode_pod("d1", "rs1", 1, 5, .1),
             decode_pod("d2", "rs1", 2, 5, .1), prefill_pod("p2", "rs2"),
             decode_pod("d3", "rs2", 3, 5, .1)});
  ASSERT_TRUE(select());
  std::size_t picked = 0;
  for (const auto& pick : scratch_.decode.picks) picked += pick.row != RolesetPick::kNone ? 1 : 0;
  EXPECT_EQ(picked, 2u);
}

TEST_F(RouterTest, Row87_MaxScoreIsOverAllPods) {
  set_fleet(with_prefill({decode_pod("pod-a", "rs1", 3), decode_pod("pod-b", "rs1", 7)}));
  EXPECT_EQ(selected(), "p1 pod-a scores");
  EXPECT_EQ(decode_score("pod-a"), 3);
  EXPECT_EQ(scratch_.decode.max_score, 7);
}

TEST_F(RouterTest, Row92_AnUnknownPolicyIsRefusedWhenTheSetIsBuilt) {
  choice_.decode = "least_requests";
  const auto set = PolicySet::build(registry_, choice_, InstanceLimits{}, environment_, 1);
  ASSERT_FALSE(set);
  ASSERT_EQ(set.error().size(), 1u);
  EXPECT_THAT(set.error()[0], HasSubstr("least_requests"));
  EXPECT_THAT(set.error()[0], HasSubstr("least_request"));
}

TEST_F(RouterTest, ColdPodsScoreOneAndTheirPendingRequests) {
  auto cold = decode_pod("cold", "rs1", kUnknown, 4000, .9);
  cold.pending = 2;
  set_fleet(with_prefill({cold, decode_pod("d1", "rs1", 4), decode_pod("d2", "rs1", 2)}));
  EXPECT_EQ(selected(), "p1 d2 scores");
  EXPECT_EQ(decode_score("cold"), 3);
}

TEST_F(RouterTest, WhereAllAreColdThePolicyScores) {
  auto a = decode_pod("a"), b = decode_pod("b");
  a.pending = 2;
  set_fleet(with_prefill({a, b}));
  EXPECT_EQ(selected(), "p1 b scores");
  EXPECT_EQ(decode_score("a"), 2);
  EXPECT_EQ(decode_score("b"), 0);
}

TEST_F(RouterTest, AColdPodThatAFastPathLeftAloneIsScoredByThePolicy) {
  auto cold = decode_pod("cold", "rs1", kUnknown, 50);
  set_fleet(with_prefill({cold, decode_pod("d1", "rs1", 4, 5000)}));
  EXPECT_EQ(selected(), "p1 cold decode_throughput");
  EXPECT_EQ(decode_score("cold"), 0);
}

TEST_F(RouterTest, OurOwnDecodeRequestsWarmAPod) {
  set_fleet(with_prefill({decode_pod("d1"), decode_pod("d2", "rs1", 2)}));
  pod("d1").slot->decode_requests = 5;
  EXPECT_EQ(selected(), "p1 d2 scores");
  EXPECT_EQ(decode_score("d1"), 5);
}

TEST_F(RouterTest, TheLargerCountOfEngineAndHostIsTaken) {
  set_fleet(with_prefill({decode_pod("d1", "rs1", 3), decode_pod("d2", "rs1", 4)}));
  pod("d1").slot->decode_requests = 9;
  pod("d2").slot->decode_requests = 1;
  EXPECT_EQ(selected(), "p1 d2 scores");
  EXPECT_EQ(decode_score("d1"), 9);
  EXPECT_EQ(decode_score("d2"), 4);
}

// ---- Samples ----------------------------------------------------------------------------------

TEST_F(RouterTest, FreeMemoryIsRoundedHalfAwayFromZero) {
  const auto free_of = [&](double kv_usage) {
    set_fleet(with_prefill({decode_pod("d1", "rs1", 1, 1, kv_usage)}));
    EXPECT_TRUE(select());
    return scratch_.decode.free_gpu_percent[0];
  };
  EXPECT_EQ(free_of(0), 100);
  EXPECT_EQ(free_of(0.125), 88);  // 87.5
  EXPECT_EQ(free_of(0.375), 63);  // 62.5
  EXPECT_EQ(free_of(0.994), 1);
  EXPECT_EQ(free_of(0.996), 0.1);
  EXPECT_EQ(free_of(1), 0.1);
  EXPECT_EQ(free_of(kUnknown), 100);
}

TEST_F(RouterTest, StaleSamplesAreMissing) {
  settings_.stale_ns = kNow - kSampledAt + 1;
  set_fleet(
      with_prefill({decode_pod("d1", "rs1", 40, 9000, .9), decode_pod("d2", "rs1", 2, 1, .1)}));
  EXPECT_EQ(selected(), "p1 d2 decode_requests");
  settings_.stale_ns = kNow - kSampledAt - 1;
  build_router();
  ASSERT_TRUE(select());
  EXPECT_THAT(selected(), HasSubstr("scores"));
  EXPECT_TRUE(std::isnan(scratch_.decode.running[0]));
  EXPECT_EQ(scratch_.decode.free_gpu_percent[0], 100);
  EXPECT_EQ(decode_score("d1"), 0);
}

TEST_F(RouterTest, ASampleFromTheFutureIsFresh) {
  settings_.stale_ns = 10;
  set_fleet(with_prefill({decode_pod("d1", "rs1", 40), decode_pod("d2", "rs1", 2)}));
  EngineSample sample;
  sample.running = 40;
  fleet_->columns().store(pod("d1").index, sample, kNow + 5);
  sample.running = 1;
  fleet_->columns().store(pod("d2").index, sample, kNow - 1);
  EXPECT_EQ(selected(), "p1 d2 decode_requests");
}

}  // namespace
}  // namespace pd
