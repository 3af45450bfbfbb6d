// Which spellings of a number a key takes: 1 is a float, 4.5 is no integer, and no value of the
// wrong type ever falls back to the default in silence.
#include <gmock/gmock.h>

#include <cmath>
#include <string>

#include "tests/unit/config/loaded_text.h"

namespace pd {
namespace {

using config_test::errors_of;
using config_test::load_good;
using testing::HasSubstr;

struct Refusal {
  const char* section;
  const char* line;
  const char* key;
  const char* found;
  const char* allowed;
};

class RefusedNumber : public testing::TestWithParam<Refusal> {};

TEST_P(RefusedNumber, NamesPlaceKeyFoundAndAllowed) {
  const Refusal& wanted = GetParam();
  const auto errors =
      errors_of("[" + std::string(wanted.section) + "]\n" + std::string(wanted.line) + "\n");
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0].file, "pd.toml");
  EXPECT_EQ(errors[0].position.line, 2U);
  EXPECT_GT(errors[0].position.column, 1U);
  EXPECT_EQ(errors[0].key, wanted.key);
  EXPECT_THAT(errors[0].message, HasSubstr(wanted.found));
  EXPECT_THAT(errors[0].message, HasSubstr(std::string("allowed: ") + wanted.allowed));
}

constexpr const char* kBlockSize = "prefix_index.block_size";
constexpr const char* kFactor = "prefill.stddev_factor";

INSTANTIATE_TEST_SUITE_P(
    Values, RefusedNumber,
    testing::Values(
        Refusal{"prefix_index", "block_size = 4.0", kBlockSize, "4.0 (float)", "integer 1..65536"},
        Refusal{"prefix_index", "block_size = 4.5", kBlockSize, "4.5 (float)", "integer 1..65536"},
        Refusal{"prefix_index", "block_size = \"4\"", kBlockSize, "\"4\" (string)",
                "integer 1..65536"},
        Refusal{"prefix_index", "block_size = 9223372036854775808", kBlockSize,
                "9223372036854775808", "integer 1..65536"},
        Refusal{"prefix_index", "block_size = -9223372036854775809", kBlockSize,
                "9223372036854775809", "integer 1..65536"},
        Refusal{"prefix_index", "block_size = 9223372036854775807", kBlockSize,
                "9223372036854775807 (integer)", "integer 1..65536"},
        Refusal{"prefix_index", "block_size = true", kBlockSize, "true (boolean)",
                "integer 1..65536"},
        Refusal{"prefill", "stddev_factor = \"1\"", kFactor, "\"1\" (string)", "number 0..100"},
        Refusal{"prefill", "stddev_factor = nan", kFactor, "nan (float)", "number 0..100"},
        Refusal{"prefill", "stddev_factor = -nan", kFactor, "nan (float)", "number 0..100"},
        Refusal{"prefill", "stddev_factor = inf", kFactor, "inf (float)", "number 0..100"},
        Refusal{"prefill", "stddev_factor = -inf", kFactor, "-inf (float)", "number 0..100"},
        Refusal{"prefill", "stddev_factor = 1e400", kFactor, "1e400", "number 0..100"},
        Refusal{"prefill", "stddev_factor = -0.5", kFactor, "-0.5 (float)", "number 0..100"},
        Refusal{"prefill", "stddev_factor = true", kFactor, "true (boolean)", "number 0..100"},
        Refusal{"plugins", "directories = \"plugins\"", "plugins.directories",
                "\"plugins\" (string)", "list of at least one folder"},
        Refusal{"plugins", "directories = []", "plugins.directories", "[] (empty array)",
                "list of at least one folder"},
        Refusal{"timeouts", "prefill = 5", "timeouts.prefill", "5 (integer)",
                "duration 1ms..24h, with its unit as in"},
        Refusal{"timeouts", "prefill = 0", "timeouts.prefill", "0 (integer)", "duration 1ms..24h"},
        Refusal{"timeouts", "prefill = \"0\"", "timeouts.prefill", "\"0\" (string)",
                "duration 1ms..24h"},
        Refusal{"timeouts", "prefill = 1979-05-27", "timeouts.prefill", "1979-05-27 (date or time)",
                "duration 1ms..24h"},
        Refusal{"limits", "body = 1.5", "limits.body", "1.5 (float)", "size 1KiB..4GiB"},
        Refusal{"limits", "body = -1", "limits.body", "-1 (integer)", "size 1KiB..4GiB"},
        Refusal{"limits", "body = \"64MB\"", "limits.body", "\"64MB\" (string)",
                "size 1KiB..4GiB, as in"},
        Refusal{"prefix_index", "hash_seed = -1", "prefix_index.hash_seed", "-1 (integer)",
                "integer 0..18446744073709551615"},
        Refusal{"prefix_index", "hash_seed = 1.0", "prefix_index.hash_seed", "1.0 (float)",
                "integer 0..18446744073709551615"},
        Refusal{"prefix_index", "hash_seed = \"18446744073709551616\"", "prefix_index.hash_seed",
                "\"18446744073709551616\"", "integer 0..18446744073709551615"},
        Refusal{"prefix_index", "hash_seed = 9223372036854775808", "prefix_index.hash_seed",
                "9223372036854775808",
                "integer 0..18446744073709551615, above 9223372036854775807 in quotes"}));

TEST(NumberTypes, IntegersCountAsFloats) {
  const Settings settings =
      load_good(
          "[prefill]\nstddev_factor = 2\n[decode]\nmin_spread = 1\nthroughput_min_spread = 1e1\n"
          "score_ratio = 5\n")
          .settings;
  EXPECT_EQ(settings.prefill.stddev_factor, 2.0);
  EXPECT_EQ(settings.decode.min_spread, 1.0);
  EXPECT_EQ(settings.decode.throughput_min_spread, 10.0);
  EXPECT_EQ(settings.decode.score_ratio, 5.0);
}

TEST(NumberTypes, NegativeZeroIsZero) {
  const double factor =
      load_good("[prefill]\nstddev_factor = -0.0\n").settings.prefill.stddev_factor;
  EXPECT_EQ(factor, 0.0);
  EXPECT_FALSE(std::signbit(factor));
}

TEST(NumberTypes, UnderscoresAndOtherBasesAreTomlIntegers) {
  const Settings settings =
      load_good(
          "[limits]\nbody = 67_108_864\n[prefix_index]\ncapacity = 0x10\nblock_size = 0b100\n")
          .settings;
  EXPECT_EQ(settings.limits.body, 67'108'864U);
  EXPECT_EQ(settings.prefix_index.capacity, 16U);
  EXPECT_EQ(settings.prefix_index.block_size, 4U);
}

TEST(NumberTypes, SeedsAreExact) {
  const auto seed = [](const std::string& value) {
    return load_good("[prefix_index]\nhash_seed = " + value + "\n").settings.prefix_index.hash_seed;
  };
  EXPECT_EQ(seed("0"), 0U);
  EXPECT_EQ(seed("9007199254740993"), 9007199254740993U);
  EXPECT_EQ(seed("9223372036854775807"), 9223372036854775807U);
  EXPECT_EQ(seed("\"18446744073709551615\""), 18446744073709551615U);
}

TEST(NumberTypes, PolicyOptionsKeepTheirTypes) {
  const Settings settings = load_good("[policy.p]\ni = 1\nf = 1.0\nb = true\ns = \"1\"\n").settings;
  const auto& options = settings.policies.at("p");
  ASSERT_EQ(options.size(), 4U);
  EXPECT_EQ(options[0].value, PolicyOptionValue{std::int64_t{1}});
  EXPECT_EQ(options[1].value, PolicyOptionValue{1.0});
  EXPECT_EQ(options[2].value, PolicyOptionValue{true});
  EXPECT_EQ(options[3].value, PolicyOptionValue{std::string("1")});
  EXPECT_EQ(options[0].key, "i");
  EXPECT_EQ(options[0].position, (ConfigPosition{2, 5}));
  EXPECT_EQ(options[3].position.line, 5U);
}

TEST(NumberTypes, PolicyNamesAreCanonical) {
  const Settings settings =
      load_good("[decode]\npolicy = \"Load_Balancing \"\n[policy.Load_Balancing]\na = 1\n")
          .settings;
  EXPECT_EQ(settings.decode.policy, "load_balancing");
  EXPECT_EQ(settings.policies.count("load_balancing"), 1U);
}

}  // namespace
}  // namespace pd
