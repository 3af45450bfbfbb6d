// Generated tokens per second, from a counter that is scraped at irregular times.
#pragma once

#include <cstdint>
#include <limits>

namespace pd {

// A mean over the past with exponentially falling weight, time constant kTimeConstantSeconds: a
// change shows to 63 % after that long. The first intervals are weighted by how much time they
// cover, so that the mean does not climb from zero. Pure: reads no clock. Threads: one owner.
class TokenRate {
 public:
  static constexpr double kTimeConstantSeconds = 5.0;

  // Takes a scraped counter. `now_ns` is monotonic; a scrape that is not later than the one before
  // is ignored, and so is a total that is NaN, infinite or negative: the next good one covers the
  // gap. A smaller total than before is a restarted counter: all of it is new. `sources` names the
  // series that were summed; when it changes, totals cannot be compared, and this one only begins
  // anew.
  void add(std::uint64_t now_ns, double total, std::uint64_t sources);

  // Tokens per second; NaN until two scrapes could be compared. Stays as it is while no scrape
  // comes: its age is the caller's to watch.
  double per_second() const;

 private:
  static constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

  std::uint64_t last_ns_ = kNever;
  double last_total_ = 0;
  std::uint64_t last_sources_ = 0;
  double weighted_rate_ = 0;
  double weight_ = 0;  // 0: no interval yet; towards 1
};

}  // namespace pd
