#pragma once

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "examples/pd-sim/answer_text.h"
#include "examples/pd-sim/handoff_ledger.h"
#include "examples/pd-sim/kv_cache.h"
#include "examples/pd-sim/sim_metrics.h"
#include "examples/pd-sim/time_model.h"

namespace pd::sim {

using Timer = boost::asio::basic_waitable_timer<Clock, boost::asio::wait_traits<Clock>,
                                                boost::asio::io_context::executor_type>;

struct Sequence;

// Whoever waits for the tokens of a sequence.
class SequenceSink {
 public:
  // Token number sequence.produced - 1 exists now; after the last one the sequence has left the
  // engine. May be called from within SimEngine::submit, and may abort any sequence.
  virtual void on_token(Sequence& sequence, bool last) = 0;

 protected:
  ~SequenceSink() = default;
};

enum class SequenceState : std::uint8_t {
  kNew,
  kWaiting,       // for a place among the running, for the prefill unit or for blocks
  kTransferring,  // its blocks come from a prefill pod; counts as waiting, as in vLLM
  kLoaded,        // blocks are here, waits for a place among the running
  kPrefilling,
  kDecoding,
  kFinished,
};

// One prompt being answered once. The first group is set by whoever submits it.
struct Sequence {
  std::shared_ptr<const Prompt> prompt;
  std::uint32_t choice = 0;
  std::uint32_t max_tokens = 1;       // >= 1
  bool stops_at_first_token = false;  // a stop condition holds for token 1: ends with "stop"
  bool wants_handoff = false;         // pin the blocks for a decode pod when done
  std::string engine_request_id;
  std::string client_request_id;
  std::function<void()> release_remote;  // set: the KV comes from a prefill pod; called once read
  SequenceSink* sink = nullptr;

  SequenceState state = SequenceState::kNew;
  bool aborted = false;
  BlockTable table;
  std::vector<std::uint32_t> handoff_blocks;  // filled at the end when wants_handoff held
  std::uint32_t produced = 0;
  std::uint32_t cached_tokens = 0;
  std::size_t live_index = 0;
  std::uint64_t timer_round = 0;  // a timer handler of an older round has nothing to do
  std::optional<Timer> timer;
  Clock::time_point submitted;
  Clock::time_point scheduled;
  Clock::time_point next_step;
};
using SequencePtr = std::shared_ptr<Sequence>;

// The scheduler of one simulated engine: first come first served, one prefill at a time, at most
// max_running sequences at work, blocks from the KV cache. Belongs to one thread.
class SimEngine {
 public:
  SimEngine(boost::asio::io_context& context, const TimeModel& model, std::uint32_t block_count,
            std::uint32_t block_size);

  void submit(const SequencePtr& sequence);
  // The client is gone: no more calls of its sink. Blocks are freed at once, except those a
  // transfer is just filling: they go, here and on the prefill pod, when the transfer ends.
  void abort(const SequencePtr& sequence);
  // A new process: new engine id, empty cache, every sequence and hand-off forgotten.
  void restart();
  // The decode side has read the blocks of a hand-off.
  void unpin(const std::string& request_id);

  TimeModel& model() { return model_; }
  HandoffLedger& ledger() { return ledger_; }
  EngineStats& stats() { return stats_; }
  const std::string& engine_id() const { return engine_id_; }
  std::uint32_t block_size() const { return block_size_; }
  // The longest prompt plus answer, in tokens.
  std::uint32_t max_model_len() const { return cache_.capacity() * block_size_; }

  EngineGauges gauges() const;
  std::uint32_t blocks_in_use() const { return cache_.in_use(); }
  std::uint32_t pinned_blocks() const;
  // Blocks held by nobody who could ever give them back; anything but 0 is a defect.
  std::uint32_t leaked_blocks() const;
  std::uint64_t orphaned_blocks() const { return orphaned_blocks_; }
  std::uint64_t handoffs_issued() const { return handoffs_issued_; }
  std::uint64_t handoffs_read() const { return handoffs_read_; }

 private:
  void pump();
  bool admit_one();
  void start_transfer(const SequencePtr& sequence);
  void start_prefill(const SequencePtr& sequence);
  void finish_transfer(const SequencePtr& sequence);
  void finish_prefill(const SequencePtr& sequence);
  void start_decode(const SequencePtr& sequence);
  void decode(const SequencePtr& sequence);
  // Makes the next token. False: the sequence does not go on (finished, preempted or aborted).
  bool produce(const SequencePtr& sequence);
  bool has_room(const SequencePtr& sequence);
  void preempt(const SequencePtr& sequence);
  void finish(const SequencePtr& sequence);
  void pin(Sequence& sequence);
  void arm_lease_timer();
  void retire(Sequence& sequence);
  template <class Next>
  void after(const SequencePtr& sequence, Clock::time_point when, Next next);

  boost::asio::io_context& context_;
  TimeModel model_;
  std::uint32_t block_count_;
  std::uint32_t block_size_;
  KvCache cache_;
  HandoffLedger ledger_;
  std::string engine_id_;
  EngineStats stats_;
  std::uint64_t orphaned_blocks_ = 0;
  std::uint64_t handoffs_issued_ = 0;
  std::uint64_t handoffs_read_ = 0;

  std::deque<SequencePtr> waiting_;
  std::deque<SequencePtr> loaded_;
  std::vector<SequencePtr> live_;
  std::uint32_t running_ = 0;
  std::uint32_t transferring_ = 0;
  bool prefill_busy_ = false;
  bool pumping_ = false;
  Timer lease_timer_;
  std::optional<Clock::time_point> lease_armed_for_;
};

// "8-4-4-4-12" hex digits, random.
std::string random_uuid();
std::uint64_t random_u64();

}  // namespace pd::sim
