#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace pd::sim {

// Block hash to block id, for a number of blocks that is known from the start. Open addressing
// without tombstones: a busy cache inserts and erases once per block, without allocating.
class BlockIndex {
 public:
  explicit BlockIndex(std::uint32_t block_count)
      : mask_(std::bit_ceil(std::size_t{block_count} * 2) - 1), slots_(mask_ + 1) {}

  // 0, the reserved block, when the hash is unknown.
  std::uint32_t find(std::uint64_t hash) const { return slots_[slot_of(hash)].id; }
  // False: the hash is there already.
  bool insert(std::uint64_t hash, std::uint32_t id) {
    Slot& slot = slots_[slot_of(hash)];
    if (slot.id != 0) return false;
    slot = {hash, id};
    return true;
  }
  void erase(std::uint64_t hash) {
    std::size_t hole = slot_of(hash);
    // Moves later entries of the run up, unless that would put one before its own place.
    for (std::size_t at = (hole + 1) & mask_; slots_[at].id != 0; at = (at + 1) & mask_) {
      const std::size_t home = slots_[at].hash & mask_;
      if (((at - home) & mask_) >= ((at - hole) & mask_)) {
        slots_[hole] = slots_[at];
        hole = at;
      }
    }
    slots_[hole] = {};
  }

 private:
  struct Slot {
    std::uint64_t hash = 0;
    std::uint32_t id = 0;
  };
  // Where the hash is, or the free slot where it belongs.
  std::size_t slot_of(std::uint64_t hash) const {
    std::size_t at = hash & mask_;
    while (slots_[at].id != 0 && slots_[at].hash != hash) at = (at + 1) & mask_;
    return at;
  }

  std::size_t mask_;
  std::vector<Slot> slots_;
};

}  // namespace pd::sim
