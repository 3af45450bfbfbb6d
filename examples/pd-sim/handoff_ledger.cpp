#include "examples/pd-sim/handoff_ledger.h"

#include <utility>

namespace pd::sim {
namespace {

constexpr std::size_t kPastLimit = 4096;

constexpr std::array<std::string_view, kRefusalCount> kRefusalNames = {
    "none",           "unknown_pod",  "wrong_engine", "unknown_request",    "read_twice",
    "expired",        "wrong_blocks", "wrong_prompt", "request_id_differs", "incomplete",
    "several_readers"};

}  // namespace

std::string_view to_string(Refusal refusal) {
  return kRefusalNames[static_cast<std::size_t>(refusal)];
}

void HandoffLedger::restart(std::string engine_id) {
  const std::lock_guard lock(mutex_);
  engine_id_ = std::move(engine_id);
  open_.clear();
  expiries_.clear();
  past_.clear();
  past_order_.clear();
}

void HandoffLedger::issue(Handoff handoff, BlockTable table, Clock::time_point expiry) {
  const std::lock_guard lock(mutex_);
  std::string id = handoff.request_id;
  const auto due = expiries_.emplace(expiry, id);
  open_.insert_or_assign(std::move(id), Entry{std::move(handoff), std::move(table), due, false});
}

Refusal HandoffLedger::claim(const Handoff& wanted, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  if (wanted.engine_id != engine_id_) return Refusal::kWrongEngine;
  const auto found = open_.find(wanted.request_id);
  if (found == open_.end()) {
    const auto past = past_.find(wanted.request_id);
    if (past == past_.end()) return Refusal::kUnknownRequest;
    return past->second == Past::kRead ? Refusal::kReadTwice : Refusal::kExpired;
  }
  Entry& entry = found->second;
  if (entry.claimed) return Refusal::kReadTwice;
  // The timer of the prefill pod takes the blocks back; a claim may come a moment before it.
  if (entry.expiry->first <= now) return Refusal::kExpired;
  if (wanted.prompt_hash != entry.handoff.prompt_hash) return Refusal::kWrongPrompt;
  if (wanted.blocks != entry.handoff.blocks || wanted.tokens != entry.handoff.tokens) {
    return Refusal::kWrongBlocks;
  }
  if (wanted.client_request_id != entry.handoff.client_request_id) {
    return Refusal::kRequestIdDiffers;
  }
  entry.claimed = true;
  expiries_.erase(entry.expiry);
  return Refusal::kNone;
}

std::optional<BlockTable> HandoffLedger::finish_read(const std::string& request_id) {
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(request_id);
  if (found == open_.end() || !found->second.claimed) return std::nullopt;
  BlockTable table = std::move(found->second.table);
  open_.erase(found);
  remember(request_id, Past::kRead);
  return table;
}

std::vector<BlockTable> HandoffLedger::expire(Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  std::vector<BlockTable> tables;
  while (!expiries_.empty() && expiries_.begin()->first <= now) {
    const std::string id = std::move(expiries_.begin()->second);
    expiries_.erase(expiries_.begin());
    const auto found = open_.find(id);
    tables.push_back(std::move(found->second.table));
    open_.erase(found);
    remember(id, Past::kExpired);
  }
  return tables;
}

std::optional<Clock::time_point> HandoffLedger::next_expiry() const {
  const std::lock_guard lock(mutex_);
  if (expiries_.empty()) return std::nullopt;
  return expiries_.begin()->first;
}

std::vector<std::uint32_t> HandoffLedger::pinned_blocks() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::uint32_t> ids;
  for (const auto& [id, entry] : open_) {
    ids.insert(ids.end(), entry.table.ids.begin(), entry.table.ids.end());
  }
  return ids;
}

void HandoffLedger::remember(const std::string& request_id, Past past) {
  if (!past_.insert_or_assign(request_id, past).second) return;
  past_order_.push_back(request_id);
  if (past_order_.size() > kPastLimit) {
    past_.erase(past_order_.front());
    past_order_.pop_front();
  }
}

}  // namespace pd::sim
