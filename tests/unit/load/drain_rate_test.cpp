#include "framework/load/drain_rate.h"

#include <gtest/gtest.h>

#include <cmath>

namespace pd {
namespace {

constexpr std::uint64_t kMillisecond = 1'000'000;
constexpr std::uint64_t kSecond = 1000 * kMillisecond;
constexpr std::uint64_t kStart = 1000 * kSecond;

TEST(DrainRate, IsUnknownForTheFirstTenSeconds) {
  DrainRate drain;
  std::uint64_t now = kStart;
  for (; now < kStart + 10 * kSecond; now += 250 * kMillisecond) {
    EXPECT_TRUE(std::isnan(drain.update(now, (now - kStart) / kSecond)));
  }
  EXPECT_DOUBLE_EQ(drain.update(now, 10), 1);
}

TEST(DrainRate, IsExactForASteadyStream) {
  DrainRate drain;
  for (std::uint64_t second = 0; second < 900; ++second) {
    const double rate = drain.update(kStart + second * kSecond, 3 * second);
    if (second >= 10) {
      EXPECT_DOUBLE_EQ(rate, 3) << second;
    }
  }
}

TEST(DrainRate, LooksBackAMinute) {
  DrainRate drain;
  drain.update(kStart, 0);
  double rate = 0;
  for (std::uint64_t second = 1; second <= 60; ++second) {
    rate = drain.update(kStart + second * kSecond, 600);
  }
  EXPECT_DOUBLE_EQ(rate, 10) << "600 within the minute";
  // Five seconds on, the snapshot nearest to a minute ago is one from after the burst.
  for (std::uint64_t second = 61; second <= 65; ++second) {
    rate = drain.update(kStart + second * kSecond, 600);
  }
  EXPECT_EQ(rate, 0);
}

TEST(DrainRate, TakesTheNearestSnapshot) {
  DrainRate drain;
  drain.update(kStart, 0);
  drain.update(kStart + 40 * kSecond, 400);
  // 95 s after the first and 55 s after the second: the second is nearer to a minute ago.
  EXPECT_DOUBLE_EQ(drain.update(kStart + 95 * kSecond, 510), 2);
}

TEST(DrainRate, KeepsASnapshotAtMostEveryFiveSeconds) {
  DrainRate drain;
  drain.update(kStart, 0);
  drain.update(kStart + 4999 * kMillisecond, 1000);  // not kept
  drain.update(kStart + 5 * kSecond, 2000);          // kept
  EXPECT_DOUBLE_EQ(drain.update(kStart + 65 * kSecond, 2600), 10);
  DrainRate other;
  other.update(kStart, 0);
  other.update(kStart + 4999 * kMillisecond, 2000);
  EXPECT_DOUBLE_EQ(other.update(kStart + 65 * kSecond, 2600), 40) << "the only base is the first";
}

TEST(DrainRate, ForgetsAfterThreeMinutes) {
  DrainRate drain;
  drain.update(kStart, 0);
  EXPECT_DOUBLE_EQ(drain.update(kStart + 180 * kSecond, 360), 2);
  DrainRate silent;
  silent.update(kStart, 0);
  EXPECT_TRUE(std::isnan(silent.update(kStart + 181 * kSecond, 360)));
}

TEST(DrainRate, ARestartedCountIsAllNew) {
  DrainRate drain;
  for (std::uint64_t second = 0; second <= 60; second += 5) {
    drain.update(kStart + second * kSecond, 1000 + second);
  }
  EXPECT_DOUBLE_EQ(drain.update(kStart + 65 * kSecond, 30), 0.5) << "30 within 60 s";
  EXPECT_DOUBLE_EQ(drain.update(kStart + 70 * kSecond, 2400), 40)
      << "the old count stays forgotten when the new one has passed it";
}

TEST(DrainRate, ACallFromThePastChangesNothing) {
  DrainRate drain;
  drain.update(kStart, 0);
  drain.update(kStart + 60 * kSecond, 60);
  EXPECT_TRUE(std::isnan(drain.update(kStart + 30 * kSecond, 5)));
  EXPECT_DOUBLE_EQ(drain.update(kStart + 61 * kSecond, 61), 1);
}

}  // namespace
}  // namespace pd
