// One policy call over a batch, and what happens to what comes back. The host trusts none of it.
#pragma once

#include <cstdint>

#include "framework/policy/policy_instance.h"
#include "framework/request/routing_context.h"
#include "framework/select/select_scratch.h"

namespace pd {

// Gathers the rows of `table` that are still candidates and that `wanted` accepts: their pods and
// the candidates struct. Columns are the caller's to fill.
void gather_rows(BatchColumns& batch, const CandidateTable& table, std::uint64_t fleet_generation,
                 bool (*wanted)(const CandidateTable& table, std::uint32_t row));

// Refers to something that runs one policy call into fresh scores and gives false on an error.
// Unlike std::function it allocates nothing; what it refers to must outlive it.
class ScoreCall {
 public:
  template <class Call>
  ScoreCall(Call& call)  // NOLINT(google-explicit-constructor): a view, made where it is passed
      : call_(&call), run_([](void* object, pd_scores& scores) {
          return static_cast<bool>((*static_cast<Call*>(object))(scores));
        }) {}

  bool operator()(pd_scores& scores) const { return run_(call_, scores); }

 private:
  void* call_;
  bool (*run_)(void* object, pd_scores& scores);
};

// Scores `batch` by `score`, which runs the policy; where that gives no usable score, by `fallback`
// (one more call over the whole batch). A pod that neither scores is dropped; one that the policy
// excluded is dropped with its reason. Writes into `table`. Gives true when the fallback stepped
// in; `tag` receives the policy's word for this choice.
bool score_batch(BatchColumns& batch, CandidateTable& table, const PolicyInstance& policy,
                 ScoreCall score, ScoreCall fallback, std::uint64_t& tag);

// Picks the best row of every roleset: the lowest score, ties drawn at random, and the largest
// finite score of the table.
void pick_best(CandidateTable& table, std::size_t rolesets, RoutingContext& context);

}  // namespace pd
