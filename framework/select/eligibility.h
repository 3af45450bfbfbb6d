// First stage: which pods may be chosen at all.
#pragma once

#include <optional>

#include "framework/request/routing_context.h"
#include "framework/select/decision.h"
#include "framework/select/select_scratch.h"

namespace pd {

// True when the pod is ready and has not failed this request.
bool is_available(const RoutingContext& context, const Pod& pod);

// Fills the tables with the pods of every roleset that has a ready pod of both roles which has not
// failed this request; the others go to `not_candidates`. An error when no roleset has.
// Where a prefill has been done already (`context.handed_off_by`), only that pod and the decode
// pods of its roleset are candidates.
std::optional<SelectError> collect_candidates(const RoutingContext& context, const Fleet& fleet,
                                              const ModelPods& model, SelectScratch& scratch);

}  // namespace pd
