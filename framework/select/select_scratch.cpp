#include "framework/select/select_scratch.h"

#include <limits>

namespace pd {

void CandidateTable::clear() {
  pods.clear();
  drops.clear();
  reasons.clear();
  requests.clear();
  scores.clear();
  match_percent.clear();
  running.clear();
  pending.clear();
  throughput.clear();
  free_gpu_percent.clear();
  drain_rate.clear();
  picks.clear();
  max_requests = max_throughput = max_free_gpu = 1;
  max_score = 0;
}

void CandidateTable::add(const Pod* pod) {
  pods.push_back(pod);
  drops.push_back(Drop::kNone);
  reasons.push_back(0);
  scores.push_back(std::numeric_limits<double>::quiet_NaN());
}

}  // namespace pd
