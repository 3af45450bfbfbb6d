#include "framework/load/outcome_averages.h"

#include <gtest/gtest.h>

#include <thread>

namespace pd {
namespace {

TEST(OutcomeAveragesTest, NothingIsKnownAtFirst) {
  const OutcomeAverages averages;
  EXPECT_TRUE(std::isnan(averages.idle_s(5)));
  EXPECT_TRUE(std::isnan(averages.ttft_ms()));
  EXPECT_TRUE(std::isnan(averages.inter_token_ms()));
  EXPECT_TRUE(std::isnan(averages.error_rate()));
}

TEST(OutcomeAveragesTest, TheFirstValueIsTheAverageAndALaterOneCountsASixteenth) {
  OutcomeAverages averages;
  averages.note_ttft_ms(100);
  EXPECT_EQ(averages.ttft_ms(), 100);
  averages.note_ttft_ms(260);
  EXPECT_EQ(averages.ttft_ms(), 110);
  averages.note_inter_token_ms(16);
  averages.note_inter_token_ms(0);
  EXPECT_EQ(averages.inter_token_ms(), 15);
}

TEST(OutcomeAveragesTest, ErrorRateStaysAShare) {
  OutcomeAverages averages;
  averages.note_result(false);
  EXPECT_EQ(averages.error_rate(), 0);
  averages.note_result(true);
  EXPECT_EQ(averages.error_rate(), 1.0 / 16);
  for (int i = 0; i < 1000; ++i) averages.note_result(true);
  EXPECT_NEAR(averages.error_rate(), 1, 1e-6);
  EXPECT_LE(averages.error_rate(), 1);
}

TEST(OutcomeAveragesTest, IdleCountsFromTheLastChoiceAndNeverBackwards) {
  OutcomeAverages averages;
  averages.note_chosen(1'000'000'000);
  EXPECT_EQ(averages.idle_s(3'500'000'000), 2.5);
  EXPECT_EQ(averages.idle_s(1'000'000'000), 0);
  EXPECT_EQ(averages.idle_s(999'999'999), 0);
}

// A value that is not a number must not spoil the average for ever.
TEST(OutcomeAveragesTest, RecoversFromNotANumber) {
  OutcomeAverages averages;
  averages.note_ttft_ms(std::numeric_limits<double>::quiet_NaN());
  averages.note_ttft_ms(5);
  EXPECT_EQ(averages.ttft_ms(), 5);
}

TEST(OutcomeAveragesTest, ThreadsDoNotCorrupt) {
  OutcomeAverages averages;
  std::thread other([&] {
    for (int i = 0; i < 20'000; ++i) averages.note_ttft_ms(10);
  });
  for (int i = 0; i < 20'000; ++i) averages.note_ttft_ms(20);
  other.join();
  EXPECT_GE(averages.ttft_ms(), 10);
  EXPECT_LE(averages.ttft_ms(), 20);
}

}  // namespace
}  // namespace pd
