// What a choice of pods came to: a pair and the stage that settled it, or why there is none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "framework/fleet/fleet.h"

namespace pd {

// Which rule settled the choice; fast paths of both sides may apply together.
enum Stage : std::uint8_t {
  kStageScores = 0,
  kStagePrefillImbalance = 1,
  kStageDecodeRequests = 2,
  kStageDecodeThroughput = 4,
  kStageDecodeRatio = 8,
};

// "scores", "prefill_imbalance+decode_requests".
std::string stage_name(std::uint8_t stages);

// Why a candidate got no score.
enum class Drop : std::uint8_t {
  kNone,
  kOverload,  // far more requests than the others
  kNan,       // neither its policy nor the fallback gave a score
  kRoleset,   // its roleset lacks the other role
  kNotReady,
  kTried,      // failed this request before
  kImbalance,  // a fast path chose another pod
  kExcluded,   // by the policy, with a reason of its own
};
std::string_view drop_name(Drop drop);

// Pods live in the fleet snapshot that the choice was made from.
struct Decision {
  const Pod* prefill = nullptr;
  const Pod* decode = nullptr;
  std::uint8_t stages = kStageScores;
  bool fallback_used = false;
  std::uint64_t prefill_tag = 0;  // of the policies' own, for their feedback
  std::uint64_t decode_tag = 0;
};

enum class SelectErrorKind : std::uint8_t { kUnknownModel, kMixedEngines, kNoPrefill, kNoDecode };

struct SelectError {
  SelectErrorKind kind;
  std::string message;  // names the model and what is missing
};

}  // namespace pd
