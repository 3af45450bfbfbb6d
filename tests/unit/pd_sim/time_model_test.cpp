#include "examples/pd-sim/time_model.h"

#include <gtest/gtest.h>

namespace pd::sim {
namespace {

using namespace std::chrono_literals;

TEST(TimeModel, ReadsDurationsWithUnits) {
  EXPECT_EQ(parse_duration("250us"), 250us);
  EXPECT_EQ(parse_duration("1.5ms"), 1500us);
  EXPECT_EQ(parse_duration("30s"), 30s);
  EXPECT_EQ(parse_duration("10ns"), 10ns);
  EXPECT_EQ(parse_duration("0"), 0ns);
}

TEST(TimeModel, RefusesWhatIsNoDuration) {
  for (const char* text : {"", "5", "ms", "-1ms", "1 ms", "1h", "nan", "1e300s", "0x1ms"}) {
    EXPECT_FALSE(parse_duration(text)) << text;
  }
}

TEST(TimeModel, AddsItsTerms) {
  TimeModel model;
  ASSERT_TRUE(model.set("prefill_base", "3ms"));
  ASSERT_TRUE(model.set("prefill_per_token", "10us"));
  EXPECT_EQ(model.prefill(100), 4ms);
  EXPECT_FALSE(model.set("prefill_bass", "3ms"));
  model.remove_latency();
  EXPECT_EQ(model.prefill(100), 0ns);
  EXPECT_EQ(model.decode_step(9), 0ns);
}

}  // namespace
}  // namespace pd::sim
