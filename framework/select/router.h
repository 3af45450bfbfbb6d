// Chooses a prefill and a decode pod for a request. Pure: everything that a choice depends on is an
// argument, so that a test or a replay calls exactly what production calls.
#pragma once

#include <boost/system/result.hpp>
#include <memory>

#include "framework/policy/policy_set.h"
#include "framework/prefix/prefix_index.h"
#include "framework/request/routing_context.h"
#include "framework/select/decision.h"
#include "framework/select/select_scratch.h"
#include "framework/select/select_settings.h"

namespace pd {

class PrefillScoring;

// Immutable and shared by all threads; built from an immutable policy set.
class Router {
 public:
  Router(std::shared_ptr<const PolicySet> policies, const SelectSettings& settings)
      : policies_(std::move(policies)), settings_(settings) {}

  // Runs the stages in order: eligible rolesets, prefill imbalance, decode imbalance, prefill
  // scores, decode scores, final pair. `index` may be nullptr: then nothing matches. `scratch` is
  // the thread's own and keeps the details of this choice until the next. Pods in the decision live
  // as long as `fleet`. [hot]
  boost::system::result<Decision, SelectError> select(RoutingContext& context, const Fleet& fleet,
                                                      const PrefixIndex* index,
                                                      SelectScratch& scratch) const;

  const PolicySet& policies() const { return *policies_; }
  const SelectSettings& settings() const { return settings_; }

 private:
  void prepare_prompt(RoutingContext& context, SelectScratch& scratch) const;
  void prepare_request(const RoutingContext& context, SelectScratch& scratch) const;
  void tell_policies(const RoutingContext& context, const Decision& decision,
                     PrefillScoring& prefill, const SelectScratch& scratch) const;

  std::shared_ptr<const PolicySet> policies_;
  SelectSettings settings_;
};

}  // namespace pd
