// Which pods have which prompt blocks in their KV cache, as far as routing knows.
//
// Filled from the router's own decisions: a pod that was given a prompt is taken to hold its
// blocks. Fixed capacity; the least recently recorded block leaves first, and a block that was not
// recorded for the TTL leaves too. Reading refreshes neither.
//
// Threads: one writer thread (record, sweep, purge); any number of readers (match, statistics) at
// the same time, which take no lock, allocate nothing and never wait for the writer.
#pragma once

#include <boost/system/result.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "framework/prefix/pod_key.h"
#include "framework/prefix/pod_set_pool.h"
#include "framework/prefix/prefix_index_error.h"
#include "framework/prefix/prefix_match_scratch.h"
#include "framework/prefix/reserved_array.h"

namespace pd {

struct PrefixIndexOptions {
  std::uint64_t capacity = 2'000'000;             ///< blocks, 1..PrefixIndex::kMaxCapacity
  std::chrono::milliseconds ttl{20 * 60 * 1000};  ///< 1 ms..PrefixIndex::kMaxTtl
  /// Room for sets of two pods and more, in nodes of 12 pods and 64 bytes; 0 = by capacity.
  std::uint32_t pod_set_nodes = 0;
};

/// Counters since construction and sizes now. Each value is exact, the whole is not one instant.
struct PrefixIndexStats {
  std::uint64_t blocks;           ///< now in the index
  std::uint64_t evicted;          ///< blocks that left because the index was full
  std::uint64_t expired;          ///< blocks that left because of the TTL
  std::uint64_t purged;           ///< blocks that left because their last pod went
  std::uint64_t forgotten_sets;   ///< times a block kept only its newest pod: no room for a set
  std::uint64_t abandoned_reads;  ///< blocks taken as missing because the writer was in the way
  std::uint64_t used_bytes;       ///< memory of blocks and sets touched so far, and of the table
  std::uint64_t reserved_bytes;   ///< address space: used_bytes never exceeds it
};

class PrefixIndex {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr std::uint64_t kMaxCapacity = 1'000'000'000;
  static constexpr std::chrono::milliseconds kMaxTtl = std::chrono::hours(720);

  /// Reserves address space for the whole capacity; pages cost memory only once they are used.
  static boost::system::result<std::unique_ptr<PrefixIndex>, PrefixIndexError> create(
      const PrefixIndexOptions& options);

  PrefixIndex(const PrefixIndex&) = delete;
  PrefixIndex& operator=(const PrefixIndex&) = delete;

  /// [any thread] How many blocks each candidate holds without a gap from block 0 on. The result
  /// lies in `scratch` and is valid until its next use. `model_salt` stands for the model (and
  /// whatever else changes the engine's computation): blocks of another salt never match.
  /// REQUIRES: no two candidates with the same slot; `scratch` is used by no other thread.
  std::span<const std::uint32_t> match(std::uint64_t model_salt,
                                       std::span<const std::uint64_t> hashes,
                                       std::span<const PodKey> candidates,
                                       PrefixMatchScratch& scratch) const;

  /// [writer thread] `pod` now holds all these blocks. Other incarnations of its slot leave the
  /// blocks. kNoPod records nothing. Time does not run backwards: an earlier `now` counts as the
  /// latest that was seen.
  void record(std::uint64_t model_salt, std::span<const std::uint64_t> hashes, PodKey pod,
              Clock::time_point now);

  /// [writer thread] Drops blocks older than the TTL; costs only what it drops. Gives their number.
  /// REQUIRES: called at least once in 19 days, or ages wrap.
  std::size_t sweep(Clock::time_point now);

  /// [writer thread] Forgets pods, and the blocks that only they held. Walks the whole index: give
  /// all pods that went in one call. Gives the number of blocks that left.
  std::size_t purge(std::span<const PodKey> pods);
  std::size_t purge(PodKey pod) { return purge(std::span<const PodKey>(&pod, 1)); }

  /// [any thread]
  std::size_t size() const { return blocks_.load(std::memory_order_relaxed); }
  std::uint64_t evictions() const { return evicted_.load(std::memory_order_relaxed); }
  PrefixIndexStats stats() const;

 private:
  // A change of a bucket's chain, or of the holders of an entry in it, makes the version odd while
  // it lasts (a seqlock per bucket).
  struct Bucket {
    std::atomic<std::uint32_t> version;
    std::atomic<std::uint32_t> head;  // entry, 0 = none
  };

  // One block; a free entry has key 0 and kNoPod. serial == 0: `holders` is the only pod. Else it
  // is a PodSetHandle, and serial is of this set alone: equal (serial, holders) of two blocks mean
  // equal holders.
  struct Entry {
    std::atomic<std::uint64_t> key;
    std::atomic<std::uint32_t> next;  // in the bucket's chain, or in the list of free entries
    std::atomic<std::uint32_t> holders;
    std::atomic<std::uint32_t> serial;
    // The writer's own:
    std::uint32_t newer;
    std::uint32_t older;
    std::uint32_t recorded_ms;  // modulo 2^32
  };
  static_assert(sizeof(Entry) == 32);

  struct Holders {
    std::uint32_t holders = kNoPod;
    std::uint32_t serial = 0;
    bool operator==(const Holders&) const = default;
  };

  // Where a reader met a block, and who holds it.
  struct BlockPlace {
    std::uint32_t entry = 0;
    Holders holders;
  };

  enum class BlockRead : std::uint8_t { kHeld, kMissing, kTorn };
  class BucketChange;
  class SetMemo;

  PrefixIndex();
  int reserve(std::uint64_t capacity, std::uint32_t pod_set_nodes);

  std::uint64_t key_of(std::uint64_t mixed_salt, std::uint64_t hash) const;
  Bucket& bucket_of(std::uint64_t key) { return buckets_[(key * multiplier_) >> shift_]; }
  const Bucket& bucket_of(std::uint64_t key) const {
    return buckets_[(key * multiplier_) >> shift_];
  }
  void prefetch_bucket(std::uint64_t key) const;
  void prefetch_entry(std::uint64_t key) const;

  bool match_block(std::uint64_t key, BlockPlace& last, PrefixMatchScratch& scratch) const;
  BlockRead try_read_block(std::uint64_t key, const BlockPlace& last, BlockPlace& found,
                           PrefixMatchScratch& scratch) const;
  std::uint32_t find_while_changing(const Bucket& bucket, std::uint64_t key) const;

  std::uint32_t milliseconds(Clock::time_point now);
  std::uint32_t find(const Bucket& bucket, std::uint64_t key) const;
  void insert(Bucket& bucket, std::uint64_t key, PodKey pod);
  bool holds(std::uint32_t index, std::uint64_t key) const;
  void add_holder(Entry& entry, PodKey pod, SetMemo& memo);
  Holders holders_with(Holders before, PodKey pod);
  std::uint32_t take_entry();
  void remove(std::uint32_t index);
  void evict_oldest();
  void link_newest(std::uint32_t index);
  void unlink(std::uint32_t index);

  std::uint64_t multiplier_;  // odd, random: nobody can aim prompts at one bucket
  unsigned shift_ = 0;
  std::uint64_t capacity_ = 0;
  std::uint32_t ttl_ms_ = 0;
  ReservedArray<Bucket> buckets_;
  ReservedArray<Entry> entries_;  // [0] is never used
  PodSetPool sets_;

  // The writer's own:
  Clock::time_point latest_{};
  std::uint32_t latest_ms_ = 0;
  std::uint32_t newest_ = 0;
  std::uint32_t oldest_ = 0;
  std::uint32_t free_ = 0;
  std::uint32_t last_serial_ = 0;

  std::atomic<std::uint32_t> touched_{1};  // entries that were ever used
  std::atomic<std::uint64_t> blocks_{0};
  std::atomic<std::uint64_t> evicted_{0};
  std::atomic<std::uint64_t> expired_{0};
  std::atomic<std::uint64_t> purged_{0};
  std::atomic<std::uint64_t> forgotten_sets_{0};
  mutable std::atomic<std::uint64_t> abandoned_reads_{0};
};

/// Whole percent of the prompt's blocks that matched, rounded down; 0 of a prompt without blocks.
constexpr std::uint32_t match_percent(std::uint32_t matched, std::size_t total) {
  return total == 0 ? 0 : static_cast<std::uint32_t>(std::uint64_t{matched} * 100 / total);
}

}  // namespace pd
