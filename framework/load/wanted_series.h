// Series of the engines' metrics pages that policies asked for by name (pd.metrics/1).
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pd {

// Room for series in every fleet's columns; a policy that asks for more is told so.
inline constexpr std::uint32_t kMaxWantedSeries = 32;

struct WantedSeries {
  std::string name;
  std::vector<std::pair<std::string, std::string>> labels;  // that a sample must carry
  std::uint32_t combine = 0;                                // PD_METRIC_*

  bool operator==(const WantedSeries&) const = default;
};

// Thread-safe; asked on the control thread, read by the scraper.
class WantedSeriesTable {
 public:
  // The column of that series; the same one for the same query. Nothing when there is no room.
  std::optional<std::uint32_t> want(const WantedSeries& series);

  // All series, in the order of their columns.
  std::vector<WantedSeries> all() const;

 private:
  mutable std::mutex mutex_;  // guards series_
  std::vector<WantedSeries> series_;
};

}  // namespace pd
