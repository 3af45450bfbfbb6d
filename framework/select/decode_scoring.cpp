#include "framework/select/decode_scoring.h"

#include <algorithm>
#include <cmath>

#include "framework/select/batch_scoring.h"
#include "framework/select/load_gather.h"

namespace pd {
namespace {

// A cold pod looks idle because nobody has heard of it; it gets a modest score of its own.
void score_cold_pods(CandidateTable& table) {
  bool any_known = false;
  for (std::uint32_t row = 0; row < table.size(); ++row) {
    any_known = any_known || (table.drops[row] == Drop::kNone && !std::isnan(table.running[row]));
  }
  if (!any_known) return;
  for (std::uint32_t row = 0; row < table.size(); ++row) {
    if (table.drops[row] == Drop::kNone && std::isnan(table.running[row])) {
      table.scores[row] = 1 + table.pending[row];
    }
  }
}

double known_or(double value, double otherwise) {
  return std::isnan(value) ? otherwise : value;
}

pd_decode_batch fill_batch(BatchColumns& batch, const CandidateTable& table) {
  batch.requests.clear();
  batch.throughput.clear();
  batch.free_gpu_percent.clear();
  for (const std::uint32_t row : batch.rows) {
    batch.requests.push_back(table.requests[row]);
    batch.throughput.push_back(known_or(table.throughput[row], 0));
    batch.free_gpu_percent.push_back(table.free_gpu_percent[row]);
  }
  return {sizeof(pd_decode_batch), 0,
          &batch.candidates,       batch.requests.data(),
          batch.throughput.data(), batch.free_gpu_percent.data(),
          table.max_requests,      table.max_throughput,
          table.max_free_gpu};
}

}  // namespace

DecodeScoreRun score_decode_pods(const PolicySet& policies, const Fleet& fleet,
                                 const SelectSettings& settings, RoutingContext& context,
                                 SelectScratch& scratch, std::size_t rolesets) {
  CandidateTable& table = scratch.decode;
  const DecodeScorePolicy& policy = policies.decode();
  if ((policy.entry().policy.flags & PD_POLICY_NO_SHORTCUTS) == 0) score_cold_pods(table);

  BatchColumns& batch = scratch.decode_batch;
  gather_rows(batch, table, fleet.generation(),
              [](const CandidateTable& t, std::uint32_t row) { return std::isnan(t.scores[row]); });
  gather_load_columns(batch, table, policies.uses(), fleet, context.now_ns, settings);
  const pd_decode_batch abi_batch = fill_batch(batch, table);

  DecodeScoreRun run;
  run.policy = policy.name();
  PluginMessage message;
  auto by_policy = [&](pd_scores& scores) {
    return policy.score(scratch.request, abi_batch, scores, message);
  };
  auto by_fallback = [&](pd_scores& scores) {
    return policies.decode_fallback().score(scratch.request, abi_batch, scores, message);
  };
  run.fallback_used = score_batch(batch, table, policy.instance(), by_policy, by_fallback, run.tag);
  pick_best(table, rolesets, context);
  run.max_score = table.max_score;
  run.empty = std::all_of(table.picks.begin(), table.picks.end(),
                          [](const RolesetPick& pick) { return pick.row == RolesetPick::kNone; });
  return run;
}

RolesetDecodePick decode_pick(const SelectScratch& scratch, std::size_t roleset) {
  const RolesetPick& pick = scratch.decode.picks[roleset];
  if (pick.row == RolesetPick::kNone) return {};
  return {scratch.decode.pods[pick.row], pick.score};
}

}  // namespace pd
