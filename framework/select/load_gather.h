// Copies the load of pods out of the shared columns: a choice works on values that do not move.
#pragma once

#include <cstdint>

#include "framework/request/routing_context.h"
#include "framework/select/select_scratch.h"
#include "framework/select/select_settings.h"

namespace pd {

// Fills `table.requests` with the prefill counts of its pods.
void gather_prefill_load(CandidateTable& table);

// Fills the decode columns of `table`:
//   running           the larger of the engine's count and our own; NaN when neither knows the pod
//   requests          running (0 if NaN) + pending
//   free_gpu_percent  round(100 - 100 * KV use), at least 0.1; 100 when not known
void gather_decode_load(CandidateTable& table, const Fleet& fleet, std::uint64_t now_ns,
                        const SelectSettings& settings);

// Sets the maximum of `table.requests`, at least 1.
void gather_maxima(CandidateTable& table);

// Sets the maxima of the decode columns over the candidates that are left, each at least 1. Fast
// paths that narrow the candidates afterwards do not change them.
void gather_decode_maxima(CandidateTable& table);

// Fills the pd_load columns in `uses` (PD_USES_*) for the rows of `batch`.
void gather_load_columns(BatchColumns& batch, const CandidateTable& table, std::uint64_t uses,
                         const Fleet& fleet, std::uint64_t now_ns, const SelectSettings& settings);

}  // namespace pd
