// Fast path of the prefill side: when load has drifted apart, the least loaded pod is taken.
#pragma once

#include "framework/request/routing_context.h"
#include "framework/select/select_scratch.h"
#include "framework/select/select_settings.h"

namespace pd {

// Where the most loaded candidate has more than `prefill_min_spread` requests above the least
// loaded: keeps one of the least loaded, drawn at random, and the decode pods of its roleset. Gives
// true when it did.
bool prefer_least_loaded_prefill(RoutingContext& context, const SelectSettings& settings,
                                 SelectScratch& scratch);

}  // namespace pd
