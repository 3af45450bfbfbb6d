#include "host/scrape/scrape_target.h"

#include <fmt/format.h>

#include <random>

#include "framework/load/series_reader.h"
#include "framework/load/vllm_signals.h"
#include "framework/request/monotonic_clock.h"
#include "host/gateway/pod_health.h"
#include "host/http/head_writer.h"

namespace pd {
namespace {

// More than any engine writes; a page that is larger is not read to its end.
constexpr std::size_t kMostPageBytes = 16 * 1024 * 1024;

// Up to a tenth of the interval, so that many pods are not asked in the same instant.
std::chrono::milliseconds jitter(std::chrono::milliseconds interval) {
  static thread_local std::minstd_rand random{std::random_device{}()};
  return std::chrono::milliseconds(static_cast<long>(random() % (interval.count() / 10 + 1)));
}

}  // namespace

ScrapeTarget::ScrapeTarget(boost::asio::io_context& io, UpstreamPool& pool, const Fleet& fleet,
                           const Pod& pod, const FleetSettings& settings,
                           const WantedSeriesTable& wanted, HostMetrics& metrics,
                           Clock::time_point first_due)
    : io_(io),
      pool_(pool),
      fleet_(fleet),
      pod_(pod),
      settings_(settings),
      wanted_(wanted),
      ok_(metrics.families().scrapes.Add({{"pod", pod.spec.name}, {"result", "ok"}})),
      bad_status_(
          metrics.families().scrapes.Add({{"pod", pod.spec.name}, {"result", "bad_status"}})),
      unreachable_(
          metrics.families().scrapes.Add({{"pod", pod.spec.name}, {"result", "unreachable"}})),
      timed_out_(metrics.families().scrapes.Add({{"pod", pod.spec.name}, {"result", "timeout"}})),
      too_large_(metrics.families().scrapes.Add({{"pod", pod.spec.name}, {"result", "too_large"}})),
      problems_(metrics.families().scrape_problems.Add({{"pod", pod.spec.name}})),
      due_(first_due) {}

ScrapeTarget::~ScrapeTarget() {
  if (leg_ != nullptr) leg_->cancel();
}

void ScrapeTarget::check(Clock::time_point now) {
  if (leg_ == nullptr) {
    if (now >= due_) begin(now);
    return;
  }
  if (now - began_ <= settings_.scrape_timeout) return;
  const bool connected = leg_->connected();
  leg_->cancel();
  if (!connected) note_scrape_unreachable(pod_);
  end(timed_out_);
}

void ScrapeTarget::begin(Clock::time_point now) {
  began_ = now;
  page_.clear();
  status_ = 0;
  LegRequest request;
  static_cast<void>(
      http::append_request_start(request.head, "GET", pod_.spec.metrics_path, pod_.address));
  http::append_field(request.head, "Accept", "text/plain;version=0.0.4");
  http::append_field(request.head, "Accept-Encoding", "identity");
  http::end_head(request.head);
  leg_ = std::make_shared<Leg>(io_, pool_, *this);
  const std::uint16_t port = pod_.spec.metrics_port.value_or(pod_.spec.port);
  leg_->start(pod_.spec.host, port, fmt::format("{}:{}", pod_.spec.host, port), std::move(request));
}

void ScrapeTarget::on_leg_head(const http::ResponseHead& head) {
  status_ = head.status;
  note_success(pod_);  // whatever it says, it is there
}

void ScrapeTarget::on_leg_payload(std::span<char> payload, bool done) {
  if (page_.size() + payload.size() > kMostPageBytes) {
    leg_->cancel();
    return end(too_large_);
  }
  page_.append(payload.data(), payload.size());
  leg_->resume();
  if (!done) return;
  if (status_ != 200) return end(bad_status_);
  take_page();
  end(ok_);
}

void ScrapeTarget::on_leg_fault(LegFault fault, const std::string&) {
  if (fault != LegFault::kNoSockets && fault != LegFault::kTruncated) note_scrape_unreachable(pod_);
  end(unreachable_);
}

void ScrapeTarget::take_page() {
  const std::uint64_t now = monotonic_now_ns();
  EngineSample sample;
  read_signals(vllm_signals(), page_, {pod_.spec.model, pod_.spec.model}, sample);
  token_rate_.add(now, sample.generated_tokens_total, sample.generated_tokens_sources);
  sample.throughput = token_rate_.per_second();
  sample.drain_rate = drain_rate_.update(now, pod_.slot->completed.load(std::memory_order_relaxed));
  // Decode engines count the wait for a hand-off as prefill time; the figure means nothing there.
  if (pod_.spec.role == Role::kDecode) sample.prefill_time_ms = EngineSample::kNotKnown;
  fleet_.columns().store(pod_.index, sample, now);
  const auto wanted = wanted_.all();
  const auto values = read_wanted_series(page_, wanted);
  for (std::uint32_t i = 0; i < values.size(); ++i) {
    fleet_.columns().store_series(i, pod_.index, values[i]);
  }
  problems_.Increment(static_cast<double>(sample.problems.count()));
}

void ScrapeTarget::end(prometheus::Counter& result) {
  result.Increment();
  leg_.reset();
  due_ = began_ + settings_.scrape + jitter(settings_.scrape);
}

}  // namespace pd
