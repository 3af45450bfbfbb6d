#include "framework/load/pod_slots.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

namespace pd {
namespace {

TEST(PodSlotsTest, TheSameNameAndIdentityAreTheSameSlot) {
  PodSlots slots;
  const auto slot = slots.open("a", "1");
  EXPECT_EQ(slots.open("a", "1"), slot);
  EXPECT_EQ(slots.find("a"), slot);
  EXPECT_EQ(slots.find("b"), nullptr);
}

TEST(PodSlotsTest, AnotherIdentityIsAnotherIncarnation) {
  PodSlots slots;
  const auto old_slot = slots.open("a", "1");
  old_slot->completed = 7;
  const auto new_slot = slots.open("a", "2");
  EXPECT_NE(new_slot, old_slot);
  EXPECT_NE(new_slot->incarnation, old_slot->incarnation);
  EXPECT_NE(new_slot->number, old_slot->number);
  EXPECT_EQ(new_slot->completed, 0u);
  EXPECT_EQ(slots.find("a"), new_slot);
}

TEST(PodSlotsTest, NumbersAreDenseAndTakenAgainOnlyAfterDeath) {
  PodSlots slots;
  auto a = slots.open("a", "1");
  auto b = slots.open("b", "1");
  EXPECT_EQ(a->number, 0u);
  EXPECT_EQ(b->number, 1u);
  const auto incarnation = a->incarnation;
  a.reset();
  EXPECT_EQ(slots.find("a"), nullptr);
  const auto c = slots.open("c", "1");
  EXPECT_EQ(c->number, 0u);
  EXPECT_NE(c->incarnation, incarnation);
  EXPECT_EQ(slots.open("d", "1")->number, 2u);
}

TEST(PodSlotsTest, ADeadNameComesBackUnderANewIncarnation) {
  PodSlots slots;
  const auto first = slots.open("a", "1")->incarnation;
  const auto again = slots.open("a", "1");
  EXPECT_NE(again->incarnation, first);
  EXPECT_EQ(again->health, PodHealth::kPending);
}

TEST(PodSlotsTest, SlotsMayOutliveTheTable) {
  std::shared_ptr<PodSlot> slot;
  {
    PodSlots slots;
    slot = slots.open("a", "1");
  }
  EXPECT_EQ(slot->number, 0u);
  slot.reset();
}

TEST(PodSlotsTest, NoTwoLiveSlotsShareANumberUnderThreads) {
  PodSlots slots;
  std::atomic<bool> clash{false};
  std::vector<std::atomic<int>> holders(64);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 3000; ++i) {
        const auto slot = slots.open("pod" + std::to_string(t), std::to_string(i));
        if (slot->number >= holders.size() || holders[slot->number].fetch_add(1) != 0) clash = true;
        if (slots.find("pod" + std::to_string(t)) != slot) clash = true;
        holders[slot->number].fetch_sub(1);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_FALSE(clash);
}

TEST(PodSlotsTest, HealthHasNames) {
  EXPECT_EQ(health_name(PodHealth::kPending), "pending");
  EXPECT_EQ(health_name(PodHealth::kReady), "ready");
  EXPECT_EQ(health_name(PodHealth::kUnready), "unready");
  EXPECT_EQ(health_name(PodHealth::kDraining), "draining");
}

TEST(LoadGuardTest, CountsUntilItEnds) {
  PodSlots slots;
  const auto slot = slots.open("a", "1");
  {
    LoadGuard guard(slot, &PodSlot::decode_requests);
    EXPECT_EQ(slot->decode_requests, 1u);
    LoadGuard moved(std::move(guard));
    EXPECT_EQ(slot->decode_requests, 1u);
    moved.release();
    EXPECT_EQ(slot->decode_requests, 0u);
    moved.release();
    EXPECT_EQ(slot->decode_requests, 0u);
  }
  EXPECT_EQ(slot->decode_requests, 0u);
}

TEST(LoadGuardTest, AssignmentEndsWhatWasCounted) {
  PodSlots slots;
  const auto a = slots.open("a", "1");
  const auto b = slots.open("b", "1");
  LoadGuard guard(a, &PodSlot::prefill_requests);
  guard = LoadGuard(b, &PodSlot::pending_decode);
  EXPECT_EQ(a->prefill_requests, 0u);
  EXPECT_EQ(b->pending_decode, 1u);
  LoadGuard& same = guard;
  guard = std::move(same);
  EXPECT_EQ(b->pending_decode, 1u);
  guard = LoadGuard();
  EXPECT_EQ(b->pending_decode, 0u);
}

}  // namespace
}  // namespace pd
