// One instance of a registered policy: made, shared by all threads, destroyed. What decode and
// prefill policies have in common.
#pragma once

#include <atomic>
#include <boost/system/result.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "framework/plugin/host_services.h"
#include "framework/policy/policy_entry.h"
#include "framework/policy/policy_options.h"
#include "pd/abi.h"

namespace pd {

// What has been seen of a policy while it decided. Relaxed counters, for metrics and the admin API.
struct PolicyCounters {
  std::atomic<std::uint64_t> calls{0};
  std::atomic<std::uint64_t> errors{0};          // calls that returned an error
  std::atomic<std::uint64_t> invalid_scores{0};  // NaN or -Inf for a pod that was not excluded
  std::atomic<std::uint64_t> fallbacks{0};       // decisions in which the fallback stepped in
  std::atomic<std::uint64_t> nanoseconds{0};     // spent inside score()
};

// Why an instance could not be made: the policy's own words.
struct PolicyCreateError {
  std::string policy;
  std::string message;
};

// Sizes that an instance may rely on; see pd_policy_config.
struct InstanceLimits {
  std::uint32_t worker_count = 1;
  std::uint32_t slot_limit = 65536;
};

// Owns an instance; its entry keeps the plugin's code mapped. [control thread] to make and destroy.
class PolicyInstance {
 public:
  // Calls create(). `role` is PD_ROLE_PREFILL or PD_ROLE_DECODE.
  static boost::system::result<std::unique_ptr<PolicyInstance>, PolicyCreateError> create(
      const PolicyEntry& policy, std::uint32_t role, const PolicyOptionValues& values,
      const InstanceLimits& limits, std::shared_ptr<HostServices> services);

  PolicyInstance(const PolicyInstance&) = delete;
  PolicyInstance& operator=(const PolicyInstance&) = delete;
  ~PolicyInstance();

  void* handle() const { return handle_; }
  PolicyCounters& counters() const { return counters_; }
  const HostServices& services() const { return *services_; }
  std::uint32_t reason_count() const { return policy_.policy.reason_count; }

  // [hot] Tells the policy what was chosen, or what came of an attempt, if it wants to know.
  void chosen(const pd_request& request, const pd_choice& choice) const;
  void outcome(const pd_outcome& outcome) const;

 private:
  PolicyInstance(const PolicyEntry& policy, std::shared_ptr<HostServices> services)
      : policy_(policy), services_(std::move(services)) {}

  const PolicyEntry& policy_;  // held by the owner of this instance, and outlives it
  std::shared_ptr<HostServices> services_;
  void* handle_ = nullptr;
  bool created_ = false;
  pd_feedback_v1 feedback_{};
  mutable PolicyCounters counters_;
};

// A bounded buffer for a plugin's error message.
class PluginMessage {
 public:
  PluginMessage() : error_{sizeof(pd_error), sizeof(text_), text_} { text_[0] = '\0'; }
  PluginMessage(const PluginMessage&) = delete;
  PluginMessage& operator=(const PluginMessage&) = delete;

  pd_error* get() { return &error_; }

  // What the plugin wrote, made printable; a text of our own when it wrote nothing.
  std::string text();

 private:
  char text_[512];
  pd_error error_;
};

}  // namespace pd
