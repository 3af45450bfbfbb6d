// What the workers route with, as one immutable snapshot that is published and swapped whole.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "framework/fleet/fleet.h"
#include "framework/select/router.h"

namespace pd {

struct RoutingState {
  std::shared_ptr<const Fleet> fleet;
  std::shared_ptr<const Router> router;
};

// One writer; any number of readers, each through a cache of its own.
class RoutingStatePublisher {
 public:
  void publish(std::shared_ptr<const RoutingState> state) {
    {
      const std::lock_guard lock(mutex_);
      state_ = std::move(state);
    }
    generation_.fetch_add(1, std::memory_order_release);
  }

  std::shared_ptr<const RoutingState> current() const {
    const std::lock_guard lock(mutex_);
    return state_;
  }

 private:
  friend class RoutingStateCache;
  mutable std::mutex mutex_;  // guards state_; taken by a reader only when the generation changed
  std::shared_ptr<const RoutingState> state_;
  std::atomic<std::uint64_t> generation_{0};
};

// A worker's copy: one atomic load a request while nothing changes.
class RoutingStateCache {
 public:
  explicit RoutingStateCache(const RoutingStatePublisher& publisher) : publisher_(publisher) {}

  const std::shared_ptr<const RoutingState>& get() {
    const std::uint64_t generation = publisher_.generation_.load(std::memory_order_acquire);
    if (generation != generation_ || state_ == nullptr) {
      state_ = publisher_.current();
      generation_ = generation;
    }
    return state_;
  }

  // Lets the snapshot go, so that an idle worker does not keep an old generation alive.
  void drop() { state_.reset(); }

 private:
  const RoutingStatePublisher& publisher_;
  std::shared_ptr<const RoutingState> state_;
  std::uint64_t generation_ = 0;
};

}  // namespace pd
