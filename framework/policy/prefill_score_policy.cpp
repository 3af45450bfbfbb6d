#include "framework/policy/prefill_score_policy.h"

#include <limits>
#include <vector>

namespace pd {

bool PrefillScorer::score(pd_scores& scores, PluginMessage& message) const {
  return policy_->entry().table.score(policy_->instance().handle(), scorer_, request_, batch_,
                                      &scores, message.get()) == PD_OK;
}

double PrefillScorer::score_pod(std::uint32_t index) const {
  const std::uint32_t count = batch_->candidates->count;
  std::vector<double> values(count, std::numeric_limits<double>::quiet_NaN());
  std::vector<std::uint32_t> reasons(count, 0);
  pd_scores scores{sizeof(pd_scores), count, values.data(), reasons.data(), 0};
  PluginMessage message;
  const bool ok = score(scores, message);
  return ok && reasons[index] == 0 ? values[index] : std::numeric_limits<double>::quiet_NaN();
}

std::span<const std::uint64_t> PrefillScorer::prefix_hashes(const pd_choice& choice) const {
  const auto& table = policy_->entry().table;
  if (table.prefix_hashes == nullptr) return {};
  pd_prefix_record record{sizeof(pd_prefix_record), 0, nullptr, 0};
  PluginMessage message;
  const pd_status status = table.prefix_hashes(policy_->instance().handle(), scorer_, request_,
                                               &choice, &record, message.get());
  if (status != PD_OK || record.hashes == nullptr) return {};
  return {record.hashes, static_cast<std::size_t>(record.count)};
}

void PrefillScorer::release(const pd_choice* choice) {
  if (policy_ == nullptr) return;
  const auto* policy = std::exchange(policy_, nullptr);
  if (policy->entry().table.release != nullptr) {
    policy->entry().table.release(policy->instance().handle(), scorer_, choice);
  }
}

std::optional<PrefillScorer> PrefillScorePolicy::prepare(const pd_request& request,
                                                         const pd_prefill_batch& batch,
                                                         PluginMessage& message) const {
  void* scorer = nullptr;
  if (entry_->table.prepare(instance_->handle(), &request, &batch, &scorer, message.get()) !=
      PD_OK) {
    return std::nullopt;
  }
  return PrefillScorer(this, scorer, &request, &batch);
}

}  // namespace pd
