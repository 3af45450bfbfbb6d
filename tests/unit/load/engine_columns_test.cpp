#include "framework/load/engine_columns.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

namespace pd {
namespace {

EngineSample full_sample() {
  EngineSample sample;
  sample.running = 1;
  sample.waiting = 2;
  sample.throughput = 3;
  sample.kv_usage = 0.4;
  sample.kv_blocks = 5;
  sample.kv_block_tokens = 6;
  sample.prefill_time_ms = 7;
  sample.drain_rate = 8;
  sample.prefill_prealloc = 9;
  sample.decode_prealloc = 10;
  return sample;
}

TEST(EngineColumnsTest, NothingIsKnownAtFirst) {
  const EngineColumns columns(2);
  for (std::size_t pod = 0; pod < 2; ++pod) {
    EXPECT_EQ(columns.sampled_at(pod), 0u);
    for (std::size_t c = 0; c < kEngineColumnCount; ++c) {
      EXPECT_TRUE(std::isnan(columns.value(static_cast<EngineColumn>(c), pod))) << c;
    }
    for (std::uint32_t s = 0; s < kMaxWantedSeries; ++s) {
      EXPECT_TRUE(std::isnan(columns.series(s, pod))) << s;
    }
  }
}

TEST(EngineColumnsTest, EachColumnHoldsItsOwnValue) {
  EngineColumns columns(3);
  columns.store(1, full_sample(), 77);
  EXPECT_EQ(columns.sampled_at(1), 77u);
  EXPECT_EQ(columns.value(EngineColumn::kRunning, 1), 1);
  EXPECT_EQ(columns.value(EngineColumn::kWaiting, 1), 2);
  EXPECT_EQ(columns.value(EngineColumn::kThroughput, 1), 3);
  EXPECT_EQ(columns.value(EngineColumn::kKvUsage, 1), 0.4);
  EXPECT_EQ(columns.value(EngineColumn::kKvBlocks, 1), 5);
  EXPECT_EQ(columns.value(EngineColumn::kKvBlockTokens, 1), 6);
  EXPECT_EQ(columns.value(EngineColumn::kPrefillTimeMs, 1), 7);
  EXPECT_EQ(columns.value(EngineColumn::kDrainRate, 1), 8);
  EXPECT_EQ(columns.value(EngineColumn::kPrefillPrealloc, 1), 9);
  EXPECT_EQ(columns.value(EngineColumn::kDecodePrealloc, 1), 10);
  EXPECT_TRUE(std::isnan(columns.value(EngineColumn::kRunning, 0)));
  EXPECT_TRUE(std::isnan(columns.value(EngineColumn::kRunning, 2)));
}

TEST(EngineColumnsTest, ALaterSampleForgetsWhatItDoesNotTell) {
  EngineColumns columns(1);
  columns.store(0, full_sample(), 1);
  columns.store(0, EngineSample{}, 2);
  EXPECT_TRUE(std::isnan(columns.value(EngineColumn::kRunning, 0)));
  EXPECT_EQ(columns.sampled_at(0), 2u);
}

TEST(EngineColumnsTest, CopiesRowsOfAnOlderTable) {
  EngineColumns old_columns(2);
  old_columns.store(1, full_sample(), 5);
  old_columns.store_series(31, 1, 3.5);
  EngineColumns columns(1);
  columns.copy_row(0, old_columns, 1);
  EXPECT_EQ(columns.value(EngineColumn::kDecodePrealloc, 0), 10);
  EXPECT_EQ(columns.series(31, 0), 3.5);
  EXPECT_EQ(columns.sampled_at(0), 5u);
}

TEST(EngineColumnsTest, SeriesOfNeighbouringPodsStayApart) {
  EngineColumns columns(2);
  columns.store_series(kMaxWantedSeries - 1, 0, 1);
  columns.store_series(0, 1, 2);
  EXPECT_EQ(columns.series(kMaxWantedSeries - 1, 0), 1);
  EXPECT_EQ(columns.series(0, 1), 2);
  EXPECT_TRUE(std::isnan(columns.series(0, 0)));
}

TEST(EngineColumnsTest, ReadersSeeOneSampleOrTheOther) {
  EngineColumns columns(1);
  std::thread writer([&] {
    for (int i = 0; i < 20'000; ++i) {
      EngineSample sample;
      sample.running = i % 2 == 0 ? 1 : 2;
      columns.store(0, sample, static_cast<std::uint64_t>(i) + 1);
    }
  });
  for (int i = 0; i < 20'000; ++i) {
    const double value = columns.value(EngineColumn::kRunning, 0);
    EXPECT_TRUE(std::isnan(value) || value == 1 || value == 2);
  }
  writer.join();
}

}  // namespace
}  // namespace pd
