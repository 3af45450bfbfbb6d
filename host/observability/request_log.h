// Takes the records of ended requests from the workers, writes their log lines and keeps their
// decisions for a while. Workers never wait: what does not fit in a queue is dropped and counted.
#pragma once

#include <atomic>
#include <boost/lockfree/spsc_queue.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "host/observability/request_record.h"

namespace pd {

// Keeps the newest records, bounded by number and by memory. Thread-safe.
class DecisionStore {
 public:
  DecisionStore(std::size_t most_records, std::size_t most_bytes)
      : most_records_(most_records), most_bytes_(most_bytes) {}

  void add(std::shared_ptr<const RequestRecord> record);

  // The newest record with this request id, or nullptr.
  std::shared_ptr<const RequestRecord> find(const std::string& request_id) const;

  // Up to `count` records, newest first.
  std::vector<std::shared_ptr<const RequestRecord>> newest(std::size_t count) const;

 private:
  const std::size_t most_records_;
  const std::size_t most_bytes_;
  mutable std::mutex mutex_;  // guards everything below
  std::deque<std::shared_ptr<const RequestRecord>> records_;
  std::unordered_map<std::string, std::shared_ptr<const RequestRecord>> by_id_;
  std::size_t bytes_ = 0;
};

// The queue of one worker.
class RequestRecordQueue {
 public:
  ~RequestRecordQueue();

  // [worker] Never waits; a record that does not fit is dropped and counted.
  void push(std::unique_ptr<RequestRecord> record);

  // [log thread] The oldest record, or nullptr.
  std::unique_ptr<RequestRecord> pop();

  std::uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kCapacity = 4096;
  boost::lockfree::spsc_queue<RequestRecord*, boost::lockfree::capacity<kCapacity>> ring_;
  std::atomic<std::uint64_t> dropped_{0};
};

// The thread that empties the queues. It also runs `housekeeping` (prefix records, sweeps) each
// turn.
class RequestLog {
 public:
  RequestLog(std::size_t workers, DecisionStore& store, bool json,
             std::function<void()> housekeeping);
  ~RequestLog();

  RequestRecordQueue& queue(std::size_t worker) { return *queues_[worker]; }
  std::uint64_t dropped() const;

  // Writes what is still queued and ends the thread.
  void stop();

 private:
  void run();
  bool drain();

  DecisionStore& store_;
  const bool json_;
  const std::function<void()> housekeeping_;
  std::vector<std::unique_ptr<RequestRecordQueue>> queues_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

// The log line of a request: for people, or as JSON.
std::string format_line(const RequestRecord& record, bool json);

}  // namespace pd
