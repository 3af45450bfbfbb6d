// Decode policy least_request: the number of active decode requests, pending ones included.
#include "pd/policy.hpp"

namespace {

struct LeastRequest {
  static constexpr char kName[] = "least_request";
  static constexpr char kDescription[] = "The pod with the fewest active decode requests.";

  void score(const pd::sdk::Request&, const pd::sdk::DecodeBatch& batch,
             pd::sdk::Scores scores) const {
    const auto running = batch.running_reqs();
    for (std::size_t i = 0; i < batch.size(); ++i) scores[i] = running[i];
  }
};

}  // namespace

PD_PLUGIN("pd.decode_least_request", "1.0.0", "pd", "Apache-2.0",
          "Built-in decode policy least_request", PD_PLUGIN_UNLOAD_SAFE,
          pd::sdk::Decode<LeastRequest>)
