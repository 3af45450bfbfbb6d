// Last stage: the roleset whose best prefill and best decode pod are best together.
#pragma once

#include <cstdint>
#include <optional>

#include "framework/request/routing_context.h"
#include "framework/select/select_scratch.h"

namespace pd {

// final = p / max(maxP, 1) + d / max(maxD, 0.01), the maxima over the finite scores of the stage.
// Fills `scratch.finals`; gives the roleset with the lowest final, ties drawn at random, or nothing
// when no roleset has a pod of both roles left. +Inf is a last resort, not a failure.
std::optional<std::uint32_t> choose_roleset(RoutingContext& context, SelectScratch& scratch);

}  // namespace pd
