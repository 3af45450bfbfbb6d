#include "framework/select/decision.h"

namespace pd {

std::string stage_name(std::uint8_t stages) {
  std::string name;
  const auto add = [&](std::string_view part) {
    if (!name.empty()) name += '+';
    name += part;
  };
  if (stages & kStagePrefillImbalance) add("prefill_imbalance");
  if (stages & kStageDecodeRequests) add("decode_requests");
  if (stages & kStageDecodeThroughput) add("decode_throughput");
  if (stages & kStageDecodeRatio) add("decode_ratio");
  if (name.empty()) add("scores");
  return name;
}

std::string_view drop_name(Drop drop) {
  switch (drop) {
    case Drop::kNone:
      return "";
    case Drop::kOverload:
      return "overload";
    case Drop::kNan:
      return "nan";
    case Drop::kRoleset:
      return "roleset";
    case Drop::kNotReady:
      return "not_ready";
    case Drop::kTried:
      return "tried";
    case Drop::kImbalance:
      return "imbalance";
    case Drop::kExcluded:
      return "excluded";
  }
  return "";
}

}  // namespace pd
