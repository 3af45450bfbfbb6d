// Working memory of Router::select: the candidates of both stages, column by column, and what each
// stage found. One per worker thread, reused: after a few requests a choice allocates nothing.
// After a choice it still holds what led to it, until the next one: the decision log reads it.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <string>
#include <vector>

#include "framework/fleet/fleet.h"
#include "framework/prefix/prefix_lookup.h"
#include "framework/select/decision.h"
#include "pd/abi.h"

namespace pd {

// The winning pod of one roleset and stage: a row of the stage's table.
struct RolesetPick {
  static constexpr std::uint32_t kNone = UINT32_MAX;
  std::uint32_t row = kNone;
  double score = 0;
  std::uint32_t equals = 0;  // pods of this roleset that share the score
};

// The candidates of one stage; element i of every column belongs to pods[i].
struct CandidateTable {
  std::vector<const Pod*> pods;
  std::vector<Drop> drops;
  std::vector<std::uint32_t> reasons;  // of the policy, where it excluded the pod
  std::vector<double> requests;        // prefill: in their prefill leg; decode: active and pending
  std::vector<double> scores;          // NaN where there is none
  std::vector<double> match_percent;   // prefill, when the prefix is used
  // decode only
  std::vector<double> running;  // active requests as known; NaN for a cold pod
  std::vector<double> pending;
  std::vector<double> throughput;  // NaN: not known
  std::vector<double> free_gpu_percent;
  std::vector<double> drain_rate;  // NaN: not known

  std::vector<RolesetPick> picks;  // by roleset
  double max_requests = 1;
  double max_throughput = 1;
  double max_free_gpu = 1;
  double max_score = 0;

  void clear();
  void add(const Pod* pod);
  std::size_t size() const { return pods.size(); }
};

// The rows of a table that a policy scores, gathered into the columns of the ABI.
struct BatchColumns {
  std::vector<std::uint32_t> rows;
  std::vector<const pd_pod*> pods;
  std::vector<double> requests;
  std::vector<double> throughput;
  std::vector<double> free_gpu_percent;
  std::vector<double> match_percent;
  std::vector<double> matched_blocks;
  std::vector<double> matched_bytes;
  std::vector<std::uint64_t> matched;
  std::vector<double> values;
  std::vector<std::uint32_t> reasons;
  std::vector<double> fallback_values;
  std::vector<std::uint32_t> fallback_reasons;
  std::vector<double> load_columns;  // every pd_load column in use, one behind the other
  pd_load load{};
  pd_candidates candidates{};
};

struct SelectScratch {
  CandidateTable prefill;
  CandidateTable decode;
  BatchColumns prefill_batch;
  BatchColumns decode_batch;
  std::vector<std::pair<const Pod*, Drop>> not_candidates;
  std::vector<std::uint8_t> roleset_has_prefill;
  std::vector<std::uint8_t> roleset_has_decode;
  std::vector<double> finals;  // by roleset, NaN where it has no pair
  std::string prompt;
  std::vector<std::uint32_t> token_ids;
  PrefixLookupScratch prefix;
  pd_request request{};
  std::pmr::monotonic_buffer_resource policy_memory;  // pd.scratch/1, freed after the choice
};

}  // namespace pd
