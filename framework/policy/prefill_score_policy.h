// A prefill policy, ready to score, and the scorer that it prepares for one choice.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "framework/policy/policy_instance.h"
#include "framework/policy/policy_registry.h"

namespace pd {

class PrefillScorePolicy;

// Everything that a policy keeps for one choice. Made by PrefillScorePolicy::prepare; used by one
// thread; ends with release() or at destruction.
class PrefillScorer {
 public:
  PrefillScorer(PrefillScorer&& other) noexcept { *this = std::move(other); }
  PrefillScorer& operator=(PrefillScorer&& other) noexcept {
    release(nullptr);
    policy_ = std::exchange(other.policy_, nullptr);
    scorer_ = other.scorer_;
    request_ = other.request_;
    batch_ = other.batch_;
    return *this;
  }
  ~PrefillScorer() { release(nullptr); }

  // Scores the whole batch into `scores`, which the caller has filled with NaN and 0. False on an
  // error of the policy, whose text is then in `message`. [hot]
  bool score(pd_scores& scores, PluginMessage& message) const;

  // Score of the batch's pod `index`; NaN is no score.
  double score_pod(std::uint32_t index) const;

  // Block hashes to record for the chosen pod; empty when the policy does not use the prefix.
  // Valid until release().
  std::span<const std::uint64_t> prefix_hashes(const pd_choice& choice) const;

  // Ends the choice; `choice` is nullptr when nothing was chosen. Further calls do nothing.
  void release(const pd_choice* choice);

 private:
  friend class PrefillScorePolicy;
  PrefillScorer(const PrefillScorePolicy* policy, void* scorer, const pd_request* request,
                const pd_prefill_batch* batch)
      : policy_(policy), scorer_(scorer), request_(request), batch_(batch) {}

  const PrefillScorePolicy* policy_ = nullptr;  // nullptr once released
  void* scorer_ = nullptr;
  const pd_request* request_ = nullptr;
  const pd_prefill_batch* batch_ = nullptr;
};

// Immutable; shared by all threads.
class PrefillScorePolicy {
 public:
  PrefillScorePolicy(std::shared_ptr<const PrefillPolicyEntry> entry,
                     std::unique_ptr<PolicyInstance> instance)
      : entry_(std::move(entry)), instance_(std::move(instance)) {}

  const std::string& name() const { return entry_->name; }
  const std::string& describe() const { return entry_->description; }
  const PrefillPolicyEntry& entry() const { return *entry_; }
  const PolicyInstance& instance() const { return *instance_; }

  // Begins one choice. Nothing when the policy cannot go on; its text is then in `message`.
  // `request` and `batch` must live until the scorer is released. [hot]
  std::optional<PrefillScorer> prepare(const pd_request& request, const pd_prefill_batch& batch,
                                       PluginMessage& message) const;

 private:
  std::shared_ptr<const PrefillPolicyEntry> entry_;
  std::unique_ptr<PolicyInstance> instance_;  // destroyed before the entry lets the plugin go
};

}  // namespace pd
