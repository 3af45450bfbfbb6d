// The package's two trackers: requests counted under their id, on the same slots as the guards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "framework/load/pending_decode_tracker.h"
#include "framework/load/prefill_request_tracker.h"

namespace pd {
namespace {

using ::testing::ElementsAre;

class RequestTrackersTest : public ::testing::Test {
 protected:
  std::shared_ptr<PodSlots> slots_ = std::make_shared<PodSlots>();
  std::shared_ptr<PodSlot> a_ = slots_->open("a", "1");
  std::shared_ptr<PodSlot> b_ = slots_->open("b", "1");
  PrefillRequestTracker prefill_{slots_};
  PendingDecodeTracker pending_{slots_};
};

TEST_F(RequestTrackersTest, CountsAddedRequestsPerPod) {
  prefill_.add_prefill_request("r1", "a");
  prefill_.add_prefill_request("r2", "a");
  prefill_.add_prefill_request("r3", "b");
  EXPECT_EQ(prefill_.get_prefill_request_counts_for_pod("a"), 2u);
  const std::vector<std::string_view> names = {"b", "nobody", "a"};
  EXPECT_THAT(prefill_.get_prefill_request_counts_for_pods(names), ElementsAre(1, 0, 2));
  prefill_.remove_prefill_request("r1");
  prefill_.remove_prefill_request("r2");
  prefill_.remove_prefill_request("r3");
  EXPECT_THAT(prefill_.get_prefill_request_counts_for_pods(names), ElementsAre(0, 0, 0));
}

TEST_F(RequestTrackersTest, PendingDecodeCountsApartFromPrefill) {
  pending_.add_pending_decode("r1", "a");
  EXPECT_EQ(pending_.get_pending_decode_count("a"), 1.0);
  EXPECT_EQ(prefill_.get_prefill_request_counts_for_pod("a"), 0u);
  EXPECT_EQ(a_->pending_decode, 1u);
  EXPECT_EQ(a_->decode_requests, 0u);
  pending_.remove_pending_decode("r1");
  EXPECT_EQ(pending_.get_pending_decode_count("a"), 0.0);
}

TEST_F(RequestTrackersTest, UnknownIdsAndPodsAreNoError) {
  prefill_.remove_prefill_request("never added");
  pending_.remove_pending_decode("");
  pending_.add_pending_decode("r1", "nobody");
  EXPECT_EQ(pending_.get_pending_decode_count("nobody"), 0.0);
  pending_.remove_pending_decode("r1");
  pending_.remove_pending_decode("r1");
  EXPECT_EQ(pending_.get_pending_decode_count("a"), 0.0);
}

TEST_F(RequestTrackersTest, AnIdThatIsAddedAgainMoves) {
  prefill_.add_prefill_request("r1", "a");
  prefill_.add_prefill_request("r1", "b");
  EXPECT_EQ(prefill_.get_prefill_request_counts_for_pod("a"), 0u);
  EXPECT_EQ(prefill_.get_prefill_request_counts_for_pod("b"), 1u);
  prefill_.add_prefill_request("r1", "b");
  EXPECT_EQ(prefill_.get_prefill_request_counts_for_pod("b"), 1u);
  prefill_.remove_prefill_request("r1");
  EXPECT_EQ(prefill_.get_prefill_request_counts_for_pod("b"), 0u);
}

TEST_F(RequestTrackersTest, AMoveToAPodWithoutASlotEndsTheCounting) {
  prefill_.add_prefill_request("r1", "a");
  prefill_.add_prefill_request("r1", "nobody");
  EXPECT_EQ(prefill_.get_prefill_request_counts_for_pod("a"), 0u);
}

TEST_F(RequestTrackersTest, GuardsAndIdsAddUp) {
  prefill_.add_prefill_request("r1", "a");
  {
    LoadGuard guard(a_, &PodSlot::prefill_requests);
    EXPECT_EQ(prefill_.get_prefill_request_counts_for_pod("a"), 2u);
  }
  EXPECT_EQ(prefill_.get_prefill_request_counts_for_pod("a"), 1u);
}

TEST_F(RequestTrackersTest, ARestartedPodBeginsAtZero) {
  prefill_.add_prefill_request("r1", "a");
  const auto restarted = slots_->open("a", "2");
  EXPECT_EQ(prefill_.get_prefill_request_counts_for_pod("a"), 0u);
  EXPECT_EQ(a_->prefill_requests, 1u);
  prefill_.remove_prefill_request("r1");
  EXPECT_EQ(a_->prefill_requests, 0u);
  EXPECT_EQ(restarted->prefill_requests, 0u);
}

TEST_F(RequestTrackersTest, CountsAreZeroAgainAfterManyThreads) {
  constexpr int kThreads = 8;
  constexpr int kRounds = 2000;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t] {
      const std::string own = "r" + std::to_string(t);
      for (int i = 0; i < kRounds; ++i) {
        const std::string_view pod = (i + t) % 2 == 0 ? "a" : "b";
        prefill_.add_prefill_request(own, pod);
        pending_.add_pending_decode(own, pod);
        pending_.add_pending_decode("shared", pod);
        EXPECT_LE(prefill_.get_prefill_request_counts_for_pod(pod), std::uint32_t{2 * kThreads});
        EXPECT_LE(pending_.get_pending_decode_count(pod), 2.0 * (kThreads + 1));
        if (i % 3 == 0) prefill_.add_prefill_request(own, "b");
        prefill_.remove_prefill_request(own);
        pending_.remove_pending_decode(own);
        pending_.remove_pending_decode("shared");
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const std::string_view pod : {"a", "b"}) {
    EXPECT_EQ(prefill_.get_prefill_request_counts_for_pod(pod), 0u);
    EXPECT_EQ(pending_.get_pending_decode_count(pod), 0.0);
  }
}

}  // namespace
}  // namespace pd
