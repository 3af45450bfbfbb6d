// Fetches the pods' metrics pages, one request at a time per pod, and keeps the fleet's columns and
// the pods' readiness up to date. A scrape is also the probe: a pod that answers anything is ready.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "framework/config/settings.h"
#include "framework/fleet/fleet.h"
#include "framework/load/wanted_series.h"
#include "host/observability/host_metrics.h"
#include "host/scrape/scrape_target.h"

namespace pd {

// Runs on a thread of its own.
class Scraper {
 public:
  Scraper(std::shared_ptr<const Fleet> fleet, const FleetSettings& settings,
          const TimeoutSettings& timeouts, std::shared_ptr<WantedSeriesTable> wanted,
          HostMetrics& metrics);
  ~Scraper();

  void start();
  void stop();

 private:
  void tick();

  std::shared_ptr<const Fleet> fleet_;
  const FleetSettings settings_;
  std::shared_ptr<WantedSeriesTable> wanted_;
  boost::asio::io_context io_{1};
  boost::asio::steady_timer timer_;
  UpstreamPool pool_;
  std::vector<std::unique_ptr<ScrapeTarget>> targets_;
  std::thread thread_;
};

}  // namespace pd
