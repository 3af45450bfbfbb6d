// Prefill policy prefix_cache: the share of the prompt that the pod does not have, and its load:
//   score = (100 - match_percent) * 0.1 + requests/maxRequests
// A whole miss costs ten times as much as the load of the busiest pod.
#include "pd/policy.hpp"

namespace {

struct PrefixCache {
  static constexpr char kName[] = "prefix_cache";
  static constexpr char kDescription[] = "Longest cached prefix first, then the lower load.";
  static constexpr std::uint64_t kUses = PD_USES_PREFIX;

  void score(const pd::sdk::Request&, const pd::sdk::PrefillBatch& batch,
             pd::sdk::Scores scores) const {
    const auto match_percent = batch.match_percent();
    const auto requests = batch.request_counts();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      scores[i] = (100.0 - match_percent[i]) * 0.1 + requests[i] / batch.max_request_count();
    }
  }
};

}  // namespace

PD_PLUGIN("pd.prefill_prefix_cache", "1.0.0", "pd", "Apache-2.0",
          "Built-in prefill policy prefix_cache", PD_PLUGIN_UNLOAD_SAFE,
          pd::sdk::Prefill<PrefixCache>)
