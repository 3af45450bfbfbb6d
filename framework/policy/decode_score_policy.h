// A decode policy, ready to score: an instance of what a plugin registered.
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <string_view>

#include "framework/policy/policy_instance.h"
#include "framework/policy/policy_registry.h"

namespace pd {

// Name of a decode policy, as configuration, logs and metrics write it. Any registered name is one;
// the constants are the policies that the reference has.
using DecodePolicyName = std::string;
inline constexpr std::string_view kDecodePolicyLoadBalancing = "load_balancing";
inline constexpr std::string_view kDecodePolicyLeastRequest = "least_request";
inline constexpr std::string_view kDecodePolicyConductor = "conductor";

// Metrics of one pod and maxima of its batch, for one scoring.
struct DecodePodInput {
  double running_reqs = 0;        // active decode requests, pending ones included
  double throughput = 0;          // generated tokens per second
  double free_gpu_percent = 100;  // 100 - KV use in percent, at least 0.1
  double max_request_count = 1;   // largest of the candidates; above 0
  double max_throughput = 1;      // likewise
  double max_free_gpu_usage = 1;  // likewise
};

// Immutable; shared by all threads.
class DecodeScorePolicy {
 public:
  DecodeScorePolicy(std::shared_ptr<const DecodePolicyEntry> entry,
                    std::unique_ptr<PolicyInstance> instance)
      : entry_(std::move(entry)), instance_(std::move(instance)) {}

  const DecodePolicyName& name() const { return entry_->name; }
  const std::string& describe() const { return entry_->description; }
  const DecodePolicyEntry& entry() const { return *entry_; }
  const PolicyInstance& instance() const { return *instance_; }

  // Scores a batch into `scores`, which the caller has filled with NaN and 0. False when the policy
  // returned an error; its text is then in `message`. [hot]
  bool score(const pd_request& request, const pd_decode_batch& batch, pd_scores& scores,
             PluginMessage& message) const;

  // Score of one pod; lower is better, NaN is no score (also when the policy excluded the pod).
  double score_decode_pod(const pd_request& request, const pd_pod& pod,
                          const DecodePodInput& input) const;

 private:
  std::shared_ptr<const DecodePolicyEntry> entry_;
  std::unique_ptr<PolicyInstance> instance_;  // destroyed before the entry lets the plugin go
};

}  // namespace pd
