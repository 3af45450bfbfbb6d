#include "framework/prefix/prefix_recorder.h"

namespace pd {
namespace {

// A larger buffer is given back after use: 1,024 records of long prompts would keep gigabytes.
constexpr std::size_t kKeptHashes = 1024;

}  // namespace

PrefixRecordQueue::PrefixRecordQueue() : records_(kCapacity) {
  for (Record& record : records_) free_.push(&record);
}

bool PrefixRecordQueue::push(std::uint64_t model_salt, std::span<const std::uint64_t> hashes,
                             PodKey pod) {
  if (hashes.empty()) return true;
  const std::size_t waiting = waiting_hashes_.load(std::memory_order_relaxed);
  const bool too_much = waiting != 0 && waiting + hashes.size() > kMaxWaitingHashes;
  Record* record = nullptr;
  if (too_much || !free_.pop(record)) {
    drop();
    return false;
  }
  record->model_salt = model_salt;
  record->pod = pod;
  record->hashes.assign(hashes.begin(), hashes.end());
  waiting_hashes_.fetch_add(hashes.size(), std::memory_order_relaxed);
  waiting_.push(record);  // has room for all records there are
  return true;
}

std::size_t PrefixRecordQueue::drain(PrefixIndex& index, PrefixIndex::Clock::time_point now) {
  // Only what waits now: a fast producer must not keep the writer here.
  const std::size_t count = waiting_.read_available();
  for (std::size_t i = 0; i < count; ++i) {
    Record* record = nullptr;
    waiting_.pop(record);
    index.record(record->model_salt, record->hashes, record->pod, now);
    waiting_hashes_.fetch_sub(record->hashes.size(), std::memory_order_relaxed);
    if (record->hashes.capacity() > kKeptHashes) std::vector<std::uint64_t>().swap(record->hashes);
    free_.push(record);
  }
  return count;
}

void PrefixRecordQueue::drop() {
  dropped_.store(dropped_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

PrefixRecorder::PrefixRecorder(std::size_t producers) {
  for (std::size_t i = 0; i < producers; ++i) {
    queues_.push_back(std::make_unique<PrefixRecordQueue>());
  }
}

std::size_t PrefixRecorder::drain(PrefixIndex& index, PrefixIndex::Clock::time_point now) {
  std::size_t count = 0;
  for (const auto& queue : queues_) count += queue->drain(index, now);
  return count;
}

std::uint64_t PrefixRecorder::dropped() const {
  std::uint64_t dropped = 0;
  for (const auto& queue : queues_) dropped += queue->dropped();
  return dropped;
}

}  // namespace pd
