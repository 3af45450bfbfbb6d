#include "framework/load/token_rate.h"

#include <cmath>

namespace pd {

void TokenRate::add(std::uint64_t now_ns, double total, std::uint64_t sources) {
  if (!std::isfinite(total) || total < 0) return;
  const bool comparable = last_ns_ != kNever && sources == last_sources_;
  if (last_ns_ != kNever && now_ns <= last_ns_) return;
  if (comparable) {
    const double seconds = static_cast<double>(now_ns - last_ns_) * 1e-9;
    const double generated = total < last_total_ ? total : total - last_total_;
    const double kept = std::exp(-seconds / kTimeConstantSeconds);
    weighted_rate_ = weighted_rate_ * kept + generated / seconds * (1 - kept);
    weight_ = weight_ * kept + (1 - kept);
  }
  last_ns_ = now_ns;
  last_total_ = total;
  last_sources_ = sources;
}

double TokenRate::per_second() const {
  if (weight_ == 0) return std::numeric_limits<double>::quiet_NaN();
  return weighted_rate_ / weight_;
}

}  // namespace pd
