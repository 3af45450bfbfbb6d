#include "framework/load/token_rate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace pd {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kQuarter = kSecond / 4;

TEST(TokenRate, IsUnknownUntilTwoScrapesCouldBeCompared) {
  TokenRate rate;
  EXPECT_TRUE(std::isnan(rate.per_second()));
  rate.add(kSecond, 5'000'000, 1);
  EXPECT_TRUE(std::isnan(rate.per_second())) << "what was generated before is no rate";
  rate.add(2 * kSecond, 5'000'100, 1);
  EXPECT_DOUBLE_EQ(rate.per_second(), 100);
}

TEST(TokenRate, AnIdleEngineIsZeroNotUnknown) {
  TokenRate rate;
  rate.add(0, 0, 1);
  rate.add(kQuarter, 0, 1);
  EXPECT_EQ(rate.per_second(), 0);
}

TEST(TokenRate, AConstantRateIsExactUnderIrregularSampling) {
  TokenRate rate;
  std::mt19937 random(7);
  std::uint64_t now = 0;
  rate.add(now, 0, 1);
  for (int i = 0; i < 200; ++i) {
    now += 1'000'000 + random() % (3 * kSecond);
    rate.add(now, static_cast<double>(now) * 1e-9 * 250, 1);
    EXPECT_NEAR(rate.per_second(), 250, 1e-6);
  }
}

TEST(TokenRate, AStepShowsTo63PercentAfterTheTimeConstant) {
  TokenRate rate;
  std::uint64_t now = 0;
  double total = 0;
  rate.add(now, total, 1);
  for (int i = 0; i < 400; ++i) rate.add(now += kQuarter, total, 1);
  for (int i = 0; i < 20; ++i) rate.add(now += kQuarter, total += 100, 1);  // 400 a second for 5 s
  EXPECT_NEAR(rate.per_second(), 400 * (1 - std::exp(-1.0)), 0.5);
}

TEST(TokenRate, MissedScrapesAreCoveredByTheNextOne) {
  TokenRate rate;
  rate.add(0, 0, 1);
  rate.add(kSecond, 100, 1);
  rate.add(2 * kSecond, std::numeric_limits<double>::quiet_NaN(), 1);
  rate.add(3 * kSecond, -5, 1);
  rate.add(4 * kSecond, std::numeric_limits<double>::infinity(), 1);
  EXPECT_DOUBLE_EQ(rate.per_second(), 100);
  rate.add(5 * kSecond, 500, 1);
  EXPECT_DOUBLE_EQ(rate.per_second(), 100);
}

TEST(TokenRate, ARestartedCounterCountsFromZero) {
  TokenRate rate;
  rate.add(0, 1'000'000, 1);
  rate.add(kSecond, 50, 1);
  EXPECT_DOUBLE_EQ(rate.per_second(), 50);
}

TEST(TokenRate, AnotherSetOfRanksBeginsAnewAndKeepsTheRate) {
  TokenRate rate;
  rate.add(0, 1000, 3);
  rate.add(kSecond, 1100, 3);
  rate.add(2 * kSecond, 600, 1);  // a rank is left out: neither a restart nor a jump
  EXPECT_DOUBLE_EQ(rate.per_second(), 100);
  rate.add(3 * kSecond, 700, 1);
  EXPECT_DOUBLE_EQ(rate.per_second(), 100);
  rate.add(4 * kSecond, 9'000'000, 3);
  EXPECT_DOUBLE_EQ(rate.per_second(), 100);
}

TEST(TokenRate, TimeThatDoesNotPassIsIgnored) {
  TokenRate rate;
  rate.add(kSecond, 0, 1);
  rate.add(kSecond, 700, 1);
  rate.add(kSecond / 2, 900, 1);
  EXPECT_TRUE(std::isnan(rate.per_second()));
  rate.add(2 * kSecond, 100, 1);
  EXPECT_DOUBLE_EQ(rate.per_second(), 100);
}

}  // namespace
}  // namespace pd
