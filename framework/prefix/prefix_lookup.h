// The prefix index as one choice of pods sees it: for one model, with the thread's own scratch.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "framework/prefix/prefix_index.h"
#include "pd/abi.h"

namespace pd {

// Buffers of one worker thread, reused.
struct PrefixLookupScratch {
  PrefixMatchScratch match;
  std::vector<PodKey> keys;
};

// Refers to an index and a scratch; one thread.
struct PrefixLookup {
  const PrefixIndex& index;
  std::uint64_t model_salt;
  PrefixLookupScratch& scratch;

  // Writes, for each pod, how many of `hashes` it holds without a gap from the first on.
  void match(std::span<const std::uint64_t> hashes, std::span<const pd_pod* const> pods,
             std::uint64_t* matched_blocks) const;
};

// What stands for the model in the index. `cache_salt` is the client's, which makes engines keep
// equal prompts apart; empty for none.
std::uint64_t prefix_salt(std::string_view model, std::string_view cache_salt);

}  // namespace pd
