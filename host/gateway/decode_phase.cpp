#include "host/gateway/decode_phase.h"

#include <fmt/format.h>

#include "host/http/header_rules.h"

namespace pd {
namespace {

// Answers up to this size are read whole before the client sees any of them.
constexpr std::size_t kMostHeldBytes = 256 * 1024;

// The most of a stream's first line that is waited for.
constexpr std::size_t kMostHeldLine = 4096;

// How long an engine may keep a stream open behind its [DONE].
constexpr std::chrono::milliseconds kAfterDone(500);

bool is_event_stream(const http::ResponseHead& head) {
  const auto type = head.find("content-type");
  return type && http::starts_with_ignoring_case(*type, "text/event-stream");
}

}  // namespace

void DecodePhase::start(LegRequest request) {
  began_ = last_bytes_ = Clock::now();
  leg_->start(pod_.spec.host, pod_.spec.port, pod_.address, std::move(request));
}

void DecodePhase::on_leg_head(const http::ResponseHead& head) {
  answer_.status = head.status;
  http::append_forwarded(answer_.fields, head);
  is_event_stream_ = is_event_stream(head);
  if (head.framing == http::Framing::kLength) content_length_ = head.content_length;
  mode_ = is_event_stream_ && head.status == 200 ? Mode::kRelay : Mode::kWhole;
}

void DecodePhase::on_leg_payload(std::span<char> payload, bool done) {
  const bool first = last_bytes_ == began_;
  last_bytes_ = Clock::now();
  if (first && mode_ == Mode::kRelay) owner_.on_decode_first_byte();
  if (leg_->ended()) return;
  if (mode_ == Mode::kWhole) return collect(payload, done);
  relay({payload.data(), payload.size()}, done);
}

void DecodePhase::collect(std::span<char> payload, bool done) {
  answer_.body.append(payload.data(), payload.size());
  if (done) {
    leg_->resume();
    owner_.on_decode_first_byte();
    if (answer_.status >= 500) {
      return owner_.on_decode_failed(
          {FailureKind::kEngineError,
           {},
           0,
           fmt::format("status {}: {}", answer_.status, answer_.body.substr(0, 300))});
    }
    return owner_.on_decode_whole_answer(std::move(answer_));
  }
  if (answer_.body.size() < kMostHeldBytes || answer_.status >= 500) return leg_->resume();
  // Too large to hold: hand out what there is and relay the rest.
  mode_ = Mode::kRelay;
  owner_.on_decode_first_byte();
  if (leg_->ended()) return;
  relay(answer_.body, false);
}

void DecodePhase::relay(std::string_view payload, bool done) {
  if (is_event_stream_) {
    watcher_.feed(payload);
    if (!handed_out_) {
      // Nothing is handed out before the first line is whole: an engine may begin a stream of
      // status 200 with an error, and then another pod can still take over.
      held_.append(payload);
      if (!watcher_.line_seen() && !done && held_.size() < kMostHeldLine) return leg_->resume();
      if (watcher_.error()) {
        return fail({FailureKind::kEngineError,
                     {},
                     0,
                     fmt::format("the stream began with an error: {}", held_.substr(0, 300))});
      }
      payload = held_;
    }
  }
  if (!handed_out_) begin_relay();
  waiting_for_owner_ = true;
  const bool cut_short =
      done && is_event_stream_ && !watcher_.done() && !watcher_.finished() && !watcher_.error();
  if (cut_short) {
    // The framing ended as if all were well, but the model had not.
    return owner_.on_decode_truncated({FailureKind::kTruncated,
                                       {},
                                       0,
                                       fmt::format("the stream ended after {} events without a "
                                                   "finish_reason",
                                                   watcher_.events())},
                                      payload);
  }
  owner_.on_decode_piece(payload, done);
}

void DecodePhase::begin_relay() {
  handed_out_ = true;
  owner_.on_decode_answer({answer_.status, answer_.fields, content_length_});
}

void DecodePhase::resume() {
  waiting_for_owner_ = false;
  last_bytes_ = Clock::now();
  if (watcher_.done() && done_seen_ == Clock::time_point()) done_seen_ = last_bytes_;
  leg_->resume();
}

void DecodePhase::on_leg_fault(LegFault fault, const std::string& text) {
  fail(to_failure(fault, text));
}

void DecodePhase::check_deadlines(Clock::time_point now) {
  if (leg_->ended() || waiting_for_owner_) return;
  if (auto overdue = connect_overdue(*leg_, pod_.address, now - began_, timeouts_.connect)) {
    return fail(std::move(*overdue));
  }
  if (done_seen_ != Clock::time_point() && now - done_seen_ > kAfterDone) {
    leg_->cancel();
    return owner_.on_decode_piece({}, true);
  }
  const bool begun = last_bytes_ != began_;
  const auto limit = begun ? timeouts_.between_bytes : timeouts_.first_byte;
  if (now - last_bytes_ <= limit) return;
  fail({FailureKind::kDeadline, begun ? "between_bytes" : "first_byte",
        static_cast<long>(limit.count()), "no bytes came in time"});
}

void DecodePhase::fail(LegFailure failure) {
  leg_->cancel();
  if (handed_out_) {
    owner_.on_decode_truncated(failure, {});
  } else {
    if (failure.kind == FailureKind::kTruncated) failure.kind = FailureKind::kEngineError;
    owner_.on_decode_failed(failure);
  }
}

}  // namespace pd
