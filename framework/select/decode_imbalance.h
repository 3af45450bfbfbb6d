// Fast paths of the decode side: three ordered checks for load that has drifted apart.
#pragma once

#include <cstdint>

#include "framework/request/routing_context.h"
#include "framework/select/select_scratch.h"
#include "framework/select/select_settings.h"

namespace pd {

// The first check that applies keeps one decode pod, and the prefill pods of its roleset if there
// are any left:
//   1. requests: a spread of `decode_min_spread` or more among pods whose running count is known
//   2. throughput: a spread above `throughput_min_spread`; the lowest rate is taken
//   3. requests per drain rate, where every pod has a rate: a ratio above `score_ratio`
// Gives the stage that applied, or kStageScores.
std::uint8_t prefer_least_loaded_decode(RoutingContext& context, const SelectSettings& settings,
                                        SelectScratch& scratch);

}  // namespace pd
