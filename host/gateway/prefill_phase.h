// The prefill leg: sends the prefill copy, reads the whole answer and finds the hand-off in it.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "framework/config/settings.h"
#include "host/engines/engine.h"
#include "host/gateway/leg_failure.h"
#include "host/upstream/leg.h"

namespace pd {

// Gets exactly one of these calls for each prefill that was not cancelled.
class PrefillOwner {
 public:
  virtual void on_prefill_handoff(Handoff handoff) = 0;
  // An answer of status 200 without a usable hand-off.
  virtual void on_prefill_missing(const HandoffFault& fault) = 0;
  // A 4xx: the client's to know, as it is.
  virtual void on_prefill_refused(EngineAnswer answer) = 0;
  virtual void on_prefill_failed(const LegFailure& failure) = 0;

 protected:
  ~PrefillOwner() = default;
};

class PrefillPhase final : public LegEvents {
 public:
  using Clock = std::chrono::steady_clock;

  PrefillPhase(boost::asio::io_context& io, UpstreamPool& pool, const TimeoutSettings& timeouts,
               PrefillOwner& owner, const Engine& engine, const Pod& pod)
      : owner_(owner),
        engine_(engine),
        pod_(pod),
        timeouts_(timeouts),
        leg_(std::make_shared<Leg>(io, pool, *this)) {}

  ~PrefillPhase() override { leg_->cancel(); }

  void start(LegRequest request);
  void cancel() { leg_->cancel(); }
  void check_deadlines(Clock::time_point now);

 private:
  void on_leg_head(const http::ResponseHead& head) override;
  void on_leg_payload(std::span<char> payload, bool done) override;
  void on_leg_fault(LegFault fault, const std::string& text) override;
  void fail(LegFailure failure);

  PrefillOwner& owner_;
  const Engine& engine_;
  const Pod& pod_;
  const TimeoutSettings& timeouts_;
  std::shared_ptr<Leg> leg_;
  Clock::time_point began_;
  EngineAnswer answer_;
};

}  // namespace pd
