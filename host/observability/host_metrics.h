// Everything that /metrics shows. Label sets are bounded: models, pods and policies come from the
// configuration, statuses and codes from this program; a client cannot create a series.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "framework/prefix/prefix_index.h"
#include "framework/prefix/prefix_recorder.h"
#include "host/gateway/routing_state.h"
#include "host/observability/request_record.h"

namespace pd {

class RequestLog;

// What the gauges are read from when somebody asks.
struct MetricSources {
  const RoutingStatePublisher* routing = nullptr;
  const PrefixIndex* prefix_index = nullptr;
  const PrefixRecorder* prefix_recorder = nullptr;
  const RequestLog* request_log = nullptr;
  const std::atomic<std::uint32_t>* requests_in_progress = nullptr;
  const std::atomic<std::uint32_t>* connections_open = nullptr;
};

// Counters of one worker thread are looked up once and then kept. Thread-safe.
class HostMetrics {
 public:
  HostMetrics();
  ~HostMetrics();

  // Where the gauges come from; set once, before text() is called.
  void set_sources(const MetricSources& sources);

  // The page in the Prometheus text format.
  std::string text() const;

  struct Families {
    prometheus::Family<prometheus::Counter>& requests;
    prometheus::Family<prometheus::Counter>& handoffs;
    prometheus::Family<prometheus::Counter>& retries;
    prometheus::Family<prometheus::Counter>& leg_faults;
    prometheus::Family<prometheus::Counter>& truncated;
    prometheus::Family<prometheus::Counter>& client_left;
    prometheus::Family<prometheus::Counter>& refused_accepts;
    prometheus::Family<prometheus::Counter>& scrapes;
    prometheus::Family<prometheus::Counter>& scrape_problems;
    prometheus::Family<prometheus::Histogram>& selection_seconds;
    prometheus::Family<prometheus::Histogram>& prefill_seconds;
    prometheus::Family<prometheus::Histogram>& first_byte_seconds;
    prometheus::Family<prometheus::Histogram>& request_seconds;
  };
  Families& families() { return *families_; }

 private:
  class Gauges;

  std::shared_ptr<prometheus::Registry> registry_;
  std::unique_ptr<Families> families_;
  std::unique_ptr<Gauges> gauges_;
};

// One worker's way to the counters, without locks once a series has been met. One thread.
class WorkerMetrics {
 public:
  explicit WorkerMetrics(HostMetrics& metrics);

  void count_request(const RequestRecord& record);
  void count_handoff(std::string_view kind);
  void count_retry(std::string_view leg);
  void count_leg_fault(std::string_view leg, std::string_view pod, std::string_view fault);
  void count_refused_accept();

 private:
  prometheus::Counter& request_counter(const std::string& model, int status);

  HostMetrics::Families& families_;
  std::unordered_map<std::string_view, prometheus::Counter*> handoffs_;  // keys are static texts
  std::unordered_map<std::string, std::unordered_map<int, prometheus::Counter*>> requests_;
  prometheus::Histogram& selection_seconds_;
  prometheus::Histogram& prefill_seconds_;
  prometheus::Histogram& first_byte_seconds_;
  prometheus::Histogram& request_seconds_;
  prometheus::Counter& truncated_;
  prometheus::Counter& client_left_;
};

}  // namespace pd
