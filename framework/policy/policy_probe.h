// Lets a new policy score a made-up fleet before it may decide anything real.
#pragma once

#include <optional>
#include <string>

#include "framework/policy/decode_score_policy.h"
#include "framework/policy/prefill_score_policy.h"

namespace pd {

// Nothing when every pod of a small ordinary batch got a usable score or a reason; else what is
// wrong, with what to do. The request is marked as a dry run. [control thread]
std::optional<std::string> probe_policy(const PrefillScorePolicy& policy);
std::optional<std::string> probe_policy(const DecodeScorePolicy& policy);

}  // namespace pd
