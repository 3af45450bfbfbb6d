// Scores the prefill candidates of all rolesets in one batch.
#pragma once

#include "framework/policy/policy_set.h"
#include "framework/select/select_scratch.h"
#include "framework/select/select_settings.h"

namespace pd {

// Drops candidates with far more requests than the others: above mean + factor * sample deviation,
// both over all candidates that came this far. A single candidate is never dropped.
void drop_overloaded(CandidateTable& prefill, double stddev_factor);

// Scores what is left and picks the best pod of each roleset. `scratch.request` is ready. Begins a
// scorer of the policy, which the caller ends with finish_prefill_choice(). False when no scorer
// could be prepared: then the fallback policy has scored.
class PrefillScoring {
 public:
  PrefillScoring(const PolicySet& policies, const Fleet& fleet, const SelectSettings& settings,
                 RoutingContext& context, SelectScratch& scratch)
      : policies_(policies),
        fleet_(fleet),
        settings_(settings),
        context_(context),
        scratch_(scratch) {}

  // Gives true when the fallback policy stepped in.
  bool score(std::size_t rolesets);

  // Ends the choice: takes the hashes to record from the policy into `context.block_hashes`, and
  // releases its scorer. `choice` is nullptr when nothing was chosen.
  void finish(const pd_choice* choice);

  std::uint64_t tag() const { return tag_; }

 private:
  void fill_batch();
  void match_prefix();

  const PolicySet& policies_;
  const Fleet& fleet_;
  const SelectSettings& settings_;
  RoutingContext& context_;
  SelectScratch& scratch_;
  pd_prefill_batch batch_{};
  std::optional<PrefillScorer> scorer_;
  std::uint64_t tag_ = 0;
};

}  // namespace pd
