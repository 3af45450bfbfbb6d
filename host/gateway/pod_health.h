// What traffic and scrapes say of a pod's health, and whether another pair is left to try.
#pragma once

#include "framework/fleet/fleet.h"
#include "framework/request/routing_context.h"
#include "host/gateway/leg_failure.h"

namespace pd {

// Failed connections in a row after which a pod counts as unready.
inline constexpr std::uint32_t kFailuresUntilUnready = 3;

// The pod has answered. [any thread]
void note_success(const Pod& pod);

// A leg to the pod failed. Only a pod that cannot be reached loses its readiness, and never by
// traffic the last ready one of its role and model. [any thread]
void note_failure(const Fleet& fleet, const Pod& pod, FailureKind kind);

// The scraper could not reach the pod: this can make the last one unready too. [any thread]
void note_scrape_unreachable(const Pod& pod);

// True when select() would find candidates for `context`: ready pods of both roles in one roleset,
// or of decode alone where the prefill is done, that have not been tried.
bool another_pair_is_left(const Fleet& fleet, const ModelPods& model,
                          const RoutingContext& context);

}  // namespace pd
