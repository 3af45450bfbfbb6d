#include "framework/prefix/prefix_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "framework/prefix/prefix_hash.h"

namespace pd {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using Hashes = std::vector<std::uint64_t>;
using Time = PrefixIndex::Clock::time_point;

constexpr std::uint64_t kModel1 = 1;
constexpr std::uint64_t kModel2 = 2;
constexpr PodKey kPod1 = make_pod_key(1, 7);
constexpr PodKey kPod2 = make_pod_key(2, 8);
constexpr PodKey kPod3 = make_pod_key(3, 9);
const std::vector<PodKey> kPods{kPod1, kPod2, kPod3};

Time at(milliseconds since_start) {
  return Time(seconds(1000) + since_start);
}

std::unique_ptr<PrefixIndex> make_index(std::uint64_t capacity, milliseconds ttl = seconds(2),
                                        std::uint32_t pod_set_nodes = 0) {
  auto made = PrefixIndex::create({capacity, ttl, pod_set_nodes});
  return made ? std::move(*made) : nullptr;
}

Hashes hashes_of(unsigned first, unsigned last) {
  std::string bytes;
  for (unsigned value = first; value <= last; ++value) bytes.push_back(static_cast<char>(value));
  Hashes hashes;
  hash_prefix(std::as_bytes(std::span(bytes)), 4, 0, hashes);
  return hashes;
}

// As many different hashes as wanted, not like those of another `family`.
Hashes chain(std::uint64_t family, std::size_t blocks) {
  std::vector<std::uint64_t> numbers(blocks);
  std::iota(numbers.begin(), numbers.end(), 0);
  Hashes hashes;
  hash_prefix(std::as_bytes(std::span(numbers)), 8, family, hashes);
  return hashes;
}

std::vector<std::uint32_t> match(const PrefixIndex& index, std::uint64_t model,
                                 const Hashes& hashes, const std::vector<PodKey>& pods = kPods) {
  PrefixMatchScratch scratch;
  const auto matched = index.match(model, hashes, pods, scratch);
  return {matched.begin(), matched.end()};
}

// The table after the first add of the reference's sequence: pod 1 holds the blocks of 1..9.
std::unique_ptr<PrefixIndex> index_of_the_sequence() {
  auto index = make_index(100);
  index->record(kModel1, hashes_of(1, 9), kPod1, at({}));
  return index;
}

TEST(PrefixIndex, Row01_EmptyTableMatchesNobody) {
  const Hashes hashes = hashes_of(1, 9);
  EXPECT_EQ(hashes.size(), 2U);
  EXPECT_THAT(match(*make_index(100), kModel1, hashes), Each(0));
}

TEST(PrefixIndex, Row02_ShorterPromptMatchesInFull) {
  const Hashes hashes = hashes_of(1, 7);
  EXPECT_EQ(hashes.size(), 1U);
  EXPECT_THAT(match(*index_of_the_sequence(), kModel1, hashes), ElementsAre(1, 0, 0));
  EXPECT_EQ(match_percent(1, hashes.size()), 100U);
}

TEST(PrefixIndex, Row03_WholeBlocksMatchInFull) {
  const Hashes hashes = hashes_of(1, 8);
  EXPECT_EQ(hashes.size(), 2U);
  EXPECT_THAT(match(*index_of_the_sequence(), kModel1, hashes), ElementsAre(2, 0, 0));
}

TEST(PrefixIndex, Row04_PartialLastBlockIsIgnored) {
  const Hashes hashes = hashes_of(1, 9);
  EXPECT_EQ(hashes.size(), 2U);
  EXPECT_THAT(match(*index_of_the_sequence(), kModel1, hashes), ElementsAre(2, 0, 0));
}

TEST(PrefixIndex, Row05_LongerPromptMatchesInPart) {
  const Hashes hashes = hashes_of(1, 13);
  EXPECT_EQ(hashes.size(), 3U);
  EXPECT_THAT(match(*index_of_the_sequence(), kModel1, hashes), ElementsAre(2, 0, 0));
  EXPECT_EQ(match_percent(2, hashes.size()), 66U);
}

TEST(PrefixIndex, Row06_SameBytesBehindAnotherParentDoNotMatch) {
  const Hashes hashes = hashes_of(5, 13);
  EXPECT_EQ(hashes.size(), 2U);
  EXPECT_THAT(match(*index_of_the_sequence(), kModel1, hashes), Each(0));
}

TEST(PrefixIndex, Row07_AnotherModelDoesNotMatch) {
  const Hashes hashes = hashes_of(1, 13);
  EXPECT_EQ(hashes.size(), 3U);
  EXPECT_THAT(match(*index_of_the_sequence(), kModel2, hashes), Each(0));
}

TEST(PrefixIndex, Row19_ReadingDoesNotKeepABlock) {
  auto index = make_index(2);
  index->record(kModel1, Hashes{1}, kPod1, at({}));
  index->record(kModel1, Hashes{2}, kPod1, at({}));
  for (int reads = 0; reads < 3; ++reads) match(*index, kModel1, {1});
  index->record(kModel1, Hashes{3}, kPod1, at({}));
  EXPECT_THAT(match(*index, kModel1, {1}), Each(0));
  EXPECT_THAT(match(*index, kModel1, {2}), ElementsAre(1, 0, 0));
  EXPECT_THAT(match(*index, kModel1, {3}), ElementsAre(1, 0, 0));
  EXPECT_EQ(index->evictions(), 1U);
}

TEST(PrefixIndex, Row20_BlockLeavesAfterTheTtl) {
  auto index = make_index(10, seconds(2));
  index->record(kModel1, Hashes{1}, kPod1, at({}));
  EXPECT_EQ(index->sweep(at(milliseconds(2000))), 0U);
  EXPECT_THAT(match(*index, kModel1, {1}), ElementsAre(1, 0, 0));
  EXPECT_EQ(index->sweep(at(milliseconds(2001))), 1U);
  EXPECT_THAT(match(*index, kModel1, {1}), Each(0));
  EXPECT_EQ(index->size(), 0U);
  EXPECT_EQ(index->stats().expired, 1U);
  EXPECT_EQ(index->evictions(), 0U);
}

TEST(PrefixIndex, Row21_RecordingAgainUpdatesTheBlock) {
  auto index = make_index(10, seconds(2));
  index->record(kModel1, Hashes{1}, kPod1, at({}));
  index->record(kModel1, Hashes{1}, make_pod_key(1, 8), at(milliseconds(1500)));
  EXPECT_EQ(index->size(), 1U);
  EXPECT_THAT(match(*index, kModel1, {1}, {kPod1}), ElementsAre(0));
  EXPECT_THAT(match(*index, kModel1, {1}, {make_pod_key(1, 8)}), ElementsAre(1));
  EXPECT_EQ(index->sweep(at(milliseconds(3500))), 0U) << "recorded 2 s ago";
  EXPECT_EQ(index->sweep(at(milliseconds(3501))), 1U);
}

TEST(PrefixIndex, ReadingDoesNotProlongTheTtl) {
  auto index = make_index(10, seconds(2));
  index->record(kModel1, Hashes{1}, kPod1, at({}));
  index->sweep(at(milliseconds(1900)));
  EXPECT_THAT(match(*index, kModel1, {1}), ElementsAre(1, 0, 0));
  EXPECT_EQ(index->sweep(at(milliseconds(2001))), 1U);
}

TEST(PrefixIndex, PercentIsRoundedDown) {
  EXPECT_EQ(match_percent(0, 0), 0U);
  EXPECT_EQ(match_percent(0, 3), 0U);
  EXPECT_EQ(match_percent(1, 3), 33U);
  EXPECT_EQ(match_percent(199, 200), 99U);
  EXPECT_EQ(match_percent(200, 200), 100U);
  EXPECT_EQ(match_percent(4'000'000'000, 4'000'000'000), 100U);
}

TEST(PrefixIndex, EachPodKeepsItsOwnDepth) {
  auto index = make_index(100);
  const Hashes hashes = chain(1, 10);
  index->record(kModel1, std::span(hashes).first(2), kPod1, at({}));
  index->record(kModel1, hashes, kPod2, at({}));
  index->record(kModel1, std::span(hashes).first(7), kPod3, at({}));
  EXPECT_THAT(match(*index, kModel1, hashes), ElementsAre(2, 10, 7));
}

TEST(PrefixIndex, LaterBlocksWithoutTheFirstDoNotCount) {
  auto index = make_index(100);
  const Hashes hashes = chain(1, 10);
  index->record(kModel1, std::span(hashes).first(5), kPod1, at({}));
  index->record(kModel1, std::span(hashes).last(8), kPod2, at({}));
  EXPECT_THAT(match(*index, kModel1, hashes), ElementsAre(5, 0, 0));
}

TEST(PrefixIndex, GapEndsTheMatch) {
  auto index = make_index(100);
  const Hashes hashes = chain(1, 6);
  index->record(kModel1, hashes, kPod1, at({}));
  index->record(kModel1, std::span(hashes).first(2), kPod2, at({}));
  index->record(kModel1, std::span(hashes).last(3), kPod2, at({}));
  EXPECT_THAT(match(*index, kModel1, hashes), ElementsAre(6, 2, 0));
}

TEST(PrefixIndex, NothingToMatch) {
  auto index = index_of_the_sequence();
  EXPECT_THAT(match(*index, kModel1, {}), ElementsAre(0, 0, 0));
  EXPECT_TRUE(match(*index, kModel1, hashes_of(1, 9), {}).empty());
  EXPECT_THAT(match(*index, kModel1, hashes_of(1, 9), {make_pod_key(kMaxPodSlot, 0xFFFF)}),
              ElementsAre(0));
}

TEST(PrefixIndex, ScratchIsReusedForOtherFleets) {
  auto index = index_of_the_sequence();
  PrefixMatchScratch scratch;
  const Hashes hashes = hashes_of(1, 9);
  EXPECT_THAT(index->match(kModel1, hashes, kPods, scratch), ElementsAre(2, 0, 0));
  const std::vector<PodKey> others{kPod3, kPod1};
  EXPECT_THAT(index->match(kModel1, hashes, others, scratch), ElementsAre(0, 2));
  EXPECT_EQ(scratch.depth(), 2U);
  const std::vector<PodKey> without{kPod2, kPod3};
  EXPECT_THAT(index->match(kModel1, hashes, without, scratch), ElementsAre(0, 0));
  EXPECT_EQ(scratch.depth(), 0U);
}

TEST(PrefixIndex, RestartedPodInheritsNothing) {
  auto index = index_of_the_sequence();
  index->record(kModel1, hashes_of(1, 9), kPod2, at({}));
  const PodKey restarted = make_pod_key(1, 70000);
  EXPECT_THAT(match(*index, kModel1, hashes_of(1, 9), {restarted, kPod2}), ElementsAre(0, 2));
  index->record(kModel1, hashes_of(1, 5), restarted, at({}));
  EXPECT_THAT(match(*index, kModel1, hashes_of(1, 9), {restarted, kPod2}), ElementsAre(1, 2));
  EXPECT_THAT(match(*index, kModel1, hashes_of(1, 9), {kPod1}), ElementsAre(0))
      << "the new incarnation took the place of the old one in block 0";
}

TEST(PrefixIndex, FullIndexDropsTheLeastRecentlyRecorded) {
  auto index = make_index(100);
  for (std::uint64_t family = 0; family < 20; ++family) {
    index->record(kModel1, chain(family, 10), kPod1, at({}));
    EXPECT_LE(index->size(), 100U);
  }
  EXPECT_EQ(index->size(), 100U);
  EXPECT_EQ(index->evictions(), 100U);
  EXPECT_THAT(match(*index, kModel1, chain(9, 10)), ElementsAre(0, 0, 0));
  EXPECT_THAT(match(*index, kModel1, chain(10, 10)), ElementsAre(10, 0, 0));
}

TEST(PrefixIndex, RecordingAgainKeepsABlock) {
  auto index = make_index(20);
  for (std::uint64_t family = 1; family < 20; ++family) {
    index->record(kModel1, chain(0, 10), kPod1, at({}));
    index->record(kModel1, chain(family, 10), kPod2, at({}));
  }
  EXPECT_THAT(match(*index, kModel1, chain(0, 10)), ElementsAre(10, 0, 0));
}

TEST(PrefixIndex, PromptLargerThanTheIndex) {
  auto index = make_index(8);
  index->record(kModel1, chain(0, 100), kPod1, at({}));
  EXPECT_EQ(index->size(), 8U);
  EXPECT_EQ(index->evictions(), 92U);
}

TEST(PrefixIndex, SweepDropsOnlyWhatIsOld) {
  auto index = make_index(100, seconds(2));
  index->record(kModel1, chain(0, 10), kPod1, at({}));
  index->record(kModel1, chain(1, 10), kPod1, at(seconds(1)));
  index->record(kModel1, chain(0, 4), kPod2, at(seconds(2)));
  EXPECT_EQ(index->sweep(at(milliseconds(2500))), 6U);
  EXPECT_THAT(match(*index, kModel1, chain(0, 10)), ElementsAre(4, 4, 0));
  EXPECT_THAT(match(*index, kModel1, chain(1, 10)), ElementsAre(10, 0, 0));
}

TEST(PrefixIndex, TimeDoesNotRunBackwards) {
  auto index = make_index(100, seconds(2));
  index->record(kModel1, Hashes{1}, kPod1, at(seconds(10)));
  index->record(kModel1, Hashes{2}, kPod1, at(seconds(1)));
  EXPECT_EQ(index->sweep(at(seconds(12))), 0U);
  EXPECT_EQ(index->sweep(at(seconds(13))), 2U);
}

TEST(PrefixIndex, PurgeForgetsThePod) {
  auto index = make_index(100);
  index->record(kModel1, chain(0, 10), kPod1, at({}));
  index->record(kModel1, chain(0, 6), kPod2, at({}));
  index->record(kModel1, chain(1, 10), kPod1, at({}));
  index->record(kModel1, chain(2, 10), kPod3, at({}));
  EXPECT_EQ(index->purge(kPod1), 14U);
  EXPECT_EQ(index->size(), 16U);
  EXPECT_EQ(index->stats().purged, 14U);
  EXPECT_THAT(match(*index, kModel1, chain(0, 10)), ElementsAre(0, 6, 0));
  EXPECT_THAT(match(*index, kModel1, chain(1, 10)), ElementsAre(0, 0, 0));
  EXPECT_THAT(match(*index, kModel1, chain(2, 10)), ElementsAre(0, 0, 10));
  EXPECT_EQ(index->purge(std::vector<PodKey>{kPod3, kPod2}), 16U);
  EXPECT_EQ(index->size(), 0U);
}

TEST(PrefixIndex, PurgeOfAnUnknownPodChangesNothing) {
  auto index = index_of_the_sequence();
  EXPECT_EQ(index->purge(make_pod_key(1, 8)), 0U);
  EXPECT_EQ(index->purge(kNoPod), 0U);
  EXPECT_THAT(match(*index, kModel1, hashes_of(1, 9)), ElementsAre(2, 0, 0));
}

TEST(PrefixIndex, NobodyIsNotRecorded) {
  auto index = make_index(100);
  index->record(kModel1, chain(0, 10), kNoPod, at({}));
  EXPECT_EQ(index->size(), 0U);
}

TEST(PrefixIndex, WholeFleetSharesASystemPrompt) {
  auto index = make_index(10'000);
  const Hashes prompt = chain(0, 64);
  std::vector<PodKey> pods;
  for (std::uint32_t slot = 0; slot < 4096; ++slot) {
    pods.push_back(make_pod_key(slot, slot * 3));
    index->record(kModel1, prompt, pods.back(), at({}));
  }
  EXPECT_THAT(match(*index, kModel1, prompt, pods), Each(64));
  EXPECT_EQ(index->stats().forgotten_sets, 0U);
  // One set for the 64 blocks; the sets that grew into it were given back.
  EXPECT_LT(index->stats().used_bytes - make_index(10'000)->stats().used_bytes, 100'000U);

  EXPECT_EQ(index->purge(std::span(pods).first(4095)), 0U);
  EXPECT_THAT(match(*index, kModel1, prompt, {pods.back(), pods.front()}), ElementsAre(64, 0));
  EXPECT_EQ(index->purge(pods.back()), 64U);
}

TEST(PrefixIndex, WithoutRoomForASetABlockKeepsItsNewestPod) {
  auto index = make_index(100, seconds(2), /*pod_set_nodes=*/1);
  index->record(kModel1, Hashes{1}, kPod1, at({}));
  index->record(kModel1, Hashes{1}, kPod2, at({}));
  index->record(kModel1, Hashes{2}, kPod1, at({}));
  index->record(kModel1, Hashes{2}, kPod2, at({}));
  EXPECT_THAT(match(*index, kModel1, {1}), ElementsAre(1, 1, 0));
  EXPECT_THAT(match(*index, kModel1, {2}), ElementsAre(0, 1, 0));
  EXPECT_EQ(index->stats().forgotten_sets, 1U);
  index->purge(std::vector<PodKey>{kPod1, kPod2});
  index->record(kModel1, Hashes{3}, kPod1, at({}));
  index->record(kModel1, Hashes{3}, kPod3, at({}));
  EXPECT_THAT(match(*index, kModel1, {3}), ElementsAre(1, 0, 1)) << "the room was given back";
}

TEST(PrefixIndex, WithoutRoomForALargerSetItsNodesAreGivenBack) {
  // 12 pods fill one node; a set of 13 needs two, beside the old one.
  auto index = make_index(100, seconds(2), /*pod_set_nodes=*/2);
  for (std::uint32_t slot = 0; slot < 13; ++slot) {
    index->record(kModel1, Hashes{1}, make_pod_key(slot, 0), at({}));
  }
  EXPECT_EQ(index->stats().forgotten_sets, 1U);
  EXPECT_THAT(match(*index, kModel1, {1}, {make_pod_key(12, 0), make_pod_key(0, 0)}),
              ElementsAre(1, 0));
  for (std::uint32_t slot = 0; slot < 11; ++slot) {
    index->record(kModel1, Hashes{1}, make_pod_key(slot, 0), at({}));
  }
  EXPECT_EQ(index->stats().forgotten_sets, 1U);
}

TEST(PrefixIndex, OptionsOutOfRangeAreTold) {
  const auto none = PrefixIndex::create({0, seconds(1), 0});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, PrefixIndexErrorCode::kCapacityOutOfRange);
  EXPECT_THAT(none.error().message, HasSubstr("found 0 blocks, allowed: 1..1000000000"));
  const auto many = PrefixIndex::create({PrefixIndex::kMaxCapacity + 1, seconds(1), 0});
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().code, PrefixIndexErrorCode::kCapacityOutOfRange);
  const auto no_ttl = PrefixIndex::create({10, seconds(0), 0});
  ASSERT_FALSE(no_ttl);
  EXPECT_EQ(no_ttl.error().code, PrefixIndexErrorCode::kTtlOutOfRange);
  const auto long_ttl = PrefixIndex::create({10, PrefixIndex::kMaxTtl + milliseconds(1), 0});
  ASSERT_FALSE(long_ttl);
  EXPECT_EQ(long_ttl.error().code, PrefixIndexErrorCode::kTtlOutOfRange);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;  // shadow memory spoils what the process's own memory tells
#else
constexpr bool kSanitized = false;
#endif

TEST(PrefixIndexDeathTest, MissingAddressSpaceIsAnErrorValue) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer needs more address space than the limit leaves";
  const auto create_under_limit = [] {
    const rlimit limit{std::uint64_t{1} << 30U, std::uint64_t{1} << 30U};
    ::setrlimit(RLIMIT_AS, &limit);
    const auto made = PrefixIndex::create({100'000'000, seconds(1), 0});
    const bool told =
        !made && made.error().code == PrefixIndexErrorCode::kOutOfMemory &&
        made.error().message.find("100000000 blocks (Cannot allocate memory)") != std::string::npos;
    std::exit(told ? 0 : 1);
  };
  EXPECT_EXIT(create_under_limit(), testing::ExitedWithCode(0), "");
}

std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t total = 0;
  std::size_t resident = 0;
  statm >> total >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

TEST(PrefixIndex, BlockOfOnePodTakesLessThan64Bytes) {
  if (kSanitized) GTEST_SKIP() << "resident memory includes the sanitizer's";
  constexpr std::size_t kBlocks = 1'000'000;
  const std::size_t before = resident_bytes();
  auto index = make_index(kBlocks);
  EXPECT_LT(resident_bytes() - before, 4U << 20U) << "unused capacity costs no memory";
  Hashes hashes = chain(0, 1000);
  for (std::size_t prompt = 0; prompt < kBlocks / hashes.size(); ++prompt) {
    index->record(prompt, hashes, kPod1, at({}));
  }
  ASSERT_EQ(index->size(), kBlocks);
  EXPECT_LT(resident_bytes() - before, 64 * kBlocks);
  EXPECT_LT(index->stats().used_bytes, 64 * kBlocks);
}

TEST(PrefixIndex, TenMillionBlocksStayWithinOneGibibyte) {
  auto index = make_index(10'000'000);
  ASSERT_NE(index, nullptr);
  EXPECT_LT(index->stats().reserved_bytes, std::size_t{1} << 30U);
}

}  // namespace
}  // namespace pd
