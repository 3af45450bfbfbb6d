#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "examples/pd-sim/kv_cache.h"
#include "examples/pd-sim/time_model.h"

namespace pd::sim {

// One hand-off as prefill promised it, or as a decode request names it.
struct Handoff {
  std::string engine_id;
  std::string request_id;         // remote_request_id
  std::string client_request_id;  // X-Request-Id of the leg; empty when there was none
  std::uint64_t prompt_hash = 0;
  std::uint32_t tokens = 0;
  std::vector<std::uint32_t> blocks;
};

// Why a decode request did not get the blocks it named.
enum class Refusal : std::uint8_t {
  kNone,
  kUnknownPod,        // no pod owns that host and side-channel port
  kWrongEngine,       // engine id of nobody, or of an engine that has restarted
  kUnknownRequest,    // never issued here
  kReadTwice,         // another decode request has it already
  kExpired,           // the lease ended first
  kWrongBlocks,       // block ids or token count differ from what was issued
  kWrongPrompt,       // other prompt than at prefill
  kRequestIdDiffers,  // X-Request-Id of the two legs differ
  kIncomplete,        // a field of the hand-off is missing or null
  kSeveralReaders,    // n > 1 or several prompts: a hand-off can be read once
};
inline constexpr std::size_t kRefusalCount = 11;
std::string_view to_string(Refusal refusal);

// All hand-offs of one prefill pod: issued, being read, and the recent past (to tell "read twice"
// and "expired" from "never heard of"). Thread-safe; the block tables it keeps are only handed
// back to the prefill pod's own thread.
class HandoffLedger {
 public:
  // The identity that claims must name; forgets everything issued before (an engine restart).
  void restart(std::string engine_id);
  void issue(Handoff handoff, BlockTable table, Clock::time_point expiry);

  // A decode pod wants the blocks: they can no longer expire when this answers kNone.
  Refusal claim(const Handoff& wanted, Clock::time_point now);
  // The claimed blocks have been read; nothing when the engine has restarted meanwhile.
  std::optional<BlockTable> finish_read(const std::string& request_id);
  // Takes out what nobody claimed in time.
  std::vector<BlockTable> expire(Clock::time_point now);
  std::optional<Clock::time_point> next_expiry() const;

  // The blocks of every hand-off not yet read, those being read included.
  std::vector<std::uint32_t> pinned_blocks() const;

 private:
  struct Entry {
    Handoff handoff;
    BlockTable table;
    std::multimap<Clock::time_point, std::string>::iterator expiry;
    bool claimed = false;
  };
  enum class Past : std::uint8_t { kRead, kExpired };

  void remember(const std::string& request_id, Past past);

  mutable std::mutex mutex_;
  std::string engine_id_;
  std::unordered_map<std::string, Entry> open_;
  std::multimap<Clock::time_point, std::string> expiries_;  // of entries nobody claimed
  std::unordered_map<std::string, Past> past_;
  std::deque<std::string> past_order_;
};

}  // namespace pd::sim
