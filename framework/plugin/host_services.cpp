#include "framework/plugin/host_services.h"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <limits>
#include <utility>

#include "framework/fleet/fleet.h"
#include "framework/prefix/prefix_lookup.h"
#include "framework/request/monotonic_clock.h"
#include "pd/policy.hpp"

namespace pd {
namespace {

const HostServices& services_of(const pd_host* host) {
  return *static_cast<const HostServices*>(host->host_data);
}

RoutingContext& context_of(const pd_request* request) {
  // The router made the request from a context of its own, which it may change.
  return *static_cast<RoutingContext*>(const_cast<void*>(request->host_data));
}

// A sample may be a moment younger than the decision that reads it.
double age_seconds(std::uint64_t now_ns, std::uint64_t then_ns) {
  return now_ns > then_ns ? static_cast<double>(now_ns - then_ns) / 1e9 : 0.0;
}

void log_write(const pd_host* host, std::uint32_t severity, pd_str message) {
  const HostServices& services = services_of(host);
  if (services.environment().log) {
    services.environment().log(services.source(), severity, sdk::view(message));
  }
}

std::uint64_t clock_now_ns(const pd_host*, const pd_request* request) {
  return request == nullptr ? monotonic_now_ns() : request->decision_ns;
}

std::uint64_t random_next(const pd_host* host, const pd_request* request) {
  return context_of(request).stream(services_of(host).stream()).next();
}

pd_str headers_get(const pd_host*, const pd_request* request, pd_str name) {
  const HeaderSource* headers = context_of(request).headers;
  return headers == nullptr ? pd_str{nullptr, 0} : sdk::str(headers->header(sdk::view(name)));
}

pd_status prefix_match(const pd_host*, const pd_request* request, const pd_candidates* candidates,
                       const std::uint64_t* hashes, std::uint64_t hash_count,
                       std::uint64_t* matched_blocks) {
  const RoutingContext& context = context_of(request);
  if (context.prefix == nullptr) return PD_ERR_UNSUPPORTED;
  context.prefix->match({hashes, static_cast<std::size_t>(hash_count)},
                        {candidates->pods, candidates->count}, matched_blocks);
  return PD_OK;
}

pd_str tokenizer_name(const pd_host* host) {
  return sdk::str(services_of(host).environment().tokenizer);
}

pd_status tokenizer_output(const pd_host*, const pd_request* request, pd_str* bytes,
                           std::uint64_t* tokens) {
  const RoutingContext& context = context_of(request);
  if (context.prompt.data() == nullptr) return PD_ERR_UNSUPPORTED;
  *bytes = sdk::str(context.prompt);
  *tokens = context.prompt.size();  // the character tokenizer: one token is one byte
  return PD_OK;
}

void* scratch_get(const pd_host*, const pd_request* request, std::uint64_t size,
                  std::uint64_t alignment) {
  RoutingContext& context = context_of(request);
  const bool odd_alignment = !std::has_single_bit(alignment) || alignment > 64;
  if (context.scratch == nullptr || odd_alignment || size > context.scratch_left) return nullptr;
  try {
    void* memory = context.scratch->allocate(static_cast<std::size_t>(size),
                                             static_cast<std::size_t>(alignment));
    context.scratch_left -= size;
    return memory;
  } catch (const std::bad_alloc&) {
    return nullptr;  // no exception may pass through the plugin's frames
  }
}

pd_status metrics_want(const pd_host* host, const pd_metric_query* query, std::uint32_t* id,
                       pd_error* error) {
  WantedSeries series;
  series.name = sdk::view(query->series);
  series.combine = query->combine;
  for (std::uint32_t i = 0; i < query->label_count; ++i) {
    series.labels.emplace_back(sdk::view(query->label_keys[i]), sdk::view(query->label_values[i]));
  }
  const auto column = services_of(host).environment().wanted_series->want(series);
  if (!column) {
    std::snprintf(error->text, error->capacity,
                  "the host has no room for another series: it scrapes at most %u",
                  kMaxWantedSeries);
    return PD_ERR_OUT_OF_SPACE;
  }
  *id = *column;
  return PD_OK;
}

pd_status metrics_read(const pd_host*, const pd_request* request, const pd_candidates* candidates,
                       std::uint32_t id, double* values, double* ages_s) {
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  const RoutingContext& context = context_of(request);
  if (id >= kMaxWantedSeries || context.fleet == nullptr) return PD_ERR_INVALID;
  const EngineColumns& columns = context.fleet->columns();
  for (std::uint32_t i = 0; i < candidates->count; ++i) {
    const std::uint32_t row = context.fleet->row_of_slot(candidates->pods[i]->slot);
    values[i] = columns.series(id, row);
    if (ages_s == nullptr) continue;
    const std::uint64_t sampled_at = columns.sampled_at(row);
    ages_s[i] = sampled_at == 0 ? kUnknown : age_seconds(context.now_ns, sampled_at);
  }
  return PD_OK;
}

constexpr pd_log_v1 kLog{sizeof(pd_log_v1), 0, &log_write};
constexpr pd_clock_v1 kClock{sizeof(pd_clock_v1), 0, &clock_now_ns};
constexpr pd_random_v1 kRandom{sizeof(pd_random_v1), 0, &random_next};
constexpr pd_headers_v1 kHeaders{sizeof(pd_headers_v1), 0, &headers_get};
constexpr pd_prefix_index_v1 kPrefixIndex{sizeof(pd_prefix_index_v1), 0, &prefix_match};
constexpr pd_tokenizer_v1 kTokenizer{sizeof(pd_tokenizer_v1), 0, &tokenizer_name,
                                     &tokenizer_output};
constexpr pd_scratch_v1 kScratch{sizeof(pd_scratch_v1), 0, &scratch_get};
constexpr pd_metrics_v1 kMetrics{sizeof(pd_metrics_v1), 0, &metrics_want, &metrics_read};

constexpr std::array<std::pair<std::string_view, const void*>, 8> kServices{{
    {PD_SERVICE_LOG, &kLog},
    {PD_SERVICE_CLOCK, &kClock},
    {PD_SERVICE_RANDOM, &kRandom},
    {PD_SERVICE_HEADERS, &kHeaders},
    {PD_SERVICE_PREFIX_INDEX, &kPrefixIndex},
    {PD_SERVICE_TOKENIZER, &kTokenizer},
    {PD_SERVICE_SCRATCH, &kScratch},
    {PD_SERVICE_METRICS, &kMetrics},
}};

const void* find_service(const pd_host*, const char* id) {
  for (const auto& [name, table] : kServices) {
    if (name == id) return table;
  }
  return nullptr;
}

}  // namespace

HostServices::HostServices(std::shared_ptr<const HostEnvironment> environment, std::string source,
                           RandomStream stream)
    : environment_(std::move(environment)),
      source_(std::move(source)),
      stream_(stream),
      host_{sizeof(pd_host), PD_ABI_MAJOR,
            PD_ABI_MINOR,    this,
            {"pd-host", 7},  sdk::str(environment_->version),
            &find_service} {}

}  // namespace pd
