#include "framework/load/wanted_series.h"

#include <algorithm>

namespace pd {

std::optional<std::uint32_t> WantedSeriesTable::want(const WantedSeries& series) {
  const std::lock_guard lock(mutex_);
  const auto it = std::find(series_.begin(), series_.end(), series);
  if (it != series_.end()) return static_cast<std::uint32_t>(it - series_.begin());
  if (series_.size() == kMaxWantedSeries) return std::nullopt;
  series_.push_back(series);
  return static_cast<std::uint32_t>(series_.size() - 1);
}

std::vector<WantedSeries> WantedSeriesTable::all() const {
  const std::lock_guard lock(mutex_);
  return series_;
}

}  // namespace pd
