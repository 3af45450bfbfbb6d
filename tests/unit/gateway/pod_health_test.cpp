#include "host/gateway/pod_health.h"

#include <gtest/gtest.h>

namespace pd {
namespace {

PodSpec spec(const std::string& name, Role role, const std::string& roleset) {
  PodSpec out;
  out.name = name;
  out.model = "m";
  out.role = role;
  out.roleset = roleset;
  out.host = "127.0.0.1";
  out.port = 80;
  return out;
}

class PodHealthTest : public ::testing::Test {
 protected:
  PodHealthTest()
      : fleet_(Fleet::build({spec("p1", Role::kPrefill, "rs1"), spec("p2", Role::kPrefill, "rs2"),
                             spec("d1", Role::kDecode, "rs1"), spec("d2", Role::kDecode, "rs1"),
                             spec("d3", Role::kDecode, "rs2")},
                            slots_, 1)) {
    for (const Pod& pod : fleet_->pods()) pod.slot->health = PodHealth::kReady;
  }
  const Pod& pod(const char* name) const { return *fleet_->find_pod(name); }
  PodHealth health(const char* name) const { return pod(name).slot->health; }
  void fail(const char* name, FailureKind kind, std::uint32_t times = kFailuresUntilUnready) {
    for (std::uint32_t i = 0; i < times; ++i) note_failure(*fleet_, pod(name), kind);
  }
  bool another() { return another_pair_is_left(*fleet_, *fleet_->find_model("m"), context_); }

  PodSlots slots_;
  std::shared_ptr<const Fleet> fleet_;
  RoutingContext context_;
};

TEST_F(PodHealthTest, ThreeFailedConnectionsInARowMakeUnready) {
  fail("d1", FailureKind::kUnreachable, kFailuresUntilUnready - 1);
  EXPECT_EQ(health("d1"), PodHealth::kReady);
  fail("d1", FailureKind::kUnreachable, 1);
  EXPECT_EQ(health("d1"), PodHealth::kUnready);
}

TEST_F(PodHealthTest, AnAnswerInBetweenBeginsAnew) {
  fail("d1", FailureKind::kUnreachable, kFailuresUntilUnready - 1);
  note_success(pod("d1"));
  fail("d1", FailureKind::kUnreachable, kFailuresUntilUnready - 1);
  EXPECT_EQ(health("d1"), PodHealth::kReady);
}

TEST_F(PodHealthTest, APodThatAnswersIsReadyAgain) {
  fail("d1", FailureKind::kUnreachable);
  note_success(pod("d1"));
  EXPECT_EQ(health("d1"), PodHealth::kReady);
  EXPECT_EQ(pod("d1").slot->connect_failures, 0u);
}

TEST_F(PodHealthTest, APodIsPendingUntilItAnswers) {
  pod("d1").slot->health = PodHealth::kPending;
  note_success(pod("d1"));
  EXPECT_EQ(health("d1"), PodHealth::kReady);
}

TEST_F(PodHealthTest, ADrainingPodStaysDraining) {
  pod("d1").slot->health = PodHealth::kDraining;
  note_success(pod("d1"));
  EXPECT_EQ(health("d1"), PodHealth::kDraining);
  fail("d1", FailureKind::kUnreachable);
  note_scrape_unreachable(pod("d1"));
  EXPECT_EQ(health("d1"), PodHealth::kDraining);
}

TEST_F(PodHealthTest, OtherFailuresDoNotTakeReadiness) {
  for (const auto kind : {FailureKind::kEngineError, FailureKind::kDeadline,
                          FailureKind::kTruncated, FailureKind::kNoSockets}) {
    fail("d1", kind, 20);
    EXPECT_EQ(health("d1"), PodHealth::kReady) << failure_name(kind);
  }
}

TEST_F(PodHealthTest, TrafficNeverTakesTheLastReadyOneOfARole) {
  fail("p1", FailureKind::kUnreachable, 20);
  fail("p2", FailureKind::kUnreachable, 20);
  const int ready =
      (health("p1") == PodHealth::kReady ? 1 : 0) + (health("p2") == PodHealth::kReady ? 1 : 0);
  EXPECT_EQ(ready, 1);
}

TEST_F(PodHealthTest, ScrapesMayTakeTheLastOne) {
  for (std::uint32_t i = 0; i < kFailuresUntilUnready; ++i) {
    note_scrape_unreachable(pod("p1"));
    note_scrape_unreachable(pod("p2"));
  }
  EXPECT_EQ(health("p1"), PodHealth::kUnready);
  EXPECT_EQ(health("p2"), PodHealth::kUnready);
}

TEST_F(PodHealthTest, AnotherPairIsLeftWhileARolesetHasBothRoles) {
  EXPECT_TRUE(another());
  context_.tried_pods = {pod("p1").slot->incarnation};
  EXPECT_TRUE(another());
  context_.tried_pods.push_back(pod("d3").slot->incarnation);
  EXPECT_FALSE(another());
  context_.tried_pods = {pod("d1").slot->incarnation};
  EXPECT_TRUE(another());
  pod("d2").slot->health = PodHealth::kUnready;
  pod("p2").slot->health = PodHealth::kDraining;
  EXPECT_FALSE(another());
}

TEST_F(PodHealthTest, AfterThePrefillADecodeOfItsRolesetIsEnough) {
  context_.handed_off_by = &pod("p1");
  pod("p1").slot->health = PodHealth::kUnready;
  context_.tried_pods = {pod("d1").slot->incarnation};
  EXPECT_TRUE(another());
  context_.tried_pods.push_back(pod("d2").slot->incarnation);
  EXPECT_FALSE(another());
}

}  // namespace
}  // namespace pd
