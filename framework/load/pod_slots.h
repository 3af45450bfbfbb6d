// What this host itself counts of each pod: requests in their legs, chosen pods, completions,
// health. A slot belongs to one incarnation of a pod and dies with it; its counters are plain
// atomics.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "framework/load/outcome_averages.h"

namespace pd {

// pending: never heard of; unready: not reachable; draining: serves what it has and gets no more.
enum class PodHealth : std::uint8_t { kPending, kReady, kUnready, kDraining };

// "pending", "ready", ...
std::string_view health_name(PodHealth health);

// On cache lines of its own, so that threads that count different pods do not disturb each other.
struct alignas(64) PodSlot {
  PodSlot(std::uint32_t slot_number, std::uint64_t incarnation_number)
      : number(slot_number), incarnation(incarnation_number) {}

  const std::uint32_t number;       // small and dense; taken again only after this slot has died
  const std::uint64_t incarnation;  // never used twice in the life of the process
  std::atomic<std::uint32_t> prefill_requests{0};  // in their prefill leg
  std::atomic<std::uint32_t> decode_requests{0};   // in their decode leg
  std::atomic<std::uint32_t> pending_decode{0};    // chosen for decode, not dispatched yet
  std::atomic<PodHealth> health{PodHealth::kPending};
  std::atomic<std::uint32_t> connect_failures{0};  // in a row, scrapes and traffic together
  std::atomic<std::uint64_t> completed{0};         // decode legs that have ended
  std::atomic<std::uint64_t> prefill_tokens{0};    // prompt tokens of prefill_requests
  std::atomic<std::uint64_t> decode_tokens{0};     // prompt tokens of decode_requests
  OutcomeAverages averages;
};

// Gives out slots by pod name. Thread-safe; not for the hot path, which holds the slots themselves.
class PodSlots {
 public:
  // The slot of the pod `name`; `identity` tells incarnations of one name apart (its address,
  // model and role). The same name and identity give the same slot while somebody holds it.
  std::shared_ptr<PodSlot> open(std::string_view name, std::string_view identity);

  // The live slot of that name, or nullptr.
  std::shared_ptr<PodSlot> find(std::string_view name) const;

 private:
  struct Entry {
    std::string identity;
    std::weak_ptr<PodSlot> slot;
  };

  // Shared with the slots' deleters, which may outlive this object.
  struct FreeNumbers {
    std::mutex mutex;
    std::vector<std::uint32_t> numbers;
    std::uint32_t next = 0;
  };

  mutable std::mutex mutex_;  // guards what follows, but for free_numbers_
  std::unordered_map<std::string, Entry> entries_;
  std::size_t entries_after_sweep_ = 0;  // dead entries go when the table has doubled
  std::uint64_t next_incarnation_ = 1;
  std::shared_ptr<FreeNumbers> free_numbers_ = std::make_shared<FreeNumbers>();
};

// Counts one request, and the tokens of its prompt, on one pod from construction to release() or
// destruction, whichever is first.
class LoadGuard {
 public:
  using Counter = std::atomic<std::uint32_t> PodSlot::*;
  using TokenCounter = std::atomic<std::uint64_t> PodSlot::*;

  LoadGuard() = default;
  LoadGuard(std::shared_ptr<PodSlot> slot, Counter counter, TokenCounter token_counter = nullptr,
            std::uint64_t tokens = 0)
      : slot_(std::move(slot)), counter_(counter), token_counter_(token_counter), tokens_(tokens) {
    ((*slot_).*counter_).fetch_add(1, std::memory_order_relaxed);
    if (token_counter_ != nullptr) {
      ((*slot_).*token_counter_).fetch_add(tokens_, std::memory_order_relaxed);
    }
  }
  LoadGuard(LoadGuard&& other) noexcept { *this = std::move(other); }
  LoadGuard& operator=(LoadGuard&& other) noexcept {
    if (this == &other) return *this;
    release();
    slot_ = std::move(other.slot_);
    counter_ = other.counter_;
    token_counter_ = other.token_counter_;
    tokens_ = other.tokens_;
    return *this;
  }
  ~LoadGuard() { release(); }

  void release() {
    if (slot_ == nullptr) return;
    ((*slot_).*counter_).fetch_sub(1, std::memory_order_relaxed);
    if (token_counter_ != nullptr) {
      ((*slot_).*token_counter_).fetch_sub(tokens_, std::memory_order_relaxed);
    }
    slot_.reset();
  }

 private:
  std::shared_ptr<PodSlot> slot_;
  Counter counter_ = nullptr;
  TokenCounter token_counter_ = nullptr;
  std::uint64_t tokens_ = 0;
};

}  // namespace pd
