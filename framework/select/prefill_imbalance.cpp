#include "framework/select/prefill_imbalance.h"

#include <algorithm>

namespace pd {
namespace {

// One of the rows whose count is `least`, drawn uniformly.
std::uint32_t draw_row(const std::vector<double>& counts, double least, RoutingContext& context) {
  const auto equals = static_cast<std::uint32_t>(std::count(counts.begin(), counts.end(), least));
  std::uint32_t skip = context.shuffle ? context.stream(RandomStream::kRouter).below(equals) : 0;
  for (std::uint32_t row = 0;; ++row) {
    if (counts[row] == least && skip-- == 0) return row;
  }
}

}  // namespace

bool prefer_least_loaded_prefill(RoutingContext& context, const SelectSettings& settings,
                                 SelectScratch& scratch) {
  CandidateTable& prefill = scratch.prefill;
  const auto [least, most] = std::minmax_element(prefill.requests.begin(), prefill.requests.end());
  if (!(*most - *least > settings.prefill_min_spread)) return false;

  const std::uint32_t chosen = draw_row(prefill.requests, *least, context);
  for (std::uint32_t row = 0; row < prefill.size(); ++row) {
    if (row != chosen) prefill.drops[row] = Drop::kImbalance;
  }
  const std::uint32_t roleset = prefill.pods[chosen]->roleset;
  for (std::uint32_t row = 0; row < scratch.decode.size(); ++row) {
    if (scratch.decode.pods[row]->roleset != roleset) scratch.decode.drops[row] = Drop::kImbalance;
  }
  return true;
}

}  // namespace pd
