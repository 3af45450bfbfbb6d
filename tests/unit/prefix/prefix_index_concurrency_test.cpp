// One writer and several readers at the same time. Pods and prompts fall into families: a pod
// only ever gets prompts of its own family, so whatever a reader sees of another family is wrong.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "framework/prefix/prefix_hash.h"
#include "framework/prefix/prefix_index.h"
#include "framework/prefix/prefix_recorder.h"

namespace pd {
namespace {

using Hashes = std::vector<std::uint64_t>;
using Time = PrefixIndex::Clock::time_point;

constexpr std::uint64_t kModel = 3;
constexpr std::uint32_t kFamilies = 4;
constexpr std::uint32_t kPodsPerFamily = 16;
constexpr std::size_t kPromptsPerFamily = 24;
constexpr std::size_t kBlocks = 20;

PodKey pod_of(std::uint32_t family, std::uint32_t number, std::uint64_t incarnation = 1) {
  return make_pod_key(family * kPodsPerFamily + number, incarnation);
}

Hashes prompt_of(std::uint32_t family, std::size_t number) {
  std::vector<std::uint64_t> words(kBlocks, family * 1000 + number);
  Hashes hashes;
  hash_prefix(std::as_bytes(std::span(words)), 8, 0, hashes);
  return hashes;
}

// Number 0 of each family's pods holds prompt 0 of the family all the time; the rest comes and
// goes.
void write_round(PrefixIndex& index, std::mt19937& random, Time now) {
  for (std::uint32_t family = 0; family < kFamilies; ++family) {
    index.record(kModel, prompt_of(family, 0), pod_of(family, 0), now);
    const auto number = static_cast<std::uint32_t>(1 + random() % (kPodsPerFamily - 1));
    index.record(kModel, prompt_of(family, random() % kPromptsPerFamily), pod_of(family, number),
                 now);
    if (random() % 8 == 0) index.purge(pod_of(family, number));
  }
  index.sweep(now);
}

struct ReaderFindings {
  std::uint64_t matches = 0;
  std::uint64_t wrong_family = 0;
  std::uint64_t too_deep = 0;
  std::uint64_t stable_missing = 0;
};

ReaderFindings read_until(const PrefixIndex& index, const std::atomic<bool>& stop, unsigned seed) {
  ReaderFindings findings;
  PrefixMatchScratch scratch;
  std::mt19937 random(seed);
  std::vector<PodKey> pods;
  for (std::uint32_t family = 0; family < kFamilies; ++family) {
    for (std::uint32_t number = 0; number < kPodsPerFamily; ++number) {
      pods.push_back(pod_of(family, number));
    }
  }
  while (!stop.load(std::memory_order_relaxed)) {
    const auto family = static_cast<std::uint32_t>(random() % kFamilies);
    const std::size_t prompt = random() % 2 == 0 ? 0 : random() % kPromptsPerFamily;
    const auto matched = index.match(kModel, prompt_of(family, prompt), pods, scratch);
    for (std::uint32_t i = 0; i < pods.size(); ++i) {
      if (matched[i] > kBlocks) ++findings.too_deep;
      if (i / kPodsPerFamily != family && matched[i] != 0) ++findings.wrong_family;
    }
    if (prompt == 0 && matched[family * kPodsPerFamily] != kBlocks) ++findings.stable_missing;
    ++findings.matches;
  }
  return findings;
}

TEST(PrefixIndexConcurrency, ReadersSeeOnlyWhatWasRecorded) {
  // Holds the stable prompts and some of the rest, so that the writer evicts all the time.
  auto made = PrefixIndex::create({kFamilies * kBlocks * 6, std::chrono::milliseconds(50), 0});
  ASSERT_TRUE(made);
  PrefixIndex& index = **made;
  std::mt19937 random(1);
  Time now{std::chrono::seconds(1)};
  write_round(index, random, now);

  std::atomic<bool> stop{false};
  std::vector<ReaderFindings> findings(4);
  std::vector<std::thread> readers;
  for (unsigned i = 0; i < findings.size(); ++i) {
    readers.emplace_back([&, i] { findings[i] = read_until(index, stop, i); });
  }
  for (int round = 0; round < 8'000; ++round) {
    now += std::chrono::milliseconds(1);
    write_round(index, random, now);
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();

  std::uint64_t stable_missing = 0;
  for (const ReaderFindings& finding : findings) {
    EXPECT_GT(finding.matches, 0U);
    EXPECT_EQ(finding.wrong_family, 0U);
    EXPECT_EQ(finding.too_deep, 0U);
    stable_missing += finding.stable_missing;
  }
  EXPECT_LE(stable_missing, index.stats().abandoned_reads);
  EXPECT_GT(index.evictions() + index.stats().expired, 0U);
}

TEST(PrefixIndexConcurrency, Row10_ConcurrentMatchAndAdd) {
  auto made = PrefixIndex::create({1000, std::chrono::seconds(60), 0});
  ASSERT_TRUE(made);
  PrefixIndex& index = **made;
  constexpr std::size_t kThreads = 4;
  constexpr std::size_t kCalls = 250;
  PrefixRecorder recorder(kThreads);
  std::atomic<std::size_t> running{kThreads};
  std::vector<std::thread> workers;
  for (std::size_t worker = 0; worker < kThreads; ++worker) {
    workers.emplace_back([&, worker] {
      PrefixMatchScratch scratch;
      const std::vector<PodKey> pods{pod_of(0, 0), pod_of(0, 1), pod_of(0, 2), pod_of(0, 3)};
      for (std::size_t call = 0; call < kCalls; ++call) {
        const Hashes hashes = prompt_of(0, call % 10);
        index.match(kModel, hashes, pods, scratch);
        recorder.queue(worker).push(kModel, hashes, pods[worker]);
      }
      --running;
    });
  }
  const Time now{std::chrono::seconds(1)};
  while (running > 0) recorder.drain(index, now);
  recorder.drain(index, now);
  for (std::thread& worker : workers) worker.join();

  EXPECT_EQ(recorder.dropped(), 0U);
  EXPECT_EQ(index.size(), 10 * kBlocks);
  PrefixMatchScratch scratch;
  const std::vector<PodKey> pods{pod_of(0, 0), pod_of(0, 3)};
  for (std::size_t prompt = 0; prompt < 10; ++prompt) {
    const auto matched = index.match(kModel, prompt_of(0, prompt), pods, scratch);
    EXPECT_EQ(matched[0], kBlocks);
    EXPECT_EQ(matched[1], kBlocks);
  }
}

TEST(PrefixIndexConcurrency, Row22_CapacityHoldsUnderManyWriters) {
  auto made = PrefixIndex::create({5, std::chrono::seconds(60), 0});
  ASSERT_TRUE(made);
  PrefixIndex& index = **made;
  constexpr std::size_t kWriters = 10;
  PrefixRecorder recorder(kWriters);
  std::atomic<std::size_t> running{kWriters};
  std::vector<std::thread> writers;
  for (std::size_t writer = 0; writer < kWriters; ++writer) {
    writers.emplace_back([&, writer] {
      for (std::uint64_t key = 0; key < 20; ++key) {
        const Hashes hashes{writer * 1000 + key};
        recorder.queue(writer).push(kModel, hashes, pod_of(0, 0));
        EXPECT_LE(index.size(), 5U);
      }
      --running;
    });
  }
  while (running > 0) {
    recorder.drain(index, Time(std::chrono::seconds(1)));
    EXPECT_LE(index.size(), 5U);
  }
  recorder.drain(index, Time(std::chrono::seconds(1)));
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(index.size(), 5U);
  EXPECT_EQ(index.evictions(), kWriters * 20 - 5);
}

}  // namespace
}  // namespace pd
