#include "framework/load/drain_rate.h"

#include <cmath>
#include <limits>

namespace pd {
namespace {

double seconds_between(std::uint64_t from_ns, std::uint64_t to_ns) {
  return static_cast<double>(to_ns - from_ns) * 1e-9;
}

}  // namespace

double DrainRate::update(std::uint64_t now_ns, std::uint64_t completed) {
  if (now_ns < last_.at_ns) return std::numeric_limits<double>::quiet_NaN();
  if (completed < last_.completed) {
    for (std::size_t i = 0; i < size_; ++i) at(i).completed = 0;
  }
  last_ = {now_ns, completed};

  forget_before(now_ns);
  const std::optional<Snapshot> base = base_for(now_ns);
  remember(now_ns, completed);
  if (!base) return std::numeric_limits<double>::quiet_NaN();
  const double seconds = seconds_between(base->at_ns, now_ns);
  if (seconds < kLeastSeconds) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(completed - base->completed) / seconds;
}

void DrainRate::forget_before(std::uint64_t now_ns) {
  while (size_ > 0 && seconds_between(at(0).at_ns, now_ns) > kKeepSeconds) {
    first_ = (first_ + 1) % kMaxSnapshots;
    --size_;
  }
}

std::optional<DrainRate::Snapshot> DrainRate::base_for(std::uint64_t now_ns) const {
  std::optional<Snapshot> nearest;
  double nearest_distance = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < size_; ++i) {
    const double distance = std::abs(seconds_between(at(i).at_ns, now_ns) - kWindowSeconds);
    if (distance >= nearest_distance) continue;
    nearest = at(i);
    nearest_distance = distance;
  }
  return nearest;
}

void DrainRate::remember(std::uint64_t now_ns, std::uint64_t completed) {
  if (size_ > 0 && seconds_between(at(size_ - 1).at_ns, now_ns) < kSnapshotEverySeconds) return;
  if (size_ == kMaxSnapshots) {
    first_ = (first_ + 1) % kMaxSnapshots;
    --size_;
  }
  at(size_) = {now_ns, completed};
  ++size_;
}

}  // namespace pd
