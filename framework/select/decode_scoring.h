// Scores the decode candidates of all rolesets in one batch.
#pragma once

#include <boost/system/result.hpp>
#include <span>

#include "framework/policy/policy_set.h"
#include "framework/select/select_scratch.h"
#include "framework/select/select_settings.h"

namespace pd {

// The winning decode pod of one roleset; lower scores are better. No pod: none had a usable score.
struct RolesetDecodePick {
  const Pod* pod = nullptr;
  double score = 0;
};

// Outcome of one scoring pass over the decode candidates.
struct DecodeScoreRun {
  bool empty = true;           // no pod got a usable score, from the policy or from the fallback
  double max_score = 0;        // largest finite score; normalises the scores of this stage
  bool fallback_used = false;  // the policy gave an invalid score for some pod
  std::uint64_t tag = 0;       // the policy's word for this choice
  DecodePolicyName policy;     // whose scores these are
};

// Scores the candidates that are left in `scratch.decode` and picks the best pod of each roleset
// into its `picks`. Cold pods (of which nothing is known, while something is of others) score 1 +
// pending, unless the policy wants no shortcuts. `scratch.request` is ready.
DecodeScoreRun score_decode_pods(const PolicySet& policies, const Fleet& fleet,
                                 const SelectSettings& settings, RoutingContext& context,
                                 SelectScratch& scratch, std::size_t rolesets);

// The pick of one roleset after score_decode_pods().
RolesetDecodePick decode_pick(const SelectScratch& scratch, std::size_t roleset);

}  // namespace pd
