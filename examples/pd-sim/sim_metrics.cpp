#include "examples/pd-sim/sim_metrics.h"

#include <charconv>

#include "examples/pd-sim/answer_text.h"

namespace pd::sim {
namespace {

// As the Python client prints: a whole number keeps its ".0".
void append_number(std::string& page, double value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  const std::string_view digits(text.data(), static_cast<std::size_t>(end - text.data()));
  page += digits;
  if (digits.find_first_of(".en") == std::string_view::npos) page += ".0";
}

class Page {
 public:
  explicit Page(std::string_view model) {
    labels_ = "engine=\"0\",model_name=\"";
    append_json_escaped(labels_, model);
    labels_ += '"';
  }

  Page& family(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    text_.append("# HELP ").append(name).append(" ").append(help).append("\n# TYPE ");
    text_.append(name).append(" ").append(type).append("\n");
    return *this;
  }
  Page& sample(double value, std::string_view extra = {}) {
    text_.append(name_).append("{").append(labels_).append(extra).append("} ");
    append_number(text_, value);
    text_ += '\n';
    return *this;
  }
  void histogram(std::string_view name, std::string_view help, const PhaseHistogram& values) {
    family(name, "histogram", help);
    values.append(text_, name, labels_);
  }
  void counter(std::string_view name, std::string_view help, std::uint64_t value) {
    family(name, "counter", help).sample(static_cast<double>(value));
  }
  void gauge(std::string_view name, std::string_view help, double value) {
    family(name, "gauge", help).sample(value);
  }
  void raw(std::string_view line) { text_ += line; }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
  std::string labels_;
  std::string_view name_;
};

void append_cache_config(Page& page, const EngineGauges& gauges) {
  page.family("vllm:cache_config_info", "gauge", "Information of the LLMEngine CacheConfig");
  page.raw("vllm:cache_config_info{block_size=\"" + std::to_string(gauges.block_size) +
           "\",cache_dtype=\"auto\",enable_prefix_caching=\"True\",engine=\"0\","
           "num_gpu_blocks=\"" +
           std::to_string(gauges.block_count) + "\"} 1.0\n");
}

}  // namespace

void PhaseHistogram::observe(Duration phase) {
  const double seconds = std::chrono::duration<double>(phase).count();
  std::size_t bucket = 0;
  while (bucket < kBounds.size() && seconds > kBounds[bucket]) ++bucket;
  ++counts_[bucket];
  sum_ += seconds;
}

void PhaseHistogram::append(std::string& page, std::string_view name,
                            std::string_view labels) const {
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    total += counts_[i];
    page.append(name).append("_bucket{").append(labels).append(",le=\"");
    if (i < kBounds.size()) {
      append_number(page, kBounds[i]);
    } else {
      page += "+Inf";
    }
    page += "\"} ";
    append_number(page, static_cast<double>(total));
    page += '\n';
  }
  page.append(name).append("_count{").append(labels).append("} ");
  append_number(page, static_cast<double>(total));
  page.append("\n").append(name).append("_sum{").append(labels).append("} ");
  append_number(page, sum_);
  page += '\n';
}

std::string render_vllm_metrics(const EngineStats& stats, const EngineGauges& gauges,
                                std::string_view model) {
  Page page(model);
  page.gauge("vllm:num_requests_running", "Number of requests in model execution batches.",
             gauges.running);
  page.gauge("vllm:num_requests_waiting", "Number of requests waiting to be processed.",
             gauges.waiting);
  page.gauge("vllm:kv_cache_usage_perc", "KV-cache usage. 1 means 100 percent usage.",
             gauges.kv_usage);
  page.counter("vllm:prefix_cache_queries_total", "Tokens asked of the prefix cache.",
               stats.prefix_queries);
  page.counter("vllm:prefix_cache_hits_total", "Tokens found in the prefix cache.",
               stats.prefix_hits);
  page.counter("vllm:num_preemptions_total", "Preempted requests.", stats.preemptions);
  const std::uint64_t prompt_tokens =
      stats.prompt_tokens_computed + stats.prompt_tokens_cached + stats.prompt_tokens_transferred;
  page.counter("vllm:prompt_tokens_total", "Number of prefill tokens processed.", prompt_tokens);
  page.family("vllm:prompt_tokens_by_source_total", "counter", "Number of prompt tokens by source.")
      .sample(static_cast<double>(stats.prompt_tokens_computed), ",source=\"local_compute\"")
      .sample(static_cast<double>(stats.prompt_tokens_cached), ",source=\"local_cache_hit\"")
      .sample(static_cast<double>(stats.prompt_tokens_transferred),
              ",source=\"external_kv_transfer\"");
  page.counter("vllm:generation_tokens_total", "Number of generation tokens processed.",
               stats.generation_tokens);
  page.family("vllm:request_success_total", "counter", "Finished requests by reason.")
      .sample(static_cast<double>(stats.finished_stop), ",finished_reason=\"stop\"")
      .sample(static_cast<double>(stats.finished_length), ",finished_reason=\"length\"")
      .sample(static_cast<double>(stats.finished_abort), ",finished_reason=\"abort\"")
      .sample(static_cast<double>(stats.finished_error), ",finished_reason=\"error\"");
  page.counter("vllm:nixl_num_failed_transfers_total", "Failed KV transfers.",
               stats.transfers_failed);
  page.counter("vllm:nixl_num_kv_expired_reqs_total", "Hand-offs whose lease ended unread.",
               stats.handoffs_expired);
  page.histogram("vllm:request_prefill_time_seconds",
                 "Histogram of time spent in PREFILL phase for request.", stats.prefill_time);
  page.histogram("vllm:e2e_request_latency_seconds", "Histogram of end-to-end request latency.",
                 stats.e2e_latency);
  append_cache_config(page, gauges);
  return page.take();
}

}  // namespace pd::sim
