// The policies that decide, as one immutable set: what was configured, made into instances. Built
// before any router; a change of configuration builds another set.
#pragma once

#include <boost/system/result.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "framework/plugin/host_services.h"
#include "framework/policy/decode_score_policy.h"
#include "framework/policy/policy_options.h"
#include "framework/policy/policy_registry.h"
#include "framework/policy/prefill_score_policy.h"

namespace pd {

// Which policies to use, by name, and the options configured for each.
struct PolicyChoice {
  std::string prefill;
  std::string prefill_fallback;
  std::string decode;
  std::string decode_fallback;
  std::map<std::string, std::vector<PolicyOptionInput>> options;  // policy name -> [policy.NAME]
};

// Shared by all threads. Destroyed on the control thread.
class PolicySet {
 public:
  // Makes and probes an instance of every chosen policy, or lists everything that is wrong:
  // unknown names, options, failures of create() or of the probe.
  static boost::system::result<std::shared_ptr<const PolicySet>, std::vector<std::string>> build(
      const PolicyRegistry& registry, const PolicyChoice& choice, const InstanceLimits& limits,
      std::shared_ptr<const HostEnvironment> environment, std::uint64_t generation);

  std::uint64_t generation() const { return generation_; }
  const PrefillScorePolicy& prefill() const { return *prefill_; }
  const DecodeScorePolicy& decode() const { return *decode_; }
  // Stand in where a policy gives no score; may be the policies themselves.
  const PrefillScorePolicy& prefill_fallback() const { return *prefill_fallback_; }
  const DecodeScorePolicy& decode_fallback() const { return *decode_fallback_; }

  // PD_USES_* of all four together: what has to be computed for a choice.
  std::uint64_t uses() const { return uses_; }

  // "prefix_cache/load_balancing@3": prefill, decode, generation.
  const std::string& label() const { return label_; }

 private:
  std::uint64_t generation_ = 0;
  std::uint64_t uses_ = 0;
  std::string label_;
  std::shared_ptr<const PrefillScorePolicy> prefill_;
  std::shared_ptr<const PrefillScorePolicy> prefill_fallback_;
  std::shared_ptr<const DecodeScorePolicy> decode_;
  std::shared_ptr<const DecodeScorePolicy> decode_fallback_;
};

}  // namespace pd
