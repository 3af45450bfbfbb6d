#include "host/gateway/prefill_phase.h"

#include <fmt/format.h>

#include "host/http/header_rules.h"

namespace pd {
namespace {

// A prefill's answer is small; one that is not is not read to its end.
constexpr std::size_t kMostAnswerBytes = 16 * 1024 * 1024;

bool is_compressed(const http::ResponseHead& head) {
  const auto encoding = head.find("content-encoding");
  return encoding && !encoding->empty() && !http::equals_ignoring_case(*encoding, "identity");
}

}  // namespace

void PrefillPhase::start(LegRequest request) {
  began_ = Clock::now();
  leg_->start(pod_.spec.host, pod_.spec.port, pod_.address, std::move(request));
}

void PrefillPhase::on_leg_head(const http::ResponseHead& head) {
  answer_.status = head.status;
  http::append_forwarded(answer_.fields, head);
  if (head.framing == http::Framing::kLength && head.content_length < kMostAnswerBytes) {
    answer_.body.reserve(static_cast<std::size_t>(head.content_length) + kBodyPadding);
  }
  if (head.status == 200 && is_compressed(head)) {
    fail({FailureKind::kEngineError,
          {},
          0,
          fmt::format("pod {} answered the prefill with content-encoding {} although identity was "
                      "asked for",
                      pod_.spec.name, *head.find("content-encoding"))});
  }
}

void PrefillPhase::on_leg_payload(std::span<char> payload, bool done) {
  if (answer_.body.size() + payload.size() > kMostAnswerBytes) {
    return fail({FailureKind::kEngineError,
                 {},
                 0,
                 fmt::format("the answer is larger than {} bytes", kMostAnswerBytes)});
  }
  answer_.body.append(payload.data(), payload.size());
  leg_->resume();
  if (!done) return;
  if (answer_.status >= 400 && answer_.status < 500) {
    return owner_.on_prefill_refused(std::move(answer_));
  }
  if (answer_.status != 200) {
    return owner_.on_prefill_failed(
        {FailureKind::kEngineError,
         {},
         0,
         fmt::format("status {}: {}", answer_.status, answer_.body.substr(0, 300))});
  }
  const std::size_t size = answer_.body.size();
  answer_.body.append(kBodyPadding, '\0');
  auto handoff = engine_.read_prefill_answer({answer_.body.data(), size}, pod_);
  if (handoff) {
    owner_.on_prefill_handoff(std::move(*handoff));
  } else {
    owner_.on_prefill_missing(handoff.error());
  }
}

void PrefillPhase::on_leg_fault(LegFault fault, const std::string& text) {
  LegFailure failure = to_failure(fault, text);
  // Half a prefill answer is no answer: the pod did its work, but another may answer whole.
  if (failure.kind == FailureKind::kTruncated) failure.kind = FailureKind::kEngineError;
  owner_.on_prefill_failed(failure);
}

void PrefillPhase::check_deadlines(Clock::time_point now) {
  if (leg_->ended()) return;
  if (auto overdue = connect_overdue(*leg_, pod_.address, now - began_, timeouts_.connect)) {
    return fail(std::move(*overdue));
  }
  if (now - began_ > timeouts_.prefill) {
    fail({FailureKind::kDeadline, "prefill", static_cast<long>(timeouts_.prefill.count()),
          "the prefill did not end in time"});
  }
}

void PrefillPhase::fail(LegFailure failure) {
  leg_->cancel();
  owner_.on_prefill_failed(failure);
}

}  // namespace pd
