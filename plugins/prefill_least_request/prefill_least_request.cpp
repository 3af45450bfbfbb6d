// Prefill policy least_request: the number of requests in their prefill leg.
#include "pd/policy.hpp"

namespace {

struct LeastRequest {
  static constexpr char kName[] = "least_request";
  static constexpr char kDescription[] = "The pod with the fewest requests in prefill.";

  void score(const pd::sdk::Request&, const pd::sdk::PrefillBatch& batch,
             pd::sdk::Scores scores) const {
    const auto requests = batch.request_counts();
    for (std::size_t i = 0; i < batch.size(); ++i) scores[i] = requests[i];
  }
};

}  // namespace

PD_PLUGIN("pd.prefill_least_request", "1.0.0", "pd", "Apache-2.0",
          "Built-in prefill policy least_request", PD_PLUGIN_UNLOAD_SAFE,
          pd::sdk::Prefill<LeastRequest>)
