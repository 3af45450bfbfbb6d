// Hands what workers want recorded in the prefix index to its one writer thread.
//
// One queue per producer, so that producers never wait for each other or for the writer; what does
// not fit is dropped and counted, since a lost record costs one cache hit at most.
#pragma once

#include <boost/lockfree/spsc_queue.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "framework/prefix/prefix_index.h"

namespace pd {

/// The records of one producer: one thread pushes, one thread drains.
class PrefixRecordQueue {
 public:
  /// Records that wait, as many as in the reference.
  static constexpr std::size_t kCapacity = 1024;
  /// Hashes that wait in all records together (8 MiB); a single record may be larger.
  static constexpr std::size_t kMaxWaitingHashes = std::size_t{1} << 20U;

  PrefixRecordQueue();
  PrefixRecordQueue(const PrefixRecordQueue&) = delete;
  PrefixRecordQueue& operator=(const PrefixRecordQueue&) = delete;

  /// [producer] Copies the record; false when the queue is full: then it is dropped and counted.
  /// No hashes: nothing to record, true.
  bool push(std::uint64_t model_salt, std::span<const std::uint64_t> hashes, PodKey pod);

  /// [writer] Records what waits now; gives the number of records.
  std::size_t drain(PrefixIndex& index, PrefixIndex::Clock::time_point now);

  /// [any thread]
  std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  struct Record {
    std::uint64_t model_salt = 0;
    PodKey pod = kNoPod;
    std::vector<std::uint64_t> hashes;
  };
  using Ring = boost::lockfree::spsc_queue<Record*, boost::lockfree::capacity<kCapacity>>;

  void drop();

  // Records circulate: the producer takes a free one and fills it, the writer gives it back.
  std::vector<Record> records_;
  Ring free_;
  Ring waiting_;
  std::atomic<std::size_t> waiting_hashes_{0};
  std::atomic<std::uint64_t> dropped_{0};
};

class PrefixRecorder {
 public:
  explicit PrefixRecorder(std::size_t producers);

  /// The queue of one producer (a worker thread), 0..producers-1; lives as long as the recorder.
  PrefixRecordQueue& queue(std::size_t producer) { return *queues_[producer]; }

  /// [writer] Records what waits now in all queues; gives the number of records.
  std::size_t drain(PrefixIndex& index, PrefixIndex::Clock::time_point now);

  /// [any thread] Records that were dropped, of all producers.
  std::uint64_t dropped() const;

 private:
  std::vector<std::unique_ptr<PrefixRecordQueue>> queues_;
};

}  // namespace pd
