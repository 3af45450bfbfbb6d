// Prefix hashing, matching and recording: the reference's own cases (256 blocks of 4 bytes), and
// long prompts in large fleets.
#include <benchmark/benchmark.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "framework/prefix/prefix_hash.h"
#include "framework/prefix/prefix_index.h"
#include "framework/prefix/prefix_recorder.h"

namespace pd {
namespace {

constexpr std::uint64_t kModel = 1;
const PrefixIndex::Clock::time_point kNow{std::chrono::seconds(1)};

std::vector<std::byte> repeating_bytes(std::size_t size, std::size_t factor) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(factor * i % 256);
  return bytes;
}

std::vector<std::uint64_t> hashes_of(std::size_t size, std::uint32_t block_size,
                                     std::size_t factor = 17, std::uint64_t seed = 0) {
  std::vector<std::uint64_t> hashes;
  hash_prefix(repeating_bytes(size, factor), block_size, seed, hashes);
  return hashes;
}

std::unique_ptr<PrefixIndex> make_index(std::uint64_t capacity) {
  return std::move(*PrefixIndex::create({capacity, std::chrono::minutes(20), 0}));
}

std::vector<PodKey> fleet_of(std::size_t pods) {
  std::vector<PodKey> fleet;
  for (std::uint32_t slot = 0; slot < pods; ++slot) fleet.push_back(make_pod_key(slot, slot));
  return fleet;
}

void GetPrefixHashes(benchmark::State& state) {
  const auto bytes = repeating_bytes(1024, 1);
  std::vector<std::uint64_t> hashes;
  for (auto _ : state) {
    hash_prefix(bytes, 4, 0, hashes);
    benchmark::DoNotOptimize(hashes.data());
  }
}
BENCHMARK(GetPrefixHashes);

// A new pod each time: the set of the blocks' pods grows up to all the slots there are.
void AddPrefix(benchmark::State& state) {
  auto index = make_index(200'000);
  const auto hashes = hashes_of(1024, 4, 31);
  std::uint32_t pod = 0;
  for (auto _ : state) {
    index->record(kModel, hashes, make_pod_key(pod % (kMaxPodSlot + 1), pod >> 16U), kNow);
    ++pod;
  }
}
BENCHMARK(AddPrefix)->Iterations(256)->Iterations(4096);

// The common case of recording: the pod has had the prompt before.
void RecordAgain(benchmark::State& state) {
  auto index = make_index(200'000);
  const auto hashes = hashes_of(1024, 4, 31);
  const auto fleet = fleet_of(16);
  std::size_t call = 0;
  for (auto _ : state) index->record(kModel, hashes, fleet[call++ % fleet.size()], kNow);
}
BENCHMARK(RecordAgain);

// New blocks all the time in a full index: each evicts one.
void RecordNew(benchmark::State& state) {
  auto index = make_index(200'000);
  const auto hashes = hashes_of(1024, 4, 31);
  std::uint64_t model = 0;
  for (auto _ : state) index->record(model++, hashes, 1, kNow);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(hashes.size()));
}
BENCHMARK(RecordNew);

void MatchPrefix(benchmark::State& state) {
  auto index = make_index(200'000);
  const auto hashes = hashes_of(1024, 4);
  const auto fleet = fleet_of(24);
  for (std::size_t pod = 0; pod < 16; ++pod) index->record(kModel, hashes, fleet[pod], kNow);
  PrefixMatchScratch scratch;
  for (auto _ : state) {
    benchmark::DoNotOptimize(index->match(kModel, hashes, fleet, scratch).data());
  }
}
BENCHMARK(MatchPrefix);

// Each thread matches and hands its record to the one writer, as a worker does.
class AddAndMatchParallel : public benchmark::Fixture {
 public:
  void SetUp(const benchmark::State& state) override {
    if (state.thread_index() != 0) return;
    index_ = make_index(200'000);
    recorder_ = std::make_unique<PrefixRecorder>(static_cast<std::size_t>(state.threads()));
    stop_ = false;
    writer_ = std::thread([this] {
      while (!stop_) {
        if (recorder_->drain(*index_, kNow) == 0) std::this_thread::yield();
      }
    });
  }
  void TearDown(const benchmark::State& state) override {
    if (state.thread_index() != 0) return;
    stop_ = true;
    writer_.join();
  }

 protected:
  std::unique_ptr<PrefixIndex> index_;
  std::unique_ptr<PrefixRecorder> recorder_;
  std::atomic<bool> stop_{false};
  std::thread writer_;
};

BENCHMARK_DEFINE_F(AddAndMatchParallel, Run)(benchmark::State& state) {
  const auto hashes = hashes_of(1024, 4);
  const auto fleet = fleet_of(24);
  PrefixMatchScratch scratch;
  std::size_t call = 0;
  for (auto _ : state) {
    recorder_->queue(static_cast<std::size_t>(state.thread_index()))
        .push(kModel, hashes, fleet[call++ % 16]);
    benchmark::DoNotOptimize(index_->match(kModel, hashes, fleet, scratch).data());
  }
  if (state.thread_index() == 0) {
    state.counters["dropped"] = static_cast<double>(recorder_->dropped());
  }
}
BENCHMARK_REGISTER_F(AddAndMatchParallel, Run)->Threads(1)->Threads(2)->Threads(4);

void HashLongPrompt(benchmark::State& state) {
  const auto bytes = repeating_bytes(static_cast<std::size_t>(state.range(0)), 17);
  const auto block_size = static_cast<std::uint32_t>(state.range(1));
  std::vector<std::uint64_t> hashes;
  for (auto _ : state) {
    hash_prefix(bytes, block_size, 0, hashes);
    benchmark::DoNotOptimize(hashes.data());
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(HashLongPrompt)->ArgsProduct({{128 << 10, 1 << 20}, {4, 16, 128}});

// All pods of the fleet hold the prompt, in a small index (hot caches).
void MatchShared(benchmark::State& state) {
  auto index = make_index(200'000);
  const auto hashes = hashes_of(static_cast<std::size_t>(state.range(0)), 128);
  const auto fleet = fleet_of(static_cast<std::size_t>(state.range(1)));
  for (const PodKey pod : fleet) index->record(kModel, hashes, pod, kNow);
  PrefixMatchScratch scratch;
  for (auto _ : state) {
    benchmark::DoNotOptimize(index->match(kModel, hashes, fleet, scratch).data());
  }
  if (scratch.depth() != hashes.size()) state.SkipWithError("the prompt did not match");
}
BENCHMARK(MatchShared)->ArgsProduct({{2 << 10, 128 << 10, 1 << 20}, {16, 512, 4096}});

// One of many prompts that one pod each holds, in an index of ten million blocks (cold caches).
void MatchInLargeIndex(benchmark::State& state) {
  auto index = make_index(10'000'000);
  const auto hashes = hashes_of(static_cast<std::size_t>(state.range(0)), 128);
  const auto fleet = fleet_of(static_cast<std::size_t>(state.range(1)));
  const std::uint64_t prompts = 10'000'000 / hashes.size();
  for (std::uint64_t model = 0; model < prompts; ++model) {
    index->record(model, hashes, fleet[model % fleet.size()], kNow);
  }
  PrefixMatchScratch scratch;
  std::uint64_t model = 0;
  for (auto _ : state) {
    model = (model + 7919) % prompts;
    benchmark::DoNotOptimize(index->match(model, hashes, fleet, scratch).data());
  }
  if (scratch.depth() != hashes.size()) state.SkipWithError("the prompt did not match");
  state.counters["index_MiB"] = static_cast<double>(index->stats().used_bytes) / (1 << 20);
}
BENCHMARK(MatchInLargeIndex)->ArgsProduct({{128 << 10, 1 << 20}, {16, 512, 4096}});

// A prompt that nobody has seen: the price of every cold request.
void MatchNothing(benchmark::State& state) {
  auto index = make_index(200'000);
  const auto hashes = hashes_of(128 << 10, 128);
  const auto fleet = fleet_of(static_cast<std::size_t>(state.range(0)));
  PrefixMatchScratch scratch;
  for (auto _ : state) {
    benchmark::DoNotOptimize(index->match(kModel, hashes, fleet, scratch).data());
  }
}
BENCHMARK(MatchNothing)->Arg(16)->Arg(512)->Arg(4096);

void PurgeLargeIndex(benchmark::State& state) {
  auto index = make_index(10'000'000);
  const auto hashes = hashes_of(1 << 20, 128);
  for (std::uint64_t model = 0; model < 10'000'000 / hashes.size(); ++model) {
    index->record(model, hashes, 1, kNow);
  }
  for (auto _ : state) benchmark::DoNotOptimize(index->purge(PodKey{2}));
}
BENCHMARK(PurgeLargeIndex);

}  // namespace
}  // namespace pd
