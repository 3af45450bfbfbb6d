#include "framework/load/counted_requests.h"

#include <utility>

namespace pd {

CountedRequests::CountedRequests(std::shared_ptr<PodSlots> slots, LoadGuard::Counter counter)
    : slots_(std::move(slots)), counter_(counter) {}

void CountedRequests::add(std::string_view request_id, std::string_view pod) {
  auto slot = slots_->find(pod);
  LoadGuard guard = slot ? LoadGuard(std::move(slot), counter_) : LoadGuard();
  const std::lock_guard lock(mutex_);
  guards_[std::string(request_id)] = std::move(guard);
}

void CountedRequests::remove(std::string_view request_id) {
  const std::lock_guard lock(mutex_);
  guards_.erase(std::string(request_id));
}

std::uint32_t CountedRequests::count(std::string_view pod) const {
  const auto slot = slots_->find(pod);
  return slot == nullptr ? 0 : ((*slot).*counter_).load(std::memory_order_relaxed);
}

}  // namespace pd
