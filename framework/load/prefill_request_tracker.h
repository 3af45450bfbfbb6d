// Requests in their prefill leg, per pod: what keeps new requests away from loaded prefill pods, by
// the scores and by the imbalance rule.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "framework/load/counted_requests.h"

namespace pd {

// Thread-safe.
class PrefillRequestTracker {
 public:
  explicit PrefillRequestTracker(std::shared_ptr<PodSlots> slots)
      : requests_(std::move(slots), &PodSlot::prefill_requests) {}

  // Counts `request_id` on `pod_name`; an id that is counted already moves there.
  void add_prefill_request(std::string_view request_id, std::string_view pod_name) {
    requests_.add(request_id, pod_name);
  }

  // Requests in prefill on one pod, or on each of `pod_names` in that order; 0 for unknown pods.
  std::uint32_t get_prefill_request_counts_for_pod(std::string_view pod_name) const {
    return requests_.count(pod_name);
  }
  std::vector<std::uint32_t> get_prefill_request_counts_for_pods(
      std::span<const std::string_view> pod_names) const {
    std::vector<std::uint32_t> counts;
    counts.reserve(pod_names.size());
    for (const auto name : pod_names) counts.push_back(requests_.count(name));
    return counts;
  }

  // Ends the counting of `request_id`; an unknown id is no error.
  void remove_prefill_request(std::string_view request_id) { requests_.remove(request_id); }

 private:
  CountedRequests requests_;
};

}  // namespace pd
