// Decode policy conductor: an estimate of the time per output token. The inverse of the pod's token
// rate, shared by its requests, with a penalty when the KV cache is nearly full:
//   score = (t > 0 ? 1000/t : 20) * (1 + 1/max(r, 1)) * (1 - free/100 > 0.9 ? 1.5 : 1)
#include <algorithm>

#include "pd/policy.hpp"

namespace {

struct Conductor {
  static constexpr char kName[] = "conductor";
  static constexpr char kDescription[] = "Lowest estimated time per output token.";
  static constexpr double kUnknownRateMs = 20.0;
  static constexpr double kNearlyFull = 0.9;
  static constexpr double kNearlyFullPenalty = 1.5;

  void score(const pd::sdk::Request&, const pd::sdk::DecodeBatch& batch,
             pd::sdk::Scores scores) const {
    const auto running = batch.running_reqs();
    const auto throughput = batch.throughput();
    const auto free = batch.free_gpu_percent();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const double token_ms = throughput[i] > 0 ? 1000.0 / throughput[i] : kUnknownRateMs;
      const double sharing = 1.0 + 1.0 / std::max(running[i], 1.0);
      const double penalty = 1.0 - free[i] / 100.0 > kNearlyFull ? kNearlyFullPenalty : 1.0;
      scores[i] = token_ms * sharing * penalty;
    }
  }
};

}  // namespace

PD_PLUGIN("pd.decode_conductor", "1.0.0", "pd", "Apache-2.0", "Built-in decode policy conductor",
          PD_PLUGIN_UNLOAD_SAFE, pd::sdk::Decode<Conductor>)
