#include "examples/pd-sim/kv_cache.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

namespace pd::sim {
namespace {

constexpr std::uint32_t kBlockSize = 4;
using Hashes = std::vector<std::uint64_t>;

BlockTable take(KvCache& cache, const Hashes& hashes, std::uint32_t tokens) {
  BlockTable table;
  EXPECT_TRUE(cache.allocate(hashes, tokens, table));
  return table;
}

TEST(KvCache, BlockZeroIsReserved) {
  KvCache cache(5, kBlockSize);
  EXPECT_EQ(cache.capacity(), 4U);
  const auto table = take(cache, {}, 16);
  EXPECT_EQ(std::set<std::uint32_t>(table.ids.begin(), table.ids.end()),
            (std::set<std::uint32_t>{1, 2, 3, 4}));
  EXPECT_DOUBLE_EQ(cache.usage(), 1.0);
}

TEST(KvCache, RefusesWhatDoesNotFitAndTakesNothing) {
  KvCache cache(4, kBlockSize);
  auto held = take(cache, {}, 8);
  BlockTable table;
  EXPECT_FALSE(cache.allocate({}, 8, table));
  EXPECT_TRUE(table.ids.empty());
  EXPECT_EQ(cache.in_use(), 2U);
  cache.release(held);
  EXPECT_TRUE(cache.allocate({}, 12, table));
}

TEST(KvCache, FindsPublishedPrefixAfterRelease) {
  KvCache cache(10, kBlockSize);
  const Hashes hashes{11, 22};
  auto first = take(cache, hashes, 10);
  EXPECT_EQ(first.cached, 0U);
  cache.publish(hashes, first);
  const auto ids = first.ids;
  cache.release(first);
  EXPECT_EQ(cache.in_use(), 0U);
  const auto second = take(cache, {11, 22, 33}, 13);
  EXPECT_EQ(second.cached, 2U);
  EXPECT_EQ(second.ids[0], ids[0]);
  EXPECT_EQ(second.ids[1], ids[1]);
}

TEST(KvCache, LeavesOneTokenToCompute) {
  KvCache cache(10, kBlockSize);
  const Hashes hashes{11, 22};
  auto first = take(cache, hashes, 8);
  cache.publish(hashes, first);
  EXPECT_EQ(take(cache, hashes, 8).cached, 1U);
}

TEST(KvCache, SharedBlocksCountOnce) {
  KvCache cache(10, kBlockSize);
  const Hashes hashes{11, 22};
  auto first = take(cache, hashes, 9);
  cache.publish(hashes, first);
  auto second = take(cache, hashes, 9);
  EXPECT_EQ(cache.in_use(), 4U) << "2 shared, 1 of each";
  cache.release(first);
  EXPECT_EQ(cache.in_use(), 3U);
  cache.release(second);
  EXPECT_EQ(cache.in_use(), 0U);
}

TEST(KvCache, EvictsTheLeastRecentlyUsedAndTailsFirst) {
  KvCache cache(5, kBlockSize);
  auto old = take(cache, {1, 2}, 8);
  cache.publish(Hashes{1, 2}, old);
  cache.release(old);
  auto recent = take(cache, {7, 8}, 8);
  cache.publish(Hashes{7, 8}, recent);
  cache.release(recent);
  auto other = take(cache, {}, 4);  // evicts block 2 of the old prompt
  auto probe = take(cache, {1, 2}, 9);
  EXPECT_EQ(probe.cached, 1U);
  cache.release(probe);
  cache.release(other);
}

TEST(KvCache, ExtendsUntilFull) {
  KvCache cache(4, kBlockSize);
  auto table = take(cache, {}, 4);
  EXPECT_TRUE(cache.extend(table, 4));
  EXPECT_EQ(table.ids.size(), 1U);
  EXPECT_TRUE(cache.extend(table, 12));
  EXPECT_FALSE(cache.extend(table, 13));
}

TEST(KvCache, RandomUseNeverLosesOrDoublesABlock) {
  std::mt19937 random(7);
  KvCache cache(65, kBlockSize);
  std::vector<BlockTable> held;
  for (int step = 0; step < 20000; ++step) {
    if (random() % 2 == 0 || held.empty()) {
      Hashes hashes;
      const std::uint64_t family = random() % 4;
      const std::uint32_t tokens = 1 + static_cast<std::uint32_t>(random() % 40);
      for (std::uint64_t i = 0; i < tokens / kBlockSize; ++i) hashes.push_back(family * 100 + i);
      BlockTable table;
      if (cache.allocate(hashes, tokens, table)) {
        cache.publish(hashes, table);
        held.push_back(std::move(table));
      }
    } else {
      const std::size_t victim = random() % held.size();
      cache.release(held[victim]);
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(victim));
    }
    std::set<std::uint32_t> distinct;
    for (const BlockTable& table : held) {
      ASSERT_EQ(std::set<std::uint32_t>(table.ids.begin(), table.ids.end()).size(),
                table.ids.size());
      distinct.insert(table.ids.begin(), table.ids.end());
    }
    ASSERT_EQ(cache.in_use(), distinct.size());
  }
}

}  // namespace
}  // namespace pd::sim
