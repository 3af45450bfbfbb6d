// Decode pods that were chosen for a request whose decode leg has not been dispatched: the engine's
// own metrics do not show them, and without this count a burst would land on one pod.
#pragma once

#include <memory>
#include <string_view>

#include "framework/load/counted_requests.h"

namespace pd {

// Thread-safe. Optional wherever it is used: with a null tracker nothing is pending.
class PendingDecodeTracker {
 public:
  explicit PendingDecodeTracker(std::shared_ptr<PodSlots> slots)
      : requests_(std::move(slots), &PodSlot::pending_decode) {}

  // Counts `request_id` as pending on `pod_name`; an id that is counted already moves there.
  void add_pending_decode(std::string_view request_id, std::string_view pod_name) {
    requests_.add(request_id, pod_name);
  }

  // Requests pending on `pod_name`; 0 for an unknown pod.
  double get_pending_decode_count(std::string_view pod_name) const {
    return requests_.count(pod_name);
  }

  // Ends the counting of `request_id`; an unknown id is no error.
  void remove_pending_decode(std::string_view request_id) { requests_.remove(request_id); }

 private:
  CountedRequests requests_;
};

}  // namespace pd
