// What all workers of one gateway share: configuration, snapshots, and counters. Nothing in it is
// locked on the way of a request.
#pragma once

#include <atomic>
#include <cstdint>

#include "framework/config/settings.h"
#include "framework/prefix/prefix_index.h"
#include "framework/prefix/prefix_recorder.h"
#include "host/gateway/routing_state.h"
#include "host/observability/host_metrics.h"
#include "host/observability/request_log.h"

namespace pd {

struct GatewayEnvironment {
  const Settings& settings;
  const RoutingStatePublisher& routing;
  const PrefixIndex& prefix_index;
  PrefixRecorder& prefix_recorder;
  RequestLog& request_log;
  HostMetrics& metrics;
  std::atomic<std::uint32_t> requests_in_progress{0};
  std::atomic<std::uint32_t> connections_open{0};
  std::atomic<bool> draining{false};  // no new requests; connections close after their answer
};

}  // namespace pd
