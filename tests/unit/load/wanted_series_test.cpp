#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "framework/load/series_reader.h"
#include "framework/load/wanted_series.h"
#include "pd/abi.h"

namespace pd {
namespace {

constexpr std::string_view kPage =
    "# HELP q:depth Depth.\n# TYPE q:depth gauge\n"
    "q:depth{engine=\"0\",kind=\"a\"} 3\n"
    "q:depth{engine=\"1\",kind=\"a\"} 5\n"
    "q:depth{engine=\"1\",kind=\"b\"} -2\n"
    "q:depth_total 99\n"
    "plain 1.5\n"
    "gone NaN\n"
    "endless +Inf\n";

double read_one(const WantedSeries& series) {
  const auto values = read_wanted_series(kPage, std::vector{series});
  EXPECT_EQ(values.size(), 1u);
  return values.empty() ? -1 : values[0];
}

TEST(SeriesReaderTest, CombinesAllSamplesOfTheName) {
  EXPECT_EQ(read_one({"q:depth", {}, PD_METRIC_SUM}), 6);
  EXPECT_EQ(read_one({"q:depth", {}, PD_METRIC_MAX}), 5);
  EXPECT_EQ(read_one({"q:depth", {}, PD_METRIC_MIN}), -2);
}

TEST(SeriesReaderTest, TakesOnlySamplesWithTheLabels) {
  EXPECT_EQ(read_one({"q:depth", {{"kind", "a"}}, PD_METRIC_SUM}), 8);
  EXPECT_EQ(read_one({"q:depth", {{"kind", "b"}, {"engine", "1"}}, PD_METRIC_SUM}), -2);
  EXPECT_TRUE(std::isnan(read_one({"q:depth", {{"kind", "c"}}, PD_METRIC_SUM})));
  EXPECT_TRUE(std::isnan(read_one({"plain", {{"kind", ""}}, PD_METRIC_SUM})));
}

TEST(SeriesReaderTest, NamesAreWhole) {
  EXPECT_EQ(read_one({"plain", {}, PD_METRIC_SUM}), 1.5);
  EXPECT_EQ(read_one({"q:depth_total", {}, PD_METRIC_SUM}), 99);
  EXPECT_TRUE(std::isnan(read_one({"q:dept", {}, PD_METRIC_SUM})));
}

TEST(SeriesReaderTest, WhatIsNoNumberIsNotKnown) {
  EXPECT_TRUE(std::isnan(read_one({"gone", {}, PD_METRIC_SUM})));
}

TEST(SeriesReaderTest, OneValueForEachInOrder) {
  const auto values = read_wanted_series(
      kPage, std::vector<WantedSeries>{{"plain", {}, 0}, {"none", {}, 0}, {"q:depth", {}, 1}});
  ASSERT_EQ(values.size(), 3u);
  EXPECT_EQ(values[0], 1.5);
  EXPECT_TRUE(std::isnan(values[1]));
  EXPECT_EQ(values[2], 5);
  EXPECT_TRUE(read_wanted_series(kPage, {}).empty());
  EXPECT_TRUE(std::isnan(read_wanted_series("", std::vector<WantedSeries>{{"a", {}, 0}})[0]));
  EXPECT_TRUE(
      std::isnan(read_wanted_series("a{b=\"c", std::vector<WantedSeries>{{"a", {}, 0}})[0]));
}

TEST(WantedSeriesTableTest, TheSameQueryIsTheSameColumn) {
  WantedSeriesTable table;
  const auto a = table.want({"a", {}, PD_METRIC_SUM});
  const auto b = table.want({"a", {}, PD_METRIC_MAX});
  const auto c = table.want({"a", {{"k", "v"}}, PD_METRIC_SUM});
  EXPECT_EQ(table.want({"a", {}, PD_METRIC_SUM}), a);
  EXPECT_NE(a, b);
  EXPECT_NE(a, c);
  ASSERT_EQ(table.all().size(), 3u);
  EXPECT_EQ(table.all()[*b].combine, PD_METRIC_MAX);
}

TEST(WantedSeriesTableTest, SaysWhenThereIsNoRoom) {
  WantedSeriesTable table;
  for (std::uint32_t i = 0; i < kMaxWantedSeries; ++i) {
    EXPECT_EQ(table.want({"s" + std::to_string(i), {}, 0}), i);
  }
  EXPECT_EQ(table.want({"one too many", {}, 0}), std::nullopt);
  EXPECT_EQ(table.want({"s3", {}, 0}), 3u);
}

TEST(WantedSeriesTableTest, MayBeReadWhileItIsAsked) {
  WantedSeriesTable table;
  std::thread asker([&] {
    for (std::uint32_t i = 0; i < kMaxWantedSeries; ++i)
      table.want({"s" + std::to_string(i), {}, 0});
  });
  std::size_t seen = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::size_t now = table.all().size();
    EXPECT_GE(now, seen);
    seen = now;
  }
  asker.join();
  EXPECT_EQ(table.all().size(), kMaxWantedSeries);
}

}  // namespace
}  // namespace pd
