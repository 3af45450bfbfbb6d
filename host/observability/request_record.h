// What is kept of one request when it has ended: for the log line, and for who asks later why it
// went where it went. Never a prompt.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/fleet/fleet.h"
#include "framework/policy/policy_set.h"
#include "framework/select/decision.h"
#include "framework/select/select_scratch.h"

namespace pd {

// What is kept of each candidate; the first two for both stages, the next for prefill, the rest for
// decode. NaN: not known, or no score.
enum class RecordedColumn : std::uint8_t {
  kScore,
  kRequests,
  kMatchPercent,
  kRunning,
  kPending,
  kThroughput,
  kFreeGpuPercent,
  kDrainRate,
};

// A candidate that got no score, or none of its own.
struct RecordedPod {
  std::uint32_t index;  // in the fleet
  Drop drop;
};

// The candidates of one stage as they were when the choice was made.
struct StageRecord {
  std::vector<RecordedPod> pods;
  std::vector<double> columns;  // one behind the other, each as long as `pods`
  std::vector<std::pair<std::uint32_t, std::string>> exclusions;  // row, the policy's reason
  double max_score = 0;
  bool decode = false;
  bool has_match_percent = false;

  double value(RecordedColumn column, std::size_t row) const {
    return columns[position(column) * pods.size() + row];
  }

 private:
  std::size_t position(RecordedColumn column) const {
    const auto number = static_cast<std::size_t>(column);
    return decode && number > 1 ? number - 1 : number;
  }
};

struct DecisionRecord {
  std::shared_ptr<const Fleet> fleet;
  std::string model;
  std::string policies;  // "prefix_cache/load_balancing@1"
  std::uint32_t attempt = 1;
  Decision decision;
  std::string error_kind;  // with no pair: "no_prefill"
  std::string error;
  StageRecord prefill;
  StageRecord decode;
  std::vector<std::pair<std::uint32_t, Drop>> not_candidates;
  std::vector<double> finals;  // by roleset of the model

  // Bytes that this record keeps, roughly.
  std::size_t memory() const;
};

struct RequestRecord {
  static constexpr double kNotReached = std::numeric_limits<double>::quiet_NaN();

  std::chrono::system_clock::time_point time;
  std::string request_id;
  std::string model;
  std::string path;
  std::string prefill_pod;  // of the last attempt; empty: no prefill leg
  std::string decode_pod;
  std::string handoff;     // "nixl", "shfs", "none", "recomputed"
  std::string error_code;  // of our own error, or empty
  int status = 0;          // that the client got; 0: it left before
  bool stream = false;
  bool client_left = false;
  bool truncated = false;  // the answer broke off after it had begun
  std::uint32_t attempts = 0;
  std::uint64_t request_bytes = 0;
  std::uint64_t answer_bytes = 0;
  std::uint64_t events = 0;  // SSE events relayed
  double selection_ms = kNotReached;
  double prefill_ms = kNotReached;
  double first_byte_ms = kNotReached;   // since arrival
  double inter_event_ms = kNotReached;  // mean between the events of a stream
  double total_ms = kNotReached;
  std::vector<DecisionRecord> decisions;  // one an attempt
};

// Copies what a choice left in `scratch`. `decision` is nullptr when there was no pair.
DecisionRecord record_decision(std::shared_ptr<const Fleet> fleet, const std::string& model,
                               const PolicySet& policies, const RoutingContext& context,
                               const SelectScratch& scratch, const Decision* decision,
                               const SelectError* error);

}  // namespace pd
