// Router::select with the built-in policies: who may be chosen, final pairs, ties. RowNN is the row
// of the parity table.
#include "framework/select/router.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/unit/select/router_fixture.h"

namespace pd {
namespace {

using test::decode_pod;
using test::PodState;
using test::prefill_pod;
using test::RouterTest;
using ::testing::AnyOf;
using ::testing::HasSubstr;

// ---- 7.4 Selection and filtering --------------------------------------------------------------

TEST_F(RouterTest, Row40_PrefillAndDecodeOfOneRoleset) {
  set_fleet({prefill_pod("p1"), decode_pod("d1")});
  EXPECT_EQ(selected(), "p1 d1 scores");
}

TEST_F(RouterTest, Row41_PodsWithoutRolesetOrRoleAreIgnored) {
  PodState no_roleset = prefill_pod("extra");
  no_roleset.roleset = std::nullopt;
  PodState no_role = prefill_pod("extra");
  no_role.role = Role::kOther;
  PodState nothing = no_role;
  nothing.roleset = std::nullopt;
  PodState decode_without_roleset = decode_pod("extra");
  decode_without_roleset.roleset = std::nullopt;
  for (const auto& extra : {no_roleset, no_role, nothing, decode_without_roleset}) {
    set_fleet({prefill_pod("p1", "rs1", 3), decode_pod("d1", "rs1", 3), extra});
    EXPECT_EQ(selected(), "p1 d1 scores");
  }
}

TEST_F(RouterTest, Row42_OnlyTheFirstNodeOfAGroup) {
  auto p0 = prefill_pod("p-node0"), p1 = prefill_pod("p-node1");
  auto d0 = decode_pod("d-node0"), d1 = decode_pod("d-node1");
  p0.group_index = d0.group_index = "0";
  p1.group_index = d1.group_index = "1";
  set_fleet({p1, p0, d1, d0});
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(selected(seed), "p-node0 d-node0 scores");
  }
}

TEST_F(RouterTest, Row43_NoGroupIndexIsIncluded) {
  auto d0 = decode_pod("d1");
  d0.group_index = "0";
  set_fleet({prefill_pod("p1"), d0});
  EXPECT_EQ(selected(), "p1 d1 scores");
}

TEST_F(RouterTest, Row44_OddGroupIndicesAreNotChosen) {
  for (const std::string odd : {"invalid", "", "-1"}) {
    auto good = prefill_pod("good", "rs1", 9), bad = prefill_pod("bad");
    good.group_index = "0";
    bad.group_index = odd;
    set_fleet({bad, good, decode_pod("d1")});
    EXPECT_EQ(selected(), "good d1 scores") << "'" << odd << "'";
  }
}

TEST_F(RouterTest, Row45_WithoutBothRolesThereIsATypedError) {
  auto node1_prefill = prefill_pod("p1"), other = prefill_pod("o1");
  auto node1_decode = decode_pod("d1");
  node1_prefill.group_index = node1_decode.group_index = "1";
  other.role = Role::kOther;
  const std::vector<std::vector<PodState>> fleets = {
      {decode_pod("d1")}, {prefill_pod("p1")}, {other}, {node1_prefill, node1_decode}};
  for (const auto& fleet : fleets) {
    set_fleet(fleet);
    const auto decision = select();
    ASSERT_FALSE(decision);
    EXPECT_THAT(decision.error().kind,
                AnyOf(SelectErrorKind::kNoPrefill, SelectErrorKind::kNoDecode));
    EXPECT_THAT(decision.error().message, HasSubstr("m"));
  }
  set_fleet({});
  const auto decision = select();
  ASSERT_FALSE(decision);
  EXPECT_EQ(decision.error().kind, SelectErrorKind::kUnknownModel);
}

TEST_F(RouterTest, RolesInDifferentRolesetsAreNoPair) {
  set_fleet({prefill_pod("p1", "rs1"), decode_pod("d1", "rs2")});
  const auto decision = select();
  ASSERT_FALSE(decision);
  EXPECT_EQ(decision.error().kind, SelectErrorKind::kNoPrefill);
  EXPECT_EQ(not_candidate("p1"), Drop::kRoleset);
  EXPECT_EQ(not_candidate("d1"), Drop::kRoleset);
}

TEST_F(RouterTest, Row48_OnePrefillAndTwoDecodesAreEligible) {
  set_fleet({prefill_pod("p1"), decode_pod("d1", "rs1", 2), decode_pod("d2", "rs1", 1)});
  EXPECT_EQ(selected(), "p1 d2 scores");
}

TEST_F(RouterTest, Row49_Row51_Row52_AllEligibleRolesetsAreCandidates) {
  set_fleet({prefill_pod("p1", "rs1"), prefill_pod("p2", "rs1"), decode_pod("d1", "rs1", 5),
             decode_pod("d2", "rs1", 5), decode_pod("d3", "rs1", 5), prefill_pod("p3", "rs2"),
             prefill_pod("p4", "rs2", 1), decode_pod("d4", "rs2", 5), decode_pod("d5", "rs2", 1)});
  EXPECT_EQ(selected(), "p3 d5 scores");
  EXPECT_EQ(scratch_.prefill.size(), 4u);
  EXPECT_EQ(scratch_.decode.size(), 5u);
}

TEST_F(RouterTest, Row50_ARolesetWithOneRoleIsNotEligible) {
  set_fleet({prefill_pod("p1", "rs1", 9), decode_pod("d1", "rs1", 9), prefill_pod("p2", "rs2"),
             decode_pod("d3", "rs3")});
  EXPECT_EQ(selected(), "p1 d1 scores");
  EXPECT_EQ(not_candidate("p2"), Drop::kRoleset);
  EXPECT_EQ(not_candidate("d3"), Drop::kRoleset);
}

TEST_F(RouterTest, AnEmptyRolesetNameIsARoleset) {
  set_fleet({prefill_pod("p1", ""), decode_pod("d1", "")});
  EXPECT_EQ(selected(), "p1 d1 scores");
}

TEST_F(RouterTest, PodsThatAreNotReadyAreNoCandidates) {
  for (const auto health : {PodHealth::kPending, PodHealth::kUnready, PodHealth::kDraining}) {
    auto sick_prefill = prefill_pod("p0"), sick_decode = decode_pod("d0");
    sick_prefill.health = sick_decode.health = health;
    set_fleet({sick_prefill, prefill_pod("p1", "rs1", 5), sick_decode, decode_pod("d1", "rs1", 5)});
    EXPECT_EQ(selected(), "p1 d1 scores");
    EXPECT_EQ(not_candidate("p0"), Drop::kNotReady);
    EXPECT_EQ(not_candidate("d0"), Drop::kNotReady);
    set_fleet({sick_prefill, decode_pod("d1")});
    const auto decision = select();
    ASSERT_FALSE(decision);
    EXPECT_EQ(decision.error().kind, SelectErrorKind::kNoPrefill);
  }
}

TEST_F(RouterTest, MixedEnginesAreAnError) {
  auto other = decode_pod("d1");
  other.engine = "sglang";
  set_fleet({prefill_pod("p1"), other});
  const auto decision = select();
  ASSERT_FALSE(decision);
  EXPECT_EQ(decision.error().kind, SelectErrorKind::kMixedEngines);
}

TEST_F(RouterTest, APodThatIsNotReadyDoesNotMixEngines) {
  auto other = decode_pod("d2");
  other.engine = "sglang";
  other.health = PodHealth::kUnready;
  set_fleet({prefill_pod("p1"), decode_pod("d1"), other});
  EXPECT_EQ(selected(), "p1 d1 scores");
}

TEST_F(RouterTest, UnknownModelIsNamed) {
  set_fleet({prefill_pod("p1"), decode_pod("d1")});
  set_prompt("x", "org/other:v2");
  const auto decision = select();
  ASSERT_FALSE(decision);
  EXPECT_EQ(decision.error().kind, SelectErrorKind::kUnknownModel);
  EXPECT_THAT(decision.error().message, HasSubstr("org/other:v2"));
}

TEST_F(RouterTest, OnlyPodsOfTheModelAreChosen) {
  auto p2 = prefill_pod("p2"), d2 = decode_pod("d2");
  p2.model = d2.model = "other";
  set_fleet({prefill_pod("p1", "rs1", 9), decode_pod("d1", "rs1", 9), p2, d2});
  EXPECT_EQ(selected(), "p1 d1 scores");
  set_prompt("x", "other");
  EXPECT_EQ(selected(), "p2 d2 scores");
}

// ---- Attempts ---------------------------------------------------------------------------------

TEST_F(RouterTest, TriedPodsAreOut) {
  set_fleet({prefill_pod("p1"), prefill_pod("p2", "rs1", 1), decode_pod("d1"),
             decode_pod("d2", "rs1", 1)});
  tried_ = {pod("p1").slot->incarnation, pod("d1").slot->incarnation};
  EXPECT_EQ(selected(), "p2 d2 scores");
  EXPECT_EQ(not_candidate("p1"), Drop::kTried);
  EXPECT_EQ(not_candidate("d1"), Drop::kTried);
  tried_.push_back(pod("p2").slot->incarnation);
  const auto decision = select();
  ASSERT_FALSE(decision);
  EXPECT_EQ(decision.error().kind, SelectErrorKind::kNoPrefill);
}

TEST_F(RouterTest, ARolesetThatLostItsLastDecodeIsOut) {
  set_fleet({prefill_pod("p1", "rs1"), decode_pod("d1", "rs1"), prefill_pod("p2", "rs2", 5),
             decode_pod("d2", "rs2", 5)});
  tried_ = {pod("d1").slot->incarnation};
  EXPECT_EQ(selected(), "p2 d2 scores");
  EXPECT_EQ(not_candidate("p1"), Drop::kRoleset);
}

TEST_F(RouterTest, AFinishedPrefillKeepsTheRoleset) {
  set_fleet({prefill_pod("p1", "rs1", 9), decode_pod("d1", "rs1", 9), decode_pod("d2", "rs1", 8),
             prefill_pod("p2", "rs2"), decode_pod("d3", "rs2")});
  EXPECT_EQ(selected(), "p2 d3 scores");
  handed_off_by_ = &pod("p1");
  EXPECT_EQ(selected(), "p1 d2 scores");
  tried_ = {pod("d2").slot->incarnation};
  EXPECT_EQ(selected(), "p1 d1 scores");
  tried_.push_back(pod("d1").slot->incarnation);
  const auto decision = select();
  ASSERT_FALSE(decision);
  EXPECT_EQ(decision.error().kind, SelectErrorKind::kNoDecode);
}

TEST_F(RouterTest, AFinishedPrefillIsKeptWhateverItsLoad) {
  set_fleet({prefill_pod("p1", "rs1", 200), prefill_pod("p2", "rs1"), prefill_pod("p3", "rs1"),
             decode_pod("d1")});
  handed_off_by_ = &pod("p1");
  const auto decision = select();
  ASSERT_TRUE(decision);
  EXPECT_EQ(decision->prefill->spec.name, "p1");
  EXPECT_EQ(decision->decode->spec.name, "d1");
}

// ---- Final pair and ties ----------------------------------------------------------------------

TEST_F(RouterTest, TheFinalScoreAddsTheNormalisedStages) {
  settings_.prefill_stddev_factor = 100;
  set_fleet({prefill_pod("p1", "rs1", 4), decode_pod("d1", "rs1", 2), prefill_pod("p2", "rs2", 2),
             decode_pod("d2", "rs2", 8)});
  EXPECT_EQ(selected(), "p1 d1 scores");
  std::vector<double> finals = scratch_.finals;
  std::sort(finals.begin(), finals.end());
  EXPECT_EQ(finals, (std::vector<double>{4.0 / 4 + 2.0 / 8, 2.0 / 4 + 8.0 / 8}));
}

TEST_F(RouterTest, TheMaximaHaveFloors) {
  settings_.prefill_stddev_factor = 100;
  auto& prefill = use_prefill([](const pd_request*, const pd_prefill_batch*, pd_scores* scores) {
    for (std::uint32_t i = 0; i < scores->count; ++i) scores->values[i] = 0.5;
    return PD_OK;
  });
  auto& decode = use_decode([](const pd_request*, const pd_decode_batch*, pd_scores* scores) {
    for (std::uint32_t i = 0; i < scores->count; ++i) scores->values[i] = 0.001;
    return PD_OK;
  });
  set_fleet({prefill_pod("p1"), decode_pod("d1")});
  ASSERT_TRUE(select());
  EXPECT_EQ(prefill.calls, 1);
  EXPECT_EQ(decode.calls, 1);
  ASSERT_EQ(scratch_.finals.size(), 1u);
  EXPECT_DOUBLE_EQ(scratch_.finals[0], 0.5 / 1 + 0.001 / 0.01);
}

TEST_F(RouterTest, TiesAreDrawnEvenly) {
  std::vector<PodState> pods;
  for (const std::string roleset : {"rs1", "rs2", "rs3"}) {
    pods.push_back(prefill_pod("p-" + roleset, roleset));
    pods.push_back(decode_pod("d-" + roleset + "a", roleset, 1));
    pods.push_back(decode_pod("d-" + roleset + "b", roleset, 1));
  }
  set_fleet(pods);
  constexpr int kDraws = 3000;
  const auto counts = outcomes(kDraws);
  ASSERT_EQ(counts.size(), 6u);
  double chi_square = 0;
  for (const auto& [outcome, times] : counts) {
    chi_square += std::pow(times - kDraws / 6.0, 2) / (kDraws / 6.0);
  }
  EXPECT_LT(chi_square, 20.5);  // five degrees of freedom: 0.1 %
}

TEST_F(RouterTest, TheSameSeedGivesTheSamePair) {
  set_fleet({prefill_pod("p1", "rs1"), decode_pod("d1", "rs1"), decode_pod("d2", "rs1"),
             prefill_pod("p2", "rs2"), decode_pod("d3", "rs2")});
  for (std::uint64_t seed = 0; seed < 30; ++seed) EXPECT_EQ(selected(seed), selected(seed));
}

TEST_F(RouterTest, WithoutShuffleTheFirstIsTaken) {
  shuffle_ = false;
  set_fleet({prefill_pod("p1", "rs1"), prefill_pod("p2", "rs1"), decode_pod("d1", "rs1"),
             decode_pod("d2", "rs1"), prefill_pod("p3", "rs2"), decode_pod("d3", "rs2")});
  for (std::uint64_t seed = 0; seed < 40; ++seed) EXPECT_EQ(selected(seed), "p1 d1 scores");
}

TEST_F(RouterTest, WithoutShuffleFastPathsTakeTheFirstToo) {
  shuffle_ = false;
  set_fleet({prefill_pod("p0", "rs1", 40), prefill_pod("p1", "rs1"), prefill_pod("p2", "rs2"),
             decode_pod("d1", "rs1", 0), decode_pod("d2", "rs1", 0), decode_pod("d3", "rs1", 30),
             decode_pod("d4", "rs2", 0)});
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    EXPECT_EQ(selected(seed), "p1 d1 prefill_imbalance+decode_requests");
  }
}

}  // namespace
}  // namespace pd
