#include "host/observability/host_metrics.h"

#include <prometheus/collectable.h>
#include <prometheus/text_serializer.h>

#include <cmath>
#include <sstream>

#include "host/observability/request_log.h"

namespace pd {
namespace {

using prometheus::BuildCounter;
using prometheus::BuildHistogram;
using prometheus::ClientMetric;
using prometheus::Histogram;
using prometheus::MetricFamily;
using prometheus::MetricType;

const Histogram::BucketBoundaries kSelectionBounds{5e-6,   1e-5, 2.5e-5, 5e-5, 1e-4,
                                                   2.5e-4, 5e-4, 1e-3,   5e-3};
const Histogram::BucketBoundaries kRequestBounds{
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300};

MetricFamily gauge_family(std::string name, std::string help, MetricType type = MetricType::Gauge) {
  MetricFamily family;
  family.name = std::move(name);
  family.help = std::move(help);
  family.type = type;
  return family;
}

void add_value(MetricFamily& family, std::vector<ClientMetric::Label> labels, double value) {
  ClientMetric metric;
  metric.label = std::move(labels);
  if (family.type == MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
  family.metric.push_back(std::move(metric));
}

}  // namespace

// Reads the gauges at the moment of the scrape.
class HostMetrics::Gauges {
 public:
  void set_sources(const MetricSources& sources) { sources_ = sources; }

  std::vector<MetricFamily> collect() const {
    std::vector<MetricFamily> families;
    collect_process(families);
    if (sources_.routing == nullptr) return families;
    const auto state = sources_.routing->current();
    if (state == nullptr) return families;
    collect_pods(*state->fleet, families);
    collect_policies(state->router->policies(), families);
    return families;
  }

 private:
  void collect_process(std::vector<MetricFamily>& families) const {
    const auto add = [&](std::string name, std::string help, double value,
                         MetricType type = MetricType::Gauge) {
      families.push_back(gauge_family(std::move(name), std::move(help), type));
      add_value(families.back(), {}, value);
    };
    if (sources_.requests_in_progress != nullptr) {
      add("pd_requests_in_progress", "Requests between their head and the end of their answer.",
          *sources_.requests_in_progress);
    }
    if (sources_.connections_open != nullptr) {
      add("pd_client_connections", "Open connections of clients.", *sources_.connections_open);
    }
    if (sources_.prefix_index != nullptr) {
      const PrefixIndexStats stats = sources_.prefix_index->stats();
      add("pd_prefix_index_blocks", "Prompt blocks in the prefix index.",
          static_cast<double>(stats.blocks));
      add("pd_prefix_index_bytes", "Memory that the prefix index uses.",
          static_cast<double>(stats.used_bytes));
      add("pd_prefix_index_evicted_total", "Blocks that left because the index was full.",
          static_cast<double>(stats.evicted), MetricType::Counter);
    }
    if (sources_.prefix_recorder != nullptr) {
      add("pd_prefix_records_dropped_total", "Prefix records dropped because a queue was full.",
          static_cast<double>(sources_.prefix_recorder->dropped()), MetricType::Counter);
    }
    if (sources_.request_log != nullptr) {
      add("pd_request_records_dropped_total",
          "Log lines and decisions dropped because a queue was full.",
          static_cast<double>(sources_.request_log->dropped()), MetricType::Counter);
    }
  }

  static void collect_pods(const Fleet& fleet, std::vector<MetricFamily>& families) {
    MetricFamily prefill =
        gauge_family("pd_pod_prefill_requests", "Requests in their prefill leg on this pod.");
    MetricFamily decode =
        gauge_family("pd_pod_decode_requests", "Requests in their decode leg on this pod.");
    MetricFamily pending = gauge_family(
        "pd_pod_pending_decode", "Requests chosen for this decode pod and not dispatched to it.");
    MetricFamily health =
        gauge_family("pd_pod_health", "1 for the state that the pod is in, with its name.");
    for (const Pod& pod : fleet.pods()) {
      const std::vector<ClientMetric::Label> labels{{"pod", pod.spec.name},
                                                    {"model", pod.spec.model}};
      add_value(prefill, labels, pod.slot->prefill_requests);
      add_value(decode, labels, pod.slot->decode_requests);
      add_value(pending, labels, pod.slot->pending_decode);
      auto with_state = labels;
      with_state.push_back({"state", std::string(health_name(pod.slot->health))});
      add_value(health, with_state, 1);
    }
    families.insert(families.end(), {prefill, decode, pending, health});
  }

  static void collect_policies(const PolicySet& policies, std::vector<MetricFamily>& families) {
    MetricFamily calls =
        gauge_family("pd_policy_calls_total", "Batches that a policy scored.", MetricType::Counter);
    MetricFamily errors =
        gauge_family("pd_policy_errors_total", "Batches for which a policy returned an error.",
                     MetricType::Counter);
    MetricFamily invalid =
        gauge_family("pd_policy_invalid_scores_total",
                     "Scores that were NaN or -Inf for a pod that the policy did not exclude.",
                     MetricType::Counter);
    MetricFamily fallbacks = gauge_family(
        "pd_policy_fallbacks_total",
        "Decisions in which the fallback policy stepped in for this one.", MetricType::Counter);
    MetricFamily seconds = gauge_family(
        "pd_policy_seconds_total", "Time spent inside a policy's score().", MetricType::Counter);
    MetricFamily generation =
        gauge_family("pd_policy_generation", "Generation of the policies that decide.");
    const auto add = [&](const std::string& stage, const std::string& name,
                         const PolicyCounters& counters) {
      const std::vector<ClientMetric::Label> labels{{"stage", stage}, {"policy", name}};
      add_value(calls, labels, static_cast<double>(counters.calls));
      add_value(errors, labels, static_cast<double>(counters.errors));
      add_value(invalid, labels, static_cast<double>(counters.invalid_scores));
      add_value(fallbacks, labels, static_cast<double>(counters.fallbacks));
      add_value(seconds, labels, static_cast<double>(counters.nanoseconds) / 1e9);
    };
    add("prefill", policies.prefill().name(), policies.prefill().instance().counters());
    add("decode", policies.decode().name(), policies.decode().instance().counters());
    add_value(generation, {}, static_cast<double>(policies.generation()));
    families.insert(families.end(), {calls, errors, invalid, fallbacks, seconds, generation});
  }

  MetricSources sources_;
};

HostMetrics::HostMetrics()
    : registry_(std::make_shared<prometheus::Registry>()), gauges_(std::make_unique<Gauges>()) {
  const auto counter = [&](const char* name, const char* help) -> auto& {
    return BuildCounter().Name(name).Help(help).Register(*registry_);
  };
  const auto histogram = [&](const char* name, const char* help) -> auto& {
    return BuildHistogram().Name(name).Help(help).Register(*registry_);
  };
  families_ = std::make_unique<Families>(Families{
      counter("pd_requests_total",
              "Requests by model and by the status that the client got (0: it left before)."),
      counter("pd_handoffs_total",
              "Decode legs by how they got their KV blocks: nixl, shfs, none, recomputed."),
      counter("pd_retries_total", "Legs that were tried again on another pod."),
      counter("pd_leg_faults_total", "Legs that failed, by leg, pod and kind of fault."),
      counter("pd_answers_truncated_total", "Answers that broke off after they had begun."),
      counter("pd_client_left_total", "Requests whose client left before the end."),
      counter("pd_accepts_refused_total",
              "Connections that could not be accepted, or were refused at a limit."),
      counter("pd_scrapes_total", "Scrapes of pods' metrics by result."),
      counter("pd_scrape_problems_total", "Unusable lines and values on pods' metrics pages."),
      histogram("pd_selection_seconds", "Time to choose a pair of pods."),
      histogram("pd_prefill_seconds", "Prefill leg from dispatch to its whole answer."),
      histogram("pd_first_byte_seconds",
                "From a request's arrival to the first byte of its answer."),
      histogram("pd_request_seconds", "From a request's arrival to the end of its answer."),
  });
}

HostMetrics::~HostMetrics() = default;

void HostMetrics::set_sources(const MetricSources& sources) {
  gauges_->set_sources(sources);
}

std::string HostMetrics::text() const {
  auto families = registry_->Collect();
  auto gauges = gauges_->collect();
  families.insert(families.end(), std::make_move_iterator(gauges.begin()),
                  std::make_move_iterator(gauges.end()));
  return prometheus::TextSerializer().Serialize(families);
}

WorkerMetrics::WorkerMetrics(HostMetrics& metrics)
    : families_(metrics.families()),
      selection_seconds_(families_.selection_seconds.Add({}, kSelectionBounds)),
      prefill_seconds_(families_.prefill_seconds.Add({}, kRequestBounds)),
      first_byte_seconds_(families_.first_byte_seconds.Add({}, kRequestBounds)),
      request_seconds_(families_.request_seconds.Add({}, kRequestBounds)),
      truncated_(families_.truncated.Add({})),
      client_left_(families_.client_left.Add({})) {}

void WorkerMetrics::count_request(const RequestRecord& record) {
  request_counter(record.model, record.status).Increment();
  const auto observe = [](Histogram& histogram, double milliseconds) {
    if (!std::isnan(milliseconds)) histogram.Observe(milliseconds / 1000);
  };
  observe(selection_seconds_, record.selection_ms);
  observe(prefill_seconds_, record.prefill_ms);
  observe(first_byte_seconds_, record.first_byte_ms);
  observe(request_seconds_, record.total_ms);
  if (record.truncated) truncated_.Increment();
  if (record.client_left) client_left_.Increment();
}

prometheus::Counter& WorkerMetrics::request_counter(const std::string& model, int status) {
  prometheus::Counter*& counter = requests_[model][status];
  if (counter == nullptr) {
    counter = &families_.requests.Add({{"model", model}, {"status", std::to_string(status)}});
  }
  return *counter;
}

void WorkerMetrics::count_handoff(std::string_view kind) {
  prometheus::Counter*& counter = handoffs_[kind];
  if (counter == nullptr) counter = &families_.handoffs.Add({{"kind", std::string(kind)}});
  counter->Increment();
}

void WorkerMetrics::count_retry(std::string_view leg) {
  families_.retries.Add({{"leg", std::string(leg)}}).Increment();
}

void WorkerMetrics::count_leg_fault(std::string_view leg, std::string_view pod,
                                    std::string_view fault) {
  families_.leg_faults
      .Add({{"leg", std::string(leg)}, {"pod", std::string(pod)}, {"fault", std::string(fault)}})
      .Increment();
}

void WorkerMetrics::count_refused_accept() {
  families_.refused_accepts.Add({}).Increment();
}

}  // namespace pd
