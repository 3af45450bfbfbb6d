#include "framework/config/quantity.h"

#include <gtest/gtest.h>

namespace pd {
namespace {

using std::chrono::milliseconds;

TEST(Quantity, DurationsWithEveryUnit) {
  EXPECT_EQ(parse_duration("250ms"), milliseconds{250});
  EXPECT_EQ(parse_duration("30s"), milliseconds{30'000});
  EXPECT_EQ(parse_duration("5m"), milliseconds{300'000});
  EXPECT_EQ(parse_duration("2h"), milliseconds{7'200'000});
  EXPECT_EQ(parse_duration("0"), milliseconds{0});
  EXPECT_EQ(parse_duration("0s"), milliseconds{0});
  EXPECT_EQ(parse_duration("9223372036854775807ms"), milliseconds{9223372036854775807LL});
}

TEST(Quantity, OtherDurationsAreRefused) {
  for (const char* text :
       {"", "5", "-5s", "+5s", "1.5s", "5 s", " 5s", "5s ", "5S", "5us", "1h30m", "s", "5sec",
        "9223372036854775808ms", "99999999999999999999s", "9223372036854775807h"}) {
    EXPECT_FALSE(parse_duration(text)) << text;
  }
}

TEST(Quantity, SizesWithEveryUnit) {
  EXPECT_EQ(parse_size("1GiB"), 1'073'741'824U);
  EXPECT_EQ(parse_size("64MiB"), 67'108'864U);
  EXPECT_EQ(parse_size("16KiB"), 16'384U);
  EXPECT_EQ(parse_size("4096"), 4'096U);
  EXPECT_EQ(parse_size("0"), 0U);
  EXPECT_EQ(parse_size("18446744073709551615"), 18446744073709551615U);
}

TEST(Quantity, OtherSizesAreRefused) {
  for (const char* text : {"", "64MB", "64M", "64mib", "64 MiB", "-1", "1.5GiB", "MiB", "0x10",
                           "18446744073709551616", "17179869184GiB"}) {
    EXPECT_FALSE(parse_size(text)) << text;
  }
}

TEST(Quantity, FormatTakesTheLargestUnitThatDividesEvenly) {
  EXPECT_EQ(format_duration(milliseconds{0}), "0");
  EXPECT_EQ(format_duration(milliseconds{250}), "250ms");
  EXPECT_EQ(format_duration(milliseconds{1'500}), "1500ms");
  EXPECT_EQ(format_duration(milliseconds{120'000}), "2m");
  EXPECT_EQ(format_duration(milliseconds{90'000}), "90s");
  EXPECT_EQ(format_duration(milliseconds{7'200'000}), "2h");
  EXPECT_EQ(format_size(67'108'864), "64MiB");
  EXPECT_EQ(format_size(67'108'865), "67108865");
  EXPECT_EQ(format_size(1'536), "1536");
  EXPECT_EQ(format_size(0), "0");
}

}  // namespace
}  // namespace pd
