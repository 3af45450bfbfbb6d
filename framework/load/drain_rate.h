// Finished requests per second over the last minute, from our own count of completions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace pd {

// Keeps a snapshot of the count at most every 5 s, for 3 min. The rate compares the present count
// with the snapshot taken nearest to a minute ago. Pure: reads no clock. Threads: one owner.
class DrainRate {
 public:
  static constexpr double kWindowSeconds = 60;
  static constexpr double kLeastSeconds = 10;
  static constexpr double kSnapshotEverySeconds = 5;
  static constexpr double kKeepSeconds = 180;
  static constexpr std::size_t kMaxSnapshots = 36;

  // Takes the count of requests that ended on the pod, failed ones included, and answers the rate;
  // NaN while no snapshot is at least kLeastSeconds old. `now_ns` is monotonic; a call from the
  // past answers NaN and changes nothing. A smaller count than before is a restarted one: all of it
  // counts as finished within the window. Call at least every few seconds.
  double update(std::uint64_t now_ns, std::uint64_t completed);

 private:
  struct Snapshot {
    std::uint64_t at_ns = 0;
    std::uint64_t completed = 0;
  };

  void forget_before(std::uint64_t now_ns);
  std::optional<Snapshot> base_for(std::uint64_t now_ns) const;
  void remember(std::uint64_t now_ns, std::uint64_t completed);
  Snapshot& at(std::size_t age_rank) { return ring_[(first_ + age_rank) % kMaxSnapshots]; }
  const Snapshot& at(std::size_t age_rank) const {
    return ring_[(first_ + age_rank) % kMaxSnapshots];
  }

  std::array<Snapshot, kMaxSnapshots> ring_;
  std::size_t first_ = 0;  // the oldest
  std::size_t size_ = 0;
  Snapshot last_;  // of the call before, whether kept or not
};

}  // namespace pd
