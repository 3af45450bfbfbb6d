#include "host/scrape/scraper.h"

namespace pd {
namespace {

constexpr std::chrono::milliseconds kTick(10);

}  // namespace

Scraper::Scraper(std::shared_ptr<const Fleet> fleet, const FleetSettings& settings,
                 const TimeoutSettings& timeouts, std::shared_ptr<WantedSeriesTable> wanted,
                 HostMetrics& metrics)
    : fleet_(std::move(fleet)), settings_(settings), timer_(io_), pool_(timeouts.upstream_idle) {
  wanted_ = std::move(wanted);
  for (const Pod& pod : fleet_->pods()) {
    if (!serves_http(pod.spec)) continue;
    targets_.push_back(std::make_unique<ScrapeTarget>(io_, pool_, *fleet_, pod, settings_, *wanted_,
                                                      metrics, ScrapeTarget::Clock::now()));
  }
}

Scraper::~Scraper() {
  stop();
}

void Scraper::start() {
  tick();
  thread_ = std::thread([this] { io_.run(); });
}

void Scraper::stop() {
  io_.stop();
  if (thread_.joinable()) thread_.join();
}

void Scraper::tick() {
  const auto now = ScrapeTarget::Clock::now();
  for (const auto& target : targets_) target->check(now);
  pool_.sweep(now);
  timer_.expires_after(kTick);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) tick();
  });
}

}  // namespace pd
