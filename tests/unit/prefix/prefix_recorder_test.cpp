#include "framework/prefix/prefix_recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace pd {
namespace {

using testing::ElementsAre;
using Hashes = std::vector<std::uint64_t>;
using Time = PrefixIndex::Clock::time_point;

constexpr std::uint64_t kModel = 1;
constexpr PodKey kPod1 = make_pod_key(1, 1);
constexpr PodKey kPod2 = make_pod_key(2, 1);
const std::vector<PodKey> kPods{kPod1, kPod2};
const Time kNow{std::chrono::seconds(1)};

class PrefixRecorderTest : public testing::Test {
 protected:
  void SetUp() override {
    auto made = PrefixIndex::create({5'000'000, std::chrono::seconds(60), 0});
    ASSERT_TRUE(made);
    index_ = std::move(*made);
  }

  std::vector<std::uint32_t> match(const Hashes& hashes, std::uint64_t model = kModel) {
    const auto matched = index_->match(model, hashes, kPods, scratch_);
    return {matched.begin(), matched.end()};
  }

  std::unique_ptr<PrefixIndex> index_;
  PrefixMatchScratch scratch_;
};

TEST_F(PrefixRecorderTest, RecordsArriveWhenDrained) {
  PrefixRecorder recorder(2);
  EXPECT_TRUE(recorder.queue(0).push(kModel, Hashes{1, 2, 3}, kPod1));
  EXPECT_TRUE(recorder.queue(1).push(kModel, Hashes{1, 2}, kPod2));
  EXPECT_THAT(match({1, 2, 3}), ElementsAre(0, 0));
  EXPECT_EQ(recorder.drain(*index_, kNow), 2U);
  EXPECT_THAT(match({1, 2, 3}), ElementsAre(3, 2));
  EXPECT_THAT(match({1, 2, 3}, kModel + 1), ElementsAre(0, 0));
  EXPECT_EQ(recorder.drain(*index_, kNow), 0U);
}

TEST_F(PrefixRecorderTest, FullQueueDropsAndCounts) {
  PrefixRecorder recorder(2);
  for (std::uint64_t i = 0; i < PrefixRecordQueue::kCapacity; ++i) {
    ASSERT_TRUE(recorder.queue(0).push(kModel, Hashes{i}, kPod1));
  }
  EXPECT_FALSE(recorder.queue(0).push(kModel, Hashes{5000}, kPod1));
  EXPECT_FALSE(recorder.queue(0).push(kModel, Hashes{5001}, kPod1));
  EXPECT_TRUE(recorder.queue(1).push(kModel, Hashes{5002}, kPod1)) << "queues are independent";
  EXPECT_EQ(recorder.queue(0).dropped(), 2U);
  EXPECT_EQ(recorder.dropped(), 2U);
  EXPECT_EQ(recorder.drain(*index_, kNow), PrefixRecordQueue::kCapacity + 1);
  EXPECT_THAT(match({5000}), ElementsAre(0, 0));
  EXPECT_THAT(match({5002}), ElementsAre(1, 0));
  EXPECT_TRUE(recorder.queue(0).push(kModel, Hashes{5000}, kPod1)) << "room again";
  recorder.drain(*index_, kNow);
  EXPECT_THAT(match({5000}), ElementsAre(1, 0));
}

TEST_F(PrefixRecorderTest, WaitingHashesAreBounded) {
  PrefixRecordQueue queue;
  const Hashes huge(PrefixRecordQueue::kMaxWaitingHashes + 1, 7);
  EXPECT_TRUE(queue.push(kModel, huge, kPod1)) << "alone it may be larger";
  EXPECT_FALSE(queue.push(kModel, Hashes{8}, kPod1));
  EXPECT_EQ(queue.dropped(), 1U);
  EXPECT_EQ(queue.drain(*index_, kNow), 1U);
  EXPECT_TRUE(queue.push(kModel, Hashes{8}, kPod1));
}

TEST_F(PrefixRecorderTest, NoHashesNeedNoRoom) {
  PrefixRecordQueue queue;
  EXPECT_TRUE(queue.push(kModel, {}, kPod1));
  EXPECT_EQ(queue.drain(*index_, kNow), 0U);
  EXPECT_EQ(queue.dropped(), 0U);
}

TEST_F(PrefixRecorderTest, NothingIsLostButWhatIsCounted) {
  PrefixRecordQueue queue;
  constexpr std::uint64_t kRecords = 50'000;
  std::vector<std::uint64_t> accepted;
  std::atomic<bool> done{false};
  std::thread producer([&] {
    for (std::uint64_t i = 0; i < kRecords; ++i) {
      if (queue.push(kModel, Hashes{i, i + kRecords}, kPod1)) accepted.push_back(i);
    }
    done = true;
  });
  std::size_t drained = 0;
  while (!done) drained += queue.drain(*index_, kNow);
  producer.join();
  drained += queue.drain(*index_, kNow);
  EXPECT_EQ(drained, accepted.size());
  EXPECT_EQ(drained + queue.dropped(), kRecords);
  for (const std::uint64_t i : accepted) EXPECT_THAT(match({i, i + kRecords}), ElementsAre(2, 0));
}

}  // namespace
}  // namespace pd
