#include "framework/select/final_pair.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace pd {

std::optional<std::uint32_t> choose_roleset(RoutingContext& context, SelectScratch& scratch) {
  constexpr double kLeastPrefillScale = 1;
  constexpr double kLeastDecodeScale = 0.01;
  const double prefill_scale = std::max(scratch.prefill.max_score, kLeastPrefillScale);
  const double decode_scale = std::max(scratch.decode.max_score, kLeastDecodeScale);

  const std::size_t rolesets = scratch.prefill.picks.size();
  scratch.finals.assign(rolesets, std::numeric_limits<double>::quiet_NaN());
  std::optional<std::uint32_t> best;
  std::uint32_t equals = 0;
  for (std::uint32_t r = 0; r < rolesets; ++r) {
    const RolesetPick& prefill = scratch.prefill.picks[r];
    const RolesetPick& decode = scratch.decode.picks[r];
    if (prefill.row == RolesetPick::kNone || decode.row == RolesetPick::kNone) continue;
    double final_score = prefill.score / prefill_scale + decode.score / decode_scale;
    // Scores at the end of the range of a double can cancel out to nothing: a last resort, too.
    if (std::isnan(final_score)) final_score = std::numeric_limits<double>::infinity();
    scratch.finals[r] = final_score;
    if (!best || final_score < scratch.finals[*best]) {
      best = r;
      equals = 1;
    } else if (final_score == scratch.finals[*best]) {
      ++equals;
      if (context.shuffle && context.stream(RandomStream::kRouter).below(equals) == 0) best = r;
    }
  }
  return best;
}

}  // namespace pd
