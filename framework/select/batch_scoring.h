// One policy call over a batch, and what happens to what comes back. The host trusts none of it.
#pragma once

#include <cstdint>
#include <functional>

#include "framework/policy/policy_instance.h"
#include "framework/request/routing_context.h"
#include "framework/select/select_scratch.h"

namespace pd {

// Gathers the rows of `table` that are still candidates and that `wanted` accepts: their pods and
// the candidates struct. Columns are the caller's to fill.
void gather_rows(BatchColumns& batch, const CandidateTable& table, std::uint64_t fleet_generation,
                 bool (*wanted)(const CandidateTable& table, std::uint32_t row));

// Scores `batch` by `score`, which runs the policy; where that gives no usable score, by `fallback`
// (one more call over the whole batch). A pod that neither scores is dropped; one that the policy
// excluded is dropped with its reason. Writes into `table`. Gives true when the fallback stepped
// in; `tag` receives the policy's word for this choice.
using ScoreCall = std::function<bool(pd_scores& scores)>;
bool score_batch(BatchColumns& batch, CandidateTable& table, const PolicyInstance& policy,
                 const ScoreCall& score, const ScoreCall& fallback, std::uint64_t& tag);

// Picks the best row of every roleset: the lowest score, ties drawn at random, and the largest
// finite score of the table.
void pick_best(CandidateTable& table, std::size_t rolesets, RoutingContext& context);

}  // namespace pd
