#include "host/gateway/leg_failure.h"

#include <fmt/format.h>

namespace pd {

std::string_view failure_name(FailureKind kind) {
  switch (kind) {
    case FailureKind::kUnreachable:
      return "unreachable";
    case FailureKind::kEngineError:
      return "engine_error";
    case FailureKind::kDeadline:
      return "deadline";
    case FailureKind::kTruncated:
      return "truncated";
    case FailureKind::kNoSockets:
      return "no_sockets";
  }
  return "";
}

LegFailure to_failure(LegFault fault, const std::string& text) {
  LegFailure failure;
  failure.text = text;
  switch (fault) {
    case LegFault::kResolve:
    case LegFault::kConnect:
    case LegFault::kReset:
      failure.kind = FailureKind::kUnreachable;
      break;
    case LegFault::kMalformed:
      failure.kind = FailureKind::kEngineError;
      break;
    case LegFault::kTruncated:
      failure.kind = FailureKind::kTruncated;
      break;
    case LegFault::kNoSockets:
      failure.kind = FailureKind::kNoSockets;
      break;
  }
  return failure;
}

std::optional<LegFailure> connect_overdue(const Leg& leg, std::string_view address,
                                          std::chrono::steady_clock::duration since_start,
                                          std::chrono::milliseconds limit) {
  if (leg.connected() || since_start <= limit) return std::nullopt;
  return LegFailure{FailureKind::kUnreachable,
                    {},
                    0,
                    fmt::format("{} did not accept a connection within {} ms (timeouts.connect)",
                                address, limit.count())};
}

}  // namespace pd
