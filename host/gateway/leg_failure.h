// How a leg ended when it did not end well, and an engine's own answer that goes to the client as
// it is.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "host/upstream/leg.h"

namespace pd {

enum class FailureKind {
  kUnreachable,  // no connection, or it broke before the answer: another pod may do better
  kEngineError,  // a 5xx, or an answer that is not one
  kDeadline,     // the pod was too slow; it may still be at work
  kTruncated,    // the answer broke off
  kNoSockets,    // this process has no descriptor left: no pod's fault
};

struct LegFailure {
  FailureKind kind = FailureKind::kUnreachable;
  std::string_view stage;  // of a deadline: "prefill", "first_byte", ...
  long limit_ms = 0;       // of a deadline
  std::string text;        // what happened, for people
};

std::string_view failure_name(FailureKind kind);

// What a fault of the transport means.
LegFailure to_failure(LegFault fault, const std::string& text);

// The failure of a leg that has had no connection for longer than timeouts.connect, or nothing.
std::optional<LegFailure> connect_overdue(const Leg& leg, std::string_view address,
                                          std::chrono::steady_clock::duration since_start,
                                          std::chrono::milliseconds limit);

struct EngineAnswer {
  int status = 0;
  std::string fields;  // header lines that may go on to the client, each with CRLF
  std::string body;
};

}  // namespace pd
