// The working memory of one prefix match: who has matched how far.
//
// Owned by the caller (one per worker thread) and reused, so that a match allocates nothing once
// the vectors have grown to the fleet's size. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "framework/prefix/pod_key.h"

namespace pd {

class PrefixMatchScratch {
 public:
  /// Contiguous blocks from block 0 that each candidate of the last match holds, in its order.
  std::span<const std::uint32_t> matched() const { return matched_; }

  /// The most blocks that any candidate matched.
  std::uint32_t depth() const { return depth_; }

 private:
  friend class PrefixIndex;

  void begin(std::span<const PodKey> candidates) {
    candidates_ = candidates;
    depth_ = 0;
    round_ = 0;
    staying_ = 0;
    matched_.assign(candidates.size(), 0);
    round_of_.assign(candidates.size(), 0);
    in_.clear();
    stay_.resize(candidates.size());
    for (std::uint32_t i = 0; i < candidates.size(); ++i) {
      const std::uint32_t slot = slot_of(candidates[i]);
      if (slot >= candidate_of_slot_.size()) candidate_of_slot_.resize(slot + 1);
      candidate_of_slot_[slot] = i;
    }
  }

  // `pod` holds the current block. The slot table keeps entries of earlier matches: an entry counts
  // only if the candidate that it names is this pod.
  void holder(PodKey pod) {
    const std::uint32_t slot = slot_of(pod);
    if (slot >= candidate_of_slot_.size()) return;
    const std::uint32_t candidate = candidate_of_slot_[slot];
    if (candidate >= candidates_.size() || candidates_[candidate] != pod) return;
    if (round_of_[candidate] != round_) return;
    round_of_[candidate] = round_ + 1;
    stay_[staying_++] = candidate;
  }

  // Forgets the holders of the current block: they were read while the block changed.
  void undo_block() {
    for (std::uint32_t i = 0; i < staying_; ++i) round_of_[stay_[i]] = round_;
    staying_ = 0;
  }

  // Ends the current block; false when nobody holds it who held all blocks before.
  bool end_block() {
    if (staying_ == 0) return false;
    for (const std::uint32_t candidate : in_) {
      if (round_of_[candidate] == round_) matched_[candidate] = depth_;
    }
    in_.assign(stay_.begin(), stay_.begin() + staying_);
    staying_ = 0;
    ++round_;
    ++depth_;
    return true;
  }

  // The current block has exactly the holders of the block before.
  void end_same_block() { ++depth_; }

  void finish() {
    for (const std::uint32_t candidate : in_) matched_[candidate] = depth_;
  }

  std::span<const PodKey> candidates_;
  std::vector<std::uint32_t> candidate_of_slot_;
  std::vector<std::uint32_t> matched_;
  std::vector<std::uint32_t> round_of_;  // rounds that a candidate has survived
  std::vector<std::uint32_t> in_;        // candidates that hold all blocks so far; empty at block 0
  std::vector<std::uint32_t> stay_;      // those of them that hold the current block too
  std::uint32_t staying_ = 0;            // used elements of stay_
  std::uint32_t round_ = 0;
  std::uint32_t depth_ = 0;
};

}  // namespace pd
