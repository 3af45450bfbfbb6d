#include "examples/pd-sim/sim_engine.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <random>
#include <utility>

namespace pd::sim {
namespace {

void erase_from(std::deque<SequencePtr>& queue, const SequencePtr& sequence) {
  queue.erase(std::find(queue.begin(), queue.end(), sequence));
}

}  // namespace

SimEngine::SimEngine(boost::asio::io_context& context, const TimeModel& model,
                     std::uint32_t block_count, std::uint32_t block_size)
    : context_(context),
      model_(model),
      block_count_(block_count),
      block_size_(block_size),
      cache_(block_count, block_size),
      engine_id_(random_uuid()),
      lease_timer_(context) {
  ledger_.restart(engine_id_);
}

void SimEngine::submit(const SequencePtr& sequence) {
  sequence->submitted = Clock::now();
  sequence->state = SequenceState::kWaiting;
  sequence->live_index = live_.size();
  live_.push_back(sequence);
  waiting_.push_back(sequence);
  pump();
}

void SimEngine::pump() {
  // A sequence that ends inside admit_one pumps again: the outer loop does that work.
  if (pumping_) return;
  pumping_ = true;
  while (admit_one()) {
  }
  pumping_ = false;
}

bool SimEngine::admit_one() {
  if (!loaded_.empty() && running_ < model_.max_running) {
    const SequencePtr sequence = loaded_.front();
    loaded_.pop_front();
    ++running_;
    start_decode(sequence);
    return true;
  }
  if (waiting_.empty()) return false;
  const SequencePtr sequence = waiting_.front();
  const bool remote = static_cast<bool>(sequence->release_remote);
  if (!remote && (prefill_busy_ || running_ >= model_.max_running)) return false;
  const std::uint32_t tokens = sequence->prompt->tokens + sequence->produced;
  if (!cache_.allocate(sequence->prompt->block_hashes, tokens, sequence->table)) return false;
  waiting_.pop_front();
  const std::uint32_t cached = sequence->table.cached * block_size_;
  stats_.prefix_queries += tokens;
  stats_.prefix_hits += cached;
  if (sequence->produced == 0) sequence->cached_tokens = cached;
  if (remote) {
    start_transfer(sequence);
  } else {
    start_prefill(sequence);
  }
  return true;
}

template <class Next>
void SimEngine::after(const SequencePtr& sequence, Clock::time_point when, Next next) {
  if (!sequence->timer) sequence->timer.emplace(context_);
  sequence->timer->expires_at(when);
  sequence->timer->async_wait(
      [sequence, round = ++sequence->timer_round, next](boost::system::error_code error) {
        if (!error && sequence->timer_round == round) next();
      });
}

void SimEngine::start_transfer(const SequencePtr& sequence) {
  sequence->state = SequenceState::kTransferring;
  ++transferring_;
  const Duration cost = model_.transfer(sequence->prompt->tokens - sequence->cached_tokens);
  if (cost <= Duration::zero()) return finish_transfer(sequence);
  after(sequence, Clock::now() + cost, [this, sequence] { finish_transfer(sequence); });
}

void SimEngine::finish_transfer(const SequencePtr& sequence) {
  --transferring_;
  std::exchange(sequence->release_remote, nullptr)();
  cache_.publish(sequence->prompt->block_hashes, sequence->table);
  if (sequence->aborted) {
    retire(*sequence);
    return pump();
  }
  stats_.prompt_tokens_cached += sequence->cached_tokens;
  stats_.prompt_tokens_transferred += sequence->prompt->tokens - sequence->cached_tokens;
  sequence->state = SequenceState::kLoaded;
  loaded_.push_back(sequence);
  pump();
}

void SimEngine::start_prefill(const SequencePtr& sequence) {
  sequence->state = SequenceState::kPrefilling;
  sequence->scheduled = Clock::now();
  ++running_;
  prefill_busy_ = true;
  const std::uint32_t tokens = sequence->prompt->tokens + sequence->produced;
  const Duration cost = model_.prefill(tokens - sequence->table.cached * block_size_);
  if (cost <= Duration::zero()) return finish_prefill(sequence);
  after(sequence, sequence->scheduled + cost, [this, sequence] { finish_prefill(sequence); });
}

void SimEngine::finish_prefill(const SequencePtr& sequence) {
  prefill_busy_ = false;
  cache_.publish(sequence->prompt->block_hashes, sequence->table);
  const auto now = Clock::now();
  if (sequence->produced == 0) {
    stats_.prompt_tokens_cached += sequence->cached_tokens;
    stats_.prompt_tokens_computed += sequence->prompt->tokens - sequence->cached_tokens;
    stats_.prefill_time.observe(now - sequence->scheduled);
  }
  sequence->state = SequenceState::kDecoding;
  sequence->next_step = now;
  if (produce(sequence)) decode(sequence);
  pump();
}

void SimEngine::start_decode(const SequencePtr& sequence) {
  sequence->state = SequenceState::kDecoding;
  sequence->next_step = sequence->scheduled = Clock::now();
  decode(sequence);
}

void SimEngine::decode(const SequencePtr& sequence) {
  do {
    const Duration step = model_.decode_step(running_);
    if (step > Duration::zero()) {
      sequence->next_step += step;
      after(sequence, sequence->next_step, [this, sequence] {
        if (produce(sequence)) decode(sequence);
      });
      return;
    }
  } while (produce(sequence));
}

bool SimEngine::produce(const SequencePtr& sequence) {
  if (!has_room(sequence)) return false;
  ++sequence->produced;
  ++stats_.generation_tokens;
  const bool last = sequence->produced == sequence->max_tokens || sequence->stops_at_first_token;
  if (last) finish(sequence);
  if (sequence->sink != nullptr) sequence->sink->on_token(*sequence, last);
  if (last) pump();
  return sequence->state == SequenceState::kDecoding;
}

bool SimEngine::has_room(const SequencePtr& sequence) {
  if (cache_.extend(sequence->table, sequence->prompt->tokens + sequence->produced)) return true;
  preempt(sequence);
  return false;
}

void SimEngine::preempt(const SequencePtr& sequence) {
  ++stats_.preemptions;
  --running_;
  cache_.release(sequence->table);
  sequence->state = SequenceState::kWaiting;
  waiting_.push_front(sequence);
  // The caller is in the middle of a step: what the freed blocks allow is decided after it.
  boost::asio::post(context_, [this] { pump(); });
}

void SimEngine::finish(const SequencePtr& sequence) {
  --running_;
  ++(sequence->stops_at_first_token ? stats_.finished_stop : stats_.finished_length);
  stats_.e2e_latency.observe(Clock::now() - sequence->submitted);
  if (sequence->wants_handoff && !sequence->stops_at_first_token) pin(*sequence);
  retire(*sequence);
}

void SimEngine::pin(Sequence& sequence) {
  sequence.handoff_blocks = sequence.table.ids;
  ++handoffs_issued_;
  Handoff handoff{engine_id_,
                  sequence.engine_request_id,
                  sequence.client_request_id,
                  sequence.prompt->hash,
                  sequence.prompt->tokens,
                  sequence.table.ids};
  ledger_.issue(std::move(handoff), std::exchange(sequence.table, {}), Clock::now() + model_.lease);
  arm_lease_timer();
}

void SimEngine::arm_lease_timer() {
  const auto due = ledger_.next_expiry();
  if (!due || (lease_armed_for_ && *lease_armed_for_ <= *due)) return;
  lease_armed_for_ = due;
  lease_timer_.expires_at(*due);
  lease_timer_.async_wait([this](boost::system::error_code error) {
    if (error) return;
    lease_armed_for_.reset();
    for (BlockTable& table : ledger_.expire(Clock::now())) {
      ++stats_.handoffs_expired;
      orphaned_blocks_ += table.ids.size();
      cache_.release(table);
    }
    arm_lease_timer();
    pump();
  });
}

void SimEngine::unpin(const std::string& request_id) {
  auto table = ledger_.finish_read(request_id);
  if (!table) return;
  ++handoffs_read_;
  cache_.release(*table);
  pump();
}

void SimEngine::abort(const SequencePtr& sequence) {
  sequence->sink = nullptr;
  if (sequence->aborted || sequence->state == SequenceState::kFinished ||
      sequence->state == SequenceState::kNew) {
    return;
  }
  sequence->aborted = true;
  ++stats_.finished_abort;
  switch (sequence->state) {
    case SequenceState::kTransferring:
      return;
    case SequenceState::kWaiting:
      erase_from(waiting_, sequence);
      // As vLLM does: prefill is told that nobody will come for the blocks.
      if (sequence->release_remote) std::exchange(sequence->release_remote, nullptr)();
      break;
    case SequenceState::kLoaded:
      erase_from(loaded_, sequence);
      break;
    case SequenceState::kPrefilling:
      prefill_busy_ = false;
      [[fallthrough]];
    default:
      --running_;
  }
  retire(*sequence);
  pump();
}

void SimEngine::retire(Sequence& sequence) {
  ++sequence.timer_round;
  if (sequence.timer) sequence.timer->cancel();
  sequence.state = SequenceState::kFinished;
  cache_.release(sequence.table);
  const std::size_t index = sequence.live_index;
  if (index + 1 != live_.size()) {
    live_[index] = std::move(live_.back());
    live_[index]->live_index = index;
  }
  live_.pop_back();
}

void SimEngine::restart() {
  for (const SequencePtr& sequence : live_) {
    ++sequence->timer_round;
    sequence->state = SequenceState::kFinished;
    sequence->sink = nullptr;
    sequence->table = {};
    // The transfer ends with its reader's process: prefill gets its blocks back.
    if (sequence->release_remote) std::exchange(sequence->release_remote, nullptr)();
  }
  live_.clear();
  waiting_.clear();
  loaded_.clear();
  running_ = transferring_ = 0;
  prefill_busy_ = false;
  cache_ = KvCache(block_count_, block_size_);
  stats_ = {};
  engine_id_ = random_uuid();
  ledger_.restart(engine_id_);
}

EngineGauges SimEngine::gauges() const {
  EngineGauges gauges;
  gauges.running = running_;
  gauges.waiting = static_cast<std::uint32_t>(waiting_.size() + loaded_.size()) + transferring_;
  gauges.block_size = block_size_;
  gauges.block_count = block_count_;
  gauges.kv_usage = cache_.usage();
  return gauges;
}

std::uint32_t SimEngine::pinned_blocks() const {
  return static_cast<std::uint32_t>(ledger_.pinned_blocks().size());
}

std::uint32_t SimEngine::leaked_blocks() const {
  std::vector<bool> owned(block_count_, false);
  for (const std::uint32_t id : ledger_.pinned_blocks()) owned[id] = true;
  for (const SequencePtr& sequence : live_) {
    for (const std::uint32_t id : sequence->table.ids) owned[id] = true;
  }
  const auto count = static_cast<std::uint32_t>(std::count(owned.begin(), owned.end(), true));
  return cache_.in_use() > count ? cache_.in_use() - count : 0;
}

std::uint64_t random_u64() {
  thread_local std::mt19937_64 generator{(std::uint64_t{std::random_device{}()} << 32) ^
                                         std::random_device{}()};
  return generator();
}

std::string random_uuid() {
  std::string uuid;
  const std::uint64_t high = random_u64();
  const std::uint64_t low = random_u64();
  append_hex(uuid, high >> 32, 8);
  uuid += '-';
  append_hex(uuid, high >> 16, 4);
  uuid += '-';
  append_hex(uuid, high, 4);
  uuid += '-';
  append_hex(uuid, low >> 48, 4);
  uuid += '-';
  append_hex(uuid, low, 12);
  return uuid;
}

}  // namespace pd::sim
