#include "framework/policy/decode_score_policy.h"

namespace pd {

bool DecodeScorePolicy::score(const pd_request& request, const pd_decode_batch& batch,
                              pd_scores& scores, PluginMessage& message) const {
  return entry_->table.score(instance_->handle(), &request, &batch, &scores, message.get()) ==
         PD_OK;
}

double DecodeScorePolicy::score_decode_pod(const pd_request& request, const pd_pod& pod,
                                           const DecodePodInput& input) const {
  double value = std::numeric_limits<double>::quiet_NaN();
  std::uint32_t reason = 0;
  const pd_pod* pods[] = {&pod};
  const pd_load load{};
  pd_load own_load = load;
  own_load.struct_size = sizeof(pd_load);
  const pd_candidates candidates{sizeof(pd_candidates), 1, pods, &own_load, 0};
  const pd_decode_batch batch{sizeof(pd_decode_batch),
                              0,
                              &candidates,
                              &input.running_reqs,
                              &input.throughput,
                              &input.free_gpu_percent,
                              input.max_request_count,
                              input.max_throughput,
                              input.max_free_gpu_usage};
  pd_scores scores{sizeof(pd_scores), 1, &value, &reason, 0};
  PluginMessage message;
  const bool ok = score(request, batch, scores, message);
  return ok && reason == 0 ? value : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace pd
