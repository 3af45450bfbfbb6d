// Requests counted on pods under their request id: what both trackers of the package's API share.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "framework/load/pod_slots.h"

namespace pd {

// Thread-safe. A gateway that can hold a LoadGuard needs no id and no lock.
class CountedRequests {
 public:
  CountedRequests(std::shared_ptr<PodSlots> slots, LoadGuard::Counter counter);

  // Counts `request_id` on `pod`; a request that is already counted moves there. A pod without a
  // slot is not counted.
  void add(std::string_view request_id, std::string_view pod);

  // Ends the counting; an unknown id is no error.
  void remove(std::string_view request_id);

  // Requests counted on `pod`, by id and by guard; 0 for a pod without a slot.
  std::uint32_t count(std::string_view pod) const;

 private:
  const std::shared_ptr<PodSlots> slots_;
  const LoadGuard::Counter counter_;
  std::mutex mutex_;  // guards guards_
  std::unordered_map<std::string, LoadGuard> guards_;
};

}  // namespace pd
