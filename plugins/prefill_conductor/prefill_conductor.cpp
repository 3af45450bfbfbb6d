// Prefill policy conductor: an estimate of the time to first token. The queue in front of this
// request, the transfer of what the pod has cached, and the computation of what it has not:
//   score = requests * mean_prefill_ms + (m > 0 ? 0.005*m + 1 : 0) + (u > 0 ? 0.001*u^1.5 + 5 : 0)
// with m matched and u unmatched bytes of tokenizer output.
#include <cmath>

#include "pd/policy.hpp"

namespace {

struct Conductor {
  static constexpr char kName[] = "conductor";
  static constexpr char kDescription[] = "Lowest estimated time to first token.";
  static constexpr std::uint64_t kUses = PD_USES_PREFIX | PD_USES_PREFILL_TIME;

  static double cached_ms(double bytes) { return bytes > 0 ? 0.005 * bytes + 1.0 : 0.0; }
  static double computed_ms(double bytes) {
    return bytes > 0 ? 0.001 * std::pow(bytes, 1.5) + 5.0 : 0.0;
  }
  // What one prefill takes where the pod tells no mean: the model's value for 512 tokens.
  static double assumed_prefill_ms() { return computed_ms(512.0); }

  void score(const pd::sdk::Request& request, const pd::sdk::PrefillBatch& batch,
             pd::sdk::Scores scores) const {
    const auto matched = batch.matched_bytes();
    const auto requests = batch.request_counts();
    const auto mean_ms = batch.load(&pd_load::prefill_time_ms);
    const double total = static_cast<double>(request.prompt_bytes());
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const double prefill_ms =
          mean_ms[i] >= 0 ? mean_ms[i] : assumed_prefill_ms();  // NaN: not known
      scores[i] =
          requests[i] * prefill_ms + cached_ms(matched[i]) + computed_ms(total - matched[i]);
    }
  }
};

}  // namespace

PD_PLUGIN("pd.prefill_conductor", "1.0.0", "pd", "Apache-2.0", "Built-in prefill policy conductor",
          PD_PLUGIN_UNLOAD_SAFE, pd::sdk::Prefill<Conductor>)
