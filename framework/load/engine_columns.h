// Last samples of every pod's engine metrics, column by column, with the time of each sample.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>

#include "framework/load/engine_sample.h"
#include "framework/load/wanted_series.h"

namespace pd {

enum class EngineColumn : std::uint8_t {
  kRunning,
  kWaiting,
  kThroughput,
  kKvUsage,
  kKvBlocks,
  kKvBlockTokens,
  kPrefillTimeMs,
  kDrainRate,
  kPrefillPrealloc,
  kDecodePrealloc,
};
inline constexpr std::size_t kEngineColumnCount = 10;

// One writer (the scraper) and any number of readers. A reader may see a sample whose columns come
// from two neighbouring scrapes.
class EngineColumns {
 public:
  explicit EngineColumns(std::size_t pods);

  // Stores a sample taken at `now_ns` (monotonic) as the last one of row `pod`.
  void store(std::size_t pod, const EngineSample& sample, std::uint64_t now_ns);

  // Takes over a row of an older table.
  void copy_row(std::size_t pod, const EngineColumns& from, std::size_t from_pod);

  // Value of a column; NaN when not known. Whether it is too old is the reader's to say.
  double value(EngineColumn column, std::size_t pod) const {
    return columns_[static_cast<std::size_t>(column)][pod].load(std::memory_order_relaxed);
  }

  // Value of a series that some policy wants, by its column in WantedSeriesTable.
  void store_series(std::uint32_t series, std::size_t pod, double value) {
    series_[pod * kMaxWantedSeries + series].store(value, std::memory_order_relaxed);
  }
  double series(std::uint32_t series, std::size_t pod) const {
    return series_[pod * kMaxWantedSeries + series].load(std::memory_order_relaxed);
  }

  // Time of the last good sample, 0 when there was none.
  std::uint64_t sampled_at(std::size_t pod) const {
    return sampled_at_[pod].load(std::memory_order_relaxed);
  }

 private:
  using Column = std::unique_ptr<std::atomic<double>[]>;
  std::array<Column, kEngineColumnCount> columns_;
  Column series_;  // kMaxWantedSeries for each pod
  std::unique_ptr<std::atomic<std::uint64_t>[]> sampled_at_;
};

}  // namespace pd
