#include "framework/load/pod_slots.h"

namespace pd {

std::string_view health_name(PodHealth health) {
  switch (health) {
    case PodHealth::kPending:
      return "pending";
    case PodHealth::kReady:
      return "ready";
    case PodHealth::kUnready:
      return "unready";
    case PodHealth::kDraining:
      return "draining";
  }
  return "";
}

std::shared_ptr<PodSlot> PodSlots::open(std::string_view name, std::string_view identity) {
  const std::lock_guard lock(mutex_);
  if (entries_.size() > 2 * entries_after_sweep_ + 16) {
    std::erase_if(entries_, [](const auto& item) { return item.second.slot.expired(); });
    entries_after_sweep_ = entries_.size();
  }
  Entry& entry = entries_[std::string(name)];
  if (auto live = entry.slot.lock(); live != nullptr && entry.identity == identity) return live;

  std::uint32_t number = 0;
  {
    const std::lock_guard numbers_lock(free_numbers_->mutex);
    if (free_numbers_->numbers.empty()) {
      number = free_numbers_->next++;
    } else {
      number = free_numbers_->numbers.back();
      free_numbers_->numbers.pop_back();
    }
  }
  std::shared_ptr<PodSlot> slot(new PodSlot(number, next_incarnation_++),
                                [free_numbers = free_numbers_](PodSlot* dead) {
                                  const std::lock_guard numbers_lock(free_numbers->mutex);
                                  free_numbers->numbers.push_back(dead->number);
                                  delete dead;
                                });
  entry.identity = identity;
  entry.slot = slot;
  return slot;
}

std::shared_ptr<PodSlot> PodSlots::find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto it = entries_.find(std::string(name));
  return it == entries_.end() ? nullptr : it->second.slot.lock();
}

}  // namespace pd
