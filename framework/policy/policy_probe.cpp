#include "framework/policy/policy_probe.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <memory_resource>

#include "framework/request/routing_context.h"
#include "pd/policy.hpp"

namespace pd {
namespace {

constexpr std::uint32_t kPods = 3;
constexpr double kUnscored = std::numeric_limits<double>::quiet_NaN();

// Three pods, a request and their columns, with plausible values.
class ProbeFleet {
 public:
  ProbeFleet() {
    static constexpr std::array<std::string_view, kPods> kNames{"probe-0", "probe-1", "probe-2"};
    for (std::uint32_t i = 0; i < kPods; ++i) {
      pods_[i] = pd_pod{sizeof(pd_pod),
                        i,
                        i + 1,
                        sdk::str(kNames[i]),
                        sdk::str("probe"),
                        sdk::str("vllm"),
                        sdk::str("127.0.0.1:8000"),
                        PD_ROLE_COMBINED,
                        0,
                        nullptr,
                        nullptr};
      pod_pointers_[i] = &pods_[i];
    }
    load_.struct_size = sizeof(pd_load);
    for (const double* pd_load::*column :
         {&pd_load::running,         &pd_load::waiting,        &pd_load::throughput,
          &pd_load::kv_usage,        &pd_load::kv_blocks,      &pd_load::kv_block_tokens,
          &pd_load::prefill_time_ms, &pd_load::drain_rate,     &pd_load::prefill_prealloc,
          &pd_load::decode_prealloc, &pd_load::sample_age_s,   &pd_load::prefill_requests,
          &pd_load::decode_requests, &pd_load::pending_decode, &pd_load::prefill_tokens,
          &pd_load::decode_tokens,   &pd_load::idle_s,         &pd_load::ttft_ms,
          &pd_load::inter_token_ms,  &pd_load::error_rate}) {
      load_.*column = fractions_.data();
    }
    context_.scratch = &scratch_;
    context_.scratch_left = kScratchBytes;
    context_.dry_run = true;
    context_.prompt = "probe";
    request_.struct_size = sizeof(pd_request);
    request_.flags = PD_REQUEST_DRY_RUN;
    request_.host_data = &context_;
    request_.request_id = sdk::str("probe");
    request_.model = sdk::str("probe");
    request_.path = sdk::str("/v1/chat/completions");
    request_.prompt = sdk::str("probe");
    request_.prompt_bytes = 5;
    request_.prompt_tokens = 2;
    request_.max_output_tokens = PD_UNKNOWN_COUNT;
    request_.block_hashes = hashes_.data();
    request_.block_count = hashes_.size();
    request_.block_size = 1;
    request_.token_source = PD_TOKENS_ESTIMATED;
    request_.choices = 1;
    request_.attempt = 1;
  }

  const pd_request& request() const { return request_; }
  const pd_candidates& candidates() const { return candidates_; }
  const double* counts() const { return counts_.data(); }
  const double* fractions() const { return fractions_.data(); }
  const double* percents() const { return percents_.data(); }
  pd_scores& scores() { return scores_; }

  // What is wrong with the scores, if anything.
  std::optional<std::string> fault(const std::string& policy, std::uint32_t reason_count) const {
    for (std::uint32_t i = 0; i < kPods; ++i) {
      if (reasons_[i] > reason_count) {
        return fmt::format("policy {} excluded a pod with reason {}, but publishes only {} reasons",
                           policy, reasons_[i], reason_count);
      }
      if (reasons_[i] != 0) continue;
      if (std::isnan(values_[i]) || values_[i] == -std::numeric_limits<double>::infinity()) {
        return fmt::format(
            "policy {} gave {} for a pod of an ordinary batch of {} pods; a score is a number or "
            "+Inf, so mend the policy before it decides",
            policy, values_[i], kPods);
      }
    }
    return std::nullopt;
  }

 private:
  std::pmr::monotonic_buffer_resource scratch_;
  RoutingContext context_;
  std::array<pd_pod, kPods> pods_{};
  std::array<const pd_pod*, kPods> pod_pointers_{};
  std::array<double, kPods> counts_{0, 1, 2};
  std::array<double, kPods> fractions_{0.25, 0.5, 0.75};
  std::array<double, kPods> percents_{100, 50, 25};
  std::array<std::uint64_t, 5> hashes_{1, 2, 3, 4, 5};
  pd_load load_{};
  pd_request request_{};
  pd_candidates candidates_{sizeof(pd_candidates), kPods, pod_pointers_.data(), &load_, 1};
  std::array<double, kPods> values_{kUnscored, kUnscored, kUnscored};
  std::array<std::uint32_t, kPods> reasons_{};
  pd_scores scores_{sizeof(pd_scores), kPods, values_.data(), reasons_.data(), 0};
};

std::string failed(const std::string& policy, PluginMessage& message) {
  return fmt::format("policy {} failed on an ordinary batch: {}", policy, message.text());
}

}  // namespace

std::optional<std::string> probe_policy(const PrefillScorePolicy& policy) {
  ProbeFleet fleet;
  const pd_prefill_batch batch{sizeof(pd_prefill_batch),
                               0,
                               &fleet.candidates(),
                               fleet.counts(),
                               2.0,
                               fleet.percents(),
                               fleet.counts(),
                               fleet.counts()};
  PluginMessage message;
  auto scorer = policy.prepare(fleet.request(), batch, message);
  if (!scorer || !scorer->score(fleet.scores(), message)) return failed(policy.name(), message);
  return fleet.fault(policy.name(), policy.instance().reason_count());
}

std::optional<std::string> probe_policy(const DecodeScorePolicy& policy) {
  ProbeFleet fleet;
  const pd_decode_batch batch{sizeof(pd_decode_batch),
                              0,
                              &fleet.candidates(),
                              fleet.counts(),
                              fleet.percents(),
                              fleet.percents(),
                              2.0,
                              100.0,
                              100.0};
  PluginMessage message;
  if (!policy.score(fleet.request(), batch, fleet.scores(), message)) {
    return failed(policy.name(), message);
  }
  return fleet.fault(policy.name(), policy.instance().reason_count());
}

}  // namespace pd
