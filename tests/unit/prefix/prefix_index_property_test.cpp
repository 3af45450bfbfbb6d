// Random operations on the index and on a plain table that does the same by the definition.
#include <gtest/gtest.h>

#include <list>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "framework/prefix/prefix_index.h"

namespace pd {
namespace {

using std::chrono::milliseconds;
using Time = PrefixIndex::Clock::time_point;
using Key = std::pair<std::uint64_t, std::uint64_t>;  // model, hash

class PlainTable {
 public:
  PlainTable(std::size_t capacity, milliseconds ttl) : capacity_(capacity), ttl_(ttl) {}

  void record(std::uint64_t model, const std::vector<std::uint64_t>& hashes, PodKey pod, Time now) {
    for (const std::uint64_t hash : hashes) {
      const Key key{model, hash};
      if (blocks_.count(key) == 0 && blocks_.size() == capacity_) {
        drop(order_.back());
      }
      Block& block = blocks_[key];
      std::erase_if(block.pods, [&](PodKey other) { return slot_of(other) == slot_of(pod); });
      block.pods.insert(pod);
      block.time = now;
      order_.remove(key);
      order_.push_front(key);
    }
  }

  void sweep(Time now) {
    while (!order_.empty() && now - blocks_[order_.back()].time > ttl_) drop(order_.back());
  }

  void purge(PodKey pod) {
    std::vector<Key> orphans;
    for (auto& [key, block] : blocks_) {
      if (block.pods.erase(pod) > 0 && block.pods.empty()) orphans.push_back(key);
    }
    for (const Key& key : orphans) drop(key);
  }

  std::uint32_t matched(std::uint64_t model, const std::vector<std::uint64_t>& hashes,
                        PodKey pod) const {
    std::uint32_t count = 0;
    for (const std::uint64_t hash : hashes) {
      const auto block = blocks_.find({model, hash});
      if (block == blocks_.end() || block->second.pods.count(pod) == 0) break;
      ++count;
    }
    return count;
  }

  std::size_t size() const { return blocks_.size(); }

 private:
  struct Block {
    std::set<PodKey> pods;
    Time time;
  };

  void drop(Key key) {
    blocks_.erase(key);
    order_.remove(key);
  }

  std::size_t capacity_;
  milliseconds ttl_;
  std::map<Key, Block> blocks_;
  std::list<Key> order_;  // newest first
};

class RandomOperations {
 public:
  explicit RandomOperations(std::uint64_t seed) : random_(seed) {
    for (std::uint32_t slot = 0; slot < kSlots; ++slot) incarnations_.push_back(slot);
  }

  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }
  PodKey pod() {
    const auto slot = static_cast<std::uint32_t>(below(kSlots));
    return make_pod_key(slot, incarnations_[slot]);
  }
  PodKey restart() {
    const auto slot = static_cast<std::uint32_t>(below(kSlots));
    const PodKey before = make_pod_key(slot, incarnations_[slot]);
    incarnations_[slot] += 100;
    return before;
  }
  std::vector<PodKey> all_pods() const {
    std::vector<PodKey> pods;
    for (std::uint32_t slot = 0; slot < kSlots; ++slot) {
      pods.push_back(make_pod_key(slot, incarnations_[slot]));
    }
    return pods;
  }
  // A path through a small tree of blocks, so that prompts share prefixes; sometimes repeated.
  std::vector<std::uint64_t> prompt() {
    std::vector<std::uint64_t> hashes;
    std::uint64_t node = below(3);
    for (std::uint64_t length = below(12); length > 0; --length) {
      hashes.push_back(node * 0x9E3779B97F4A7C15ULL);
      node = node * 3 + 3 + (below(4) == 0 ? below(3) : 0);
    }
    if (below(20) == 0) hashes.insert(hashes.end(), hashes.begin(), hashes.end());
    return hashes;
  }

 private:
  static constexpr std::uint32_t kSlots = 40;  // sets of several nodes
  std::mt19937_64 random_;
  std::vector<std::uint64_t> incarnations_;
};

void compare(const PrefixIndex& index, const PlainTable& table, RandomOperations& random,
             PrefixMatchScratch& scratch) {
  ASSERT_EQ(index.size(), table.size());
  const std::uint64_t model = random.below(2);
  const std::vector<std::uint64_t> hashes = random.prompt();
  const std::vector<PodKey> pods = random.all_pods();
  const auto matched = index.match(model, hashes, pods, scratch);
  for (std::size_t i = 0; i < pods.size(); ++i) {
    ASSERT_EQ(matched[i], table.matched(model, hashes, pods[i])) << "pod " << i;
  }
}

class PrefixIndexProperty : public testing::TestWithParam<std::uint64_t> {};

TEST_P(PrefixIndexProperty, AgreesWithAPlainTable) {
  RandomOperations random(GetParam());
  const std::size_t capacity = 1 + random.below(120);
  const milliseconds ttl(1 + random.below(400));
  auto made = PrefixIndex::create({capacity, ttl, 0});
  ASSERT_TRUE(made);
  PrefixIndex& index = **made;
  PlainTable table(capacity, ttl);
  PrefixMatchScratch scratch;
  Time now{std::chrono::seconds(5)};
  for (int step = 0; step < 4000; ++step) {
    const std::uint64_t dice = random.below(100);
    if (dice < 60) {
      const std::uint64_t model = random.below(2);
      const std::vector<std::uint64_t> hashes = random.prompt();
      const PodKey pod = random.pod();
      index.record(model, hashes, pod, now);
      table.record(model, hashes, pod, now);
    } else if (dice < 62) {
      index.sweep(now);
      table.sweep(now);
    } else if (dice < 64) {
      const PodKey gone = random.restart();
      if (random.below(2) == 0) {
        index.purge(gone);
        table.purge(gone);
      }
    } else {
      now += milliseconds(random.below(4));
    }
    ASSERT_NO_FATAL_FAILURE(compare(index, table, random, scratch)) << "step " << step;
  }
  EXPECT_EQ(index.stats().forgotten_sets, 0U);
  EXPECT_EQ(index.stats().abandoned_reads, 0U);
}

INSTANTIATE_TEST_SUITE_P(Seeds, PrefixIndexProperty, testing::Range<std::uint64_t>(1, 13));

}  // namespace
}  // namespace pd
