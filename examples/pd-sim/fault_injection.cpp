#include "examples/pd-sim/fault_injection.h"

#include <array>
#include <utility>

#include "examples/pd-sim/sim_http.h"

namespace pd::sim {
namespace {

constexpr std::array<std::pair<std::string_view, FaultKind>, 19> kKinds = {{
    {"refuse", FaultKind::kRefuse},
    {"restart", FaultKind::kRestart},
    {"reset", FaultKind::kReset},
    {"hang", FaultKind::kHang},
    {"status", FaultKind::kStatus},
    {"slow_head", FaultKind::kSlowHead},
    {"half_close", FaultKind::kHalfClose},
    {"malformed_json", FaultKind::kMalformedJson},
    {"wrong_content_length", FaultKind::kWrongContentLength},
    {"huge_headers", FaultKind::kHugeHeaders},
    {"early_eof", FaultKind::kEarlyEof},
    {"split", FaultKind::kSplit},
    {"no_handoff", FaultKind::kNoHandoff},
    {"partial_handoff", FaultKind::kPartialHandoff},
    {"null_host", FaultKind::kNullHost},
    {"eos_first", FaultKind::kEosFirst},
    {"metrics_missing", FaultKind::kMetricsMissing},
    {"metrics_stale", FaultKind::kMetricsStale},
    {"metrics_malformed", FaultKind::kMetricsMalformed},
}};

// A reset overtakes bytes that the peer has not read: it gets this head start.
constexpr Duration kBeforeReset = std::chrono::milliseconds(5);
constexpr std::size_t kSlowHeadPieces = 8;

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

WireStep step(std::string_view bytes) {
  return {std::string(bytes), Duration::zero(), {}};
}
WireStep action(WireStep::Then then, Duration wait = {}) {
  return {{}, wait, then};
}

}  // namespace

std::optional<FaultKind> fault_kind(std::string_view name) {
  for (const auto& [known, kind] : kKinds) {
    if (known == name) return kind;
  }
  return std::nullopt;
}

bool is_wire_fault(FaultKind kind) {
  return kind >= FaultKind::kReset && kind <= FaultKind::kSplit;
}

std::optional<Fault> FaultSet::take_wire(std::string_view path) {
  for (std::size_t i = 0; i < faults_.size(); ++i) {
    if (is_wire_fault(faults_[i].kind) && path.starts_with(faults_[i].path)) return take_at(i);
  }
  return std::nullopt;
}

std::optional<Fault> FaultSet::take(FaultKind kind) {
  for (std::size_t i = 0; i < faults_.size(); ++i) {
    if (faults_[i].kind == kind) return take_at(i);
  }
  return std::nullopt;
}

bool FaultSet::has(FaultKind kind) const {
  for (const Fault& fault : faults_) {
    if (fault.kind == kind) return true;
  }
  return false;
}

std::optional<Fault> FaultSet::take_at(std::size_t index) {
  Fault fault = faults_[index];
  auto& remaining = faults_[index].remaining;
  if (remaining && --*remaining == 0) {
    faults_.erase(faults_.begin() + static_cast<std::ptrdiff_t>(index));
  }
  return fault;
}

std::vector<WireStep> WireScript::cut(std::string_view bytes, WireStep::Then then) {
  const std::uint64_t room = fault_.after_bytes > bytes_ ? fault_.after_bytes - bytes_ : 0;
  bytes_ += bytes.size();
  if (room > bytes.size()) return {step(bytes)};
  ended_ = true;
  return {step(bytes.substr(0, room)), action(then, kBeforeReset)};
}

std::vector<WireStep> WireScript::head(std::string_view head, std::string_view body) {
  const std::string all = std::string(head) + std::string(body);
  switch (fault_.kind) {
    case FaultKind::kReset:
      return cut(all, WireStep::Then::kReset);
    case FaultKind::kHalfClose:
      return cut(all, WireStep::Then::kHalfClose);
    case FaultKind::kEarlyEof:
      if (fault_.after_bytes > 0) return cut(all, WireStep::Then::kClose);
      if (body.empty()) return {step(all)};  // a stream: counted in events
      return {step(all.substr(0, head.size() + body.size() / 2)), action(WireStep::Then::kClose)};
    case FaultKind::kHang:
      if (fault_.phase == HangPhase::kBeforeHead) return {action(WireStep::Then::kHang)};
      if (fault_.phase == HangPhase::kAfterHead) {
        return {step(head), action(WireStep::Then::kHang)};
      }
      if (body.empty()) return {step(all)};
      return {step(all.substr(0, head.size() + body.size() / 2)), action(WireStep::Then::kHang)};
    case FaultKind::kSlowHead: {
      std::vector<WireStep> steps;
      const std::size_t size = head.size() / kSlowHeadPieces + 1;
      for (std::size_t at = 0; at < head.size(); at += size) {
        steps.push_back(step(head.substr(at, size)));
        steps.back().wait_before = fault_.delay / kSlowHeadPieces;
      }
      steps.push_back(step(body));
      return steps;
    }
    case FaultKind::kSplit: {
      std::vector<WireStep> steps;
      for (const auto piece : awkward_pieces(all)) {
        steps.push_back(step(piece));
        steps.back().wait_before = fault_.gap;
      }
      return steps;
    }
    default:
      return {step(all)};
  }
}

std::vector<WireStep> WireScript::event(std::string_view framed, std::string_view payload) {
  if (ended_) return {};
  ++events_;
  switch (fault_.kind) {
    case FaultKind::kReset:
      return cut(framed, WireStep::Then::kReset);
    case FaultKind::kHalfClose:
      return cut(framed, WireStep::Then::kHalfClose);
    case FaultKind::kEarlyEof:
      if (fault_.after_bytes > 0) return cut(framed, WireStep::Then::kClose);
      if (events_ < fault_.after_events) return {step(framed)};
      ended_ = true;
      return {step(framed), action(WireStep::Then::kClose)};
    case FaultKind::kHang:
      if (events_ < fault_.after_events) return {step(framed)};
      ended_ = true;
      return {step(framed), action(WireStep::Then::kHang)};
    case FaultKind::kMalformedJson:
      return {step(chunk_frame(payload.substr(0, payload.size() / 2)) + chunk_frame("\n\n"))};
    case FaultKind::kSplit: {
      std::vector<WireStep> steps;
      for (const auto piece : awkward_pieces(payload)) {
        steps.push_back(step(chunk_frame(piece)));
        steps.back().wait_before = fault_.gap;
      }
      return steps;
    }
    default:
      return {step(framed)};
  }
}

std::vector<WireStep> WireScript::end(std::string_view framed) {
  if (ended_) return {};
  switch (fault_.kind) {
    case FaultKind::kReset:
      return cut(framed, WireStep::Then::kReset);
    case FaultKind::kHalfClose:
      return cut(framed, WireStep::Then::kHalfClose);
    default:
      return {step(framed)};
  }
}

std::vector<std::string_view> awkward_pieces(std::string_view text) {
  std::vector<std::string_view> pieces;
  std::size_t start = 0;
  const auto cut_at = [&](std::size_t at) {
    if (at > start && at < text.size()) {
      pieces.push_back(text.substr(start, at - start));
      start = at;
    }
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_continuation(text[i])) cut_at(i);
    if (text[i] == '\n' || text[i] == '\r') cut_at(i);
    if (text.substr(i).starts_with("data:")) cut_at(i + 2);
  }
  pieces.push_back(text.substr(start));
  return pieces;
}

}  // namespace pd::sim
