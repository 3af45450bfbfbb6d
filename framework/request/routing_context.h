// Everything that one choice of pods may depend on, besides the fleet: the request, the time,
// chance and what earlier attempts learned. Policies see it as a pd_request; host services look
// here.
#pragma once

#include <array>
#include <cstdint>
#include <memory_resource>
#include <string>
#include <string_view>
#include <vector>

#include "framework/request/request_view.h"
#include "framework/select/decision_random.h"
#include "pd/abi.h"

namespace pd {

// Looks up request headers. Implemented by whoever holds them.
class HeaderSource {
 public:
  virtual ~HeaderSource() = default;
  // Value of the header with this lower-case name; data() is nullptr when there is none.
  virtual std::string_view header(std::string_view lower_case_name) const = 0;
};

class Fleet;
struct Pod;
struct PrefixLookup;

// Which instance draws from which sequence of the request, so that exchanging one policy does not
// change what another one draws.
enum class RandomStream : std::uint8_t {
  kRouter,
  kPrefill,
  kPrefillFallback,
  kDecode,
  kDecodeFallback
};
inline constexpr std::size_t kRandomStreams = 5;

// What policies may take from pd.scratch/1 for one choice.
inline constexpr std::uint64_t kScratchBytes = 4U << 20U;

// One per request; used by one thread at a time.
struct RoutingContext {
  std::string request_id;
  std::string_view path;     // without the query
  std::string_view session;  // session key of the client, or empty
  const RequestView* body = nullptr;
  const HeaderSource* headers = nullptr;
  std::uint64_t arrival_ns = 0;                         // monotonic
  std::uint64_t now_ns = 0;                             // time of this decision
  std::array<DecisionRandom, kRandomStreams> random{};  // see seed_random()
  bool dry_run = false;                                 // a probe, replay or explanation
  bool shuffle = true;  // false: ties go to the first candidate in the fleet's order
  std::uint32_t attempt = 1;
  std::vector<std::uint64_t> tried_pods;  // incarnations of pods that failed this request
  std::uint32_t worker = 0;
  const Pod* handed_off_by = nullptr;  // a prefill that is done already: choose a decode pod for it

  // Computed by the router when a policy asks for them.
  std::string_view prompt;                  // valid during Router::select
  std::vector<std::uint64_t> block_hashes;  // kept for recording after the choice
  std::uint64_t prompt_bytes = PD_UNKNOWN_COUNT;

  // Set by the router for the time of one choice.
  const Fleet* fleet = nullptr;
  const PrefixLookup* prefix = nullptr;
  std::pmr::memory_resource* scratch = nullptr;  // pd.scratch/1
  std::uint64_t scratch_left = 0;                // bytes that policies may still take from it

  // Makes every sequence of this request from one seed.
  void seed_random(std::uint64_t seed) {
    for (std::size_t i = 0; i < kRandomStreams; ++i) random[i] = DecisionRandom(seed + (i << 56U));
  }
  DecisionRandom& stream(RandomStream which) { return random[static_cast<std::size_t>(which)]; }
};

}  // namespace pd
