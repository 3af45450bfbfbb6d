// The decode leg: sends the decode body and relays the answer as it comes. Small answers are read
// whole first, so that a broken one is never sent as if it were complete.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "framework/config/settings.h"
#include "host/gateway/client_connection.h"
#include "host/gateway/leg_failure.h"
#include "host/gateway/sse_watcher.h"
#include "host/upstream/leg.h"

namespace pd {

// Calls come in this order: first_byte, then either whole_answer, or answer and pieces; a failure
// or a truncation ends it at any point.
class DecodeOwner {
 public:
  virtual void on_decode_first_byte() = 0;
  virtual void on_decode_whole_answer(EngineAnswer answer) = 0;
  virtual void on_decode_answer(AnswerHead head) = 0;
  // Bytes to relay; the owner calls DecodePhase::resume() when it is done with them.
  virtual void on_decode_piece(std::string_view payload, bool last) = 0;
  // Nothing of the answer has been handed out.
  virtual void on_decode_failed(const LegFailure& failure) = 0;
  // Some of it has; `rest` is what came last and has not been.
  virtual void on_decode_truncated(const LegFailure& failure, std::string_view rest) = 0;

 protected:
  ~DecodeOwner() = default;
};

class DecodePhase final : public LegEvents {
 public:
  using Clock = std::chrono::steady_clock;

  DecodePhase(boost::asio::io_context& io, UpstreamPool& pool, const TimeoutSettings& timeouts,
              DecodeOwner& owner, const Pod& pod)
      : owner_(owner),
        pod_(pod),
        timeouts_(timeouts),
        leg_(std::make_shared<Leg>(io, pool, *this)) {}

  ~DecodePhase() override { leg_->cancel(); }

  void start(LegRequest request);
  void resume();
  void cancel() { leg_->cancel(); }
  void check_deadlines(Clock::time_point now);

  std::uint64_t events() const { return watcher_.events(); }
  bool engine_error_seen() const { return watcher_.error(); }

 private:
  enum class Mode { kHead, kWhole, kRelay };

  void on_leg_head(const http::ResponseHead& head) override;
  void on_leg_payload(std::span<char> payload, bool done) override;
  void on_leg_fault(LegFault fault, const std::string& text) override;
  void collect(std::span<char> payload, bool done);
  void relay(std::string_view payload, bool done);
  void begin_relay();
  void fail(LegFailure failure);

  DecodeOwner& owner_;
  const Pod& pod_;
  const TimeoutSettings& timeouts_;
  std::shared_ptr<Leg> leg_;
  Mode mode_ = Mode::kHead;
  bool is_event_stream_ = false;
  bool handed_out_ = false;
  bool waiting_for_owner_ = false;
  Clock::time_point began_;
  Clock::time_point last_bytes_;
  Clock::time_point done_seen_;
  EngineAnswer answer_;
  std::string held_;  // of a stream, until its first line is whole
  std::optional<std::uint64_t> content_length_;
  SseWatcher watcher_;
};

}  // namespace pd
