#pragma once

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "examples/pd-sim/time_model.h"

namespace pd::sim {

enum class FaultKind : std::uint8_t {
  // the pod as a whole
  kRefuse,
  kRestart,
  // on the wire
  kReset,
  kHang,
  kStatus,
  kSlowHead,
  kHalfClose,
  kMalformedJson,
  kWrongContentLength,
  kHugeHeaders,
  kEarlyEof,
  kSplit,
  // in the engine's answer
  kNoHandoff,
  kPartialHandoff,
  kNullHost,
  kEosFirst,
  // of the metrics page
  kMetricsMissing,
  kMetricsStale,
  kMetricsMalformed,
};
std::optional<FaultKind> fault_kind(std::string_view name);
bool is_wire_fault(FaultKind kind);

enum class HangPhase : std::uint8_t { kBeforeHead, kAfterHead, kMidStream };

// One fault as POST /sim/faults describes it; README.md says which field belongs to which kind.
struct Fault {
  FaultKind kind = FaultKind::kReset;
  std::string path = "/v1/";               // applies to request paths that start with this
  std::optional<std::uint64_t> remaining;  // requests it still hits; absent: until cleared
  std::uint64_t after_bytes = 0;           // answer bytes, head included
  std::uint64_t after_events = 1;
  HangPhase phase = HangPhase::kBeforeHead;
  int status = 503;
  std::string body;
  Duration delay = std::chrono::milliseconds(100);
  Duration gap = std::chrono::microseconds(500);
  std::int64_t length_delta = 10;
  std::uint64_t header_bytes = 65536;
  std::string missing = "remote_block_ids";
  bool reset_connections = false;  // refuse: accept and reset instead of not listening
};

// The active faults of one pod. Belongs to the pod's thread.
class FaultSet {
 public:
  void add(Fault fault) { faults_.push_back(std::move(fault)); }
  void clear() { faults_.clear(); }
  bool empty() const { return faults_.empty(); }
  // The first wire fault for `path`, counted down.
  std::optional<Fault> take_wire(std::string_view path);
  // The first fault of `kind`, counted down.
  std::optional<Fault> take(FaultKind kind);
  bool has(FaultKind kind) const;

 private:
  std::optional<Fault> take_at(std::size_t index);
  std::vector<Fault> faults_;
};

// What one send has become under a fault.
struct WireStep {
  enum class Then : std::uint8_t { kGoOn, kReset, kClose, kHalfClose, kHang };
  std::string bytes;
  Duration wait_before{};
  Then then = Then::kGoOn;
};

// Turns the sends of one answer into what a faulty engine puts on the wire.
class WireScript {
 public:
  explicit WireScript(Fault fault) : fault_(std::move(fault)) {}
  const Fault& fault() const { return fault_; }

  // A whole answer, or the head of a stream.
  std::vector<WireStep> head(std::string_view head, std::string_view body);
  // One chunk of a stream, framing included; `payload` is what the frame holds.
  std::vector<WireStep> event(std::string_view framed, std::string_view payload);
  std::vector<WireStep> end(std::string_view framed);

 private:
  std::vector<WireStep> cut(std::string_view bytes, WireStep::Then then);
  Fault fault_;
  std::uint64_t bytes_ = 0;
  std::uint64_t events_ = 0;
  bool ended_ = false;
};

// Cuts `text` where readers break: inside "data:", inside every multi-byte character, before and
// between line ends.
std::vector<std::string_view> awkward_pieces(std::string_view text);

}  // namespace pd::sim
