// Who holds a block, in the prefix index.
#pragma once

#include <cstdint>

namespace pd {

/// Slot of the pod in the low 16 bits, the low 16 bits of its incarnation in the high ones: a
/// restarted pod has another incarnation, so its key matches nothing that was recorded before.
using PodKey = std::uint32_t;

/// Nobody; the one key that no pod has.
inline constexpr PodKey kNoPod = 0xFFFFFFFFU;

/// The largest slot that a key can name; 65535 is kept for kNoPod.
inline constexpr std::uint32_t kMaxPodSlot = 0xFFFEU;

/// REQUIRES: slot <= kMaxPodSlot.
constexpr PodKey make_pod_key(std::uint32_t slot, std::uint64_t incarnation) {
  return slot | (static_cast<PodKey>(incarnation & 0xFFFFU) << 16U);
}

constexpr std::uint32_t slot_of(PodKey key) {
  return key & 0xFFFFU;
}

}  // namespace pd
