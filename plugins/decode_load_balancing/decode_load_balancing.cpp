// Decode policy load_balancing: running requests and throughput, each normalised by the batch's
// maximum, weighed by the free share of the KV cache:
//   score = (weight_running * r/maxR + weight_throughput * (1 - t/maxT)) / (free/maxFree)
#include "pd/policy.hpp"

namespace {

class LoadBalancing {
 public:
  static constexpr char kName[] = "load_balancing";
  static constexpr char kDescription[] =
      "Best balance of running requests, generation throughput and free KV cache.";
  static constexpr std::array<pd_option, 2> kOptions{
      pd::sdk::float_option("weight_running", 1.0, 0.0, 1e6,
                            "Weight of the running requests; raise it where queues hurt most."),
      pd::sdk::float_option("weight_throughput", 1.0, 0.0, 1e6,
                            "Weight of a low token rate; raise it to favour fast pods."),
  };

  explicit LoadBalancing(const pd::sdk::Config& config)
      : weight_running_(config.number("weight_running")),
        weight_throughput_(config.number("weight_throughput")) {}

  void score(const pd::sdk::Request&, const pd::sdk::DecodeBatch& batch,
             pd::sdk::Scores scores) const {
    const auto running = batch.running_reqs();
    const auto throughput = batch.throughput();
    const auto free = batch.free_gpu_percent();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const double norm_running = running[i] / batch.max_request_count();
      const double norm_throughput = throughput[i] / batch.max_throughput();
      const double norm_free = free[i] / batch.max_free_gpu_usage();
      scores[i] =
          (weight_running_ * norm_running + weight_throughput_ * (1 - norm_throughput)) / norm_free;
    }
  }

 private:
  double weight_running_;
  double weight_throughput_;
};

}  // namespace

PD_PLUGIN("pd.decode_load_balancing", "1.0.0", "pd", "Apache-2.0",
          "Built-in decode policy load_balancing", PD_PLUGIN_UNLOAD_SAFE,
          pd::sdk::Decode<LoadBalancing>)
