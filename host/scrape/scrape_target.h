// One pod as the scraper sees it: its current request, its rates and its last page.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "framework/config/settings.h"
#include "framework/fleet/fleet.h"
#include "framework/load/drain_rate.h"
#include "framework/load/token_rate.h"
#include "framework/load/wanted_series.h"
#include "host/observability/host_metrics.h"
#include "host/upstream/leg.h"

namespace pd {

// Used by the scraper's thread.
class ScrapeTarget final : public LegEvents {
 public:
  using Clock = std::chrono::steady_clock;

  ScrapeTarget(boost::asio::io_context& io, UpstreamPool& pool, const Fleet& fleet, const Pod& pod,
               const FleetSettings& settings, const WantedSeriesTable& wanted, HostMetrics& metrics,
               Clock::time_point first_due);
  ~ScrapeTarget() override;

  // Starts a scrape that is due, ends one that takes too long.
  void check(Clock::time_point now);

 private:
  void begin(Clock::time_point now);
  void on_leg_head(const http::ResponseHead& head) override;
  void on_leg_payload(std::span<char> payload, bool done) override;
  void on_leg_fault(LegFault fault, const std::string& text) override;
  void take_page();
  void end(prometheus::Counter& result);

  boost::asio::io_context& io_;
  UpstreamPool& pool_;
  const Fleet& fleet_;
  const Pod& pod_;
  const FleetSettings& settings_;
  const WantedSeriesTable& wanted_;
  prometheus::Counter& ok_;
  prometheus::Counter& bad_status_;
  prometheus::Counter& unreachable_;
  prometheus::Counter& timed_out_;
  prometheus::Counter& too_large_;
  prometheus::Counter& problems_;
  std::shared_ptr<Leg> leg_;
  std::string page_;
  int status_ = 0;
  TokenRate token_rate_;
  DrainRate drain_rate_;
  Clock::time_point due_;
  Clock::time_point began_;
};

}  // namespace pd
