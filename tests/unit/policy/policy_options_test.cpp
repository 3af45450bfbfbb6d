#include "framework/policy/policy_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <optional>
#include <string>

#include "framework/policy/policy_registry.h"
#include "pd/policy.hpp"

namespace pd {
namespace {

using ::testing::HasSubstr;

constexpr const char* kModes[] = {"fast", "careful"};

constexpr pd_option mode_option() {
  pd_option option = sdk::string_option("mode", "careful", "How it works.");
  option.choices = kModes;
  option.choice_count = 2;
  return option;
}

struct Optioned {
  static constexpr char kName[] = "optioned";
  static constexpr char kDescription[] = "A policy with an option of every type.";
  static constexpr std::array<pd_option, 6> kOptions = {
      sdk::float_option("alpha", 0.5, 0, 1, "A share."),
      sdk::int_option("depth", 4, 1, 10, "A depth."),
      sdk::bool_option("strict", true, "Whether it is strict."),
      mode_option(),
      sdk::string_option("label", "none", "Any text."),
      sdk::int_option("offset", -3, 0, 0, "Any integer."),
  };
  void score(const sdk::Request&, const sdk::DecodeBatch&, sdk::Scores) const {}
};

class PolicyOptionsTest : public ::testing::Test {
 protected:
  PolicyOptionsTest() {
    entry_ = *register_decode_policy(registry_, &sdk::Decode<Optioned>::kTable, nullptr);
  }

  std::string error_of(std::string key, decltype(PolicyOptionInput::value) value) {
    const auto values =
        check_policy_options(*entry_, {{std::move(key), std::move(value), 7, "pd.toml"}});
    if (values) return "ok";
    EXPECT_EQ(values.error().size(), 1u);
    return std::string(code_name(values.error()[0].code)) + "|" + values.error()[0].message;
  }

  PolicyRegistry registry_;
  std::shared_ptr<const DecodePolicyEntry> entry_;
};

TEST_F(PolicyOptionsTest, DefaultsInTheOrderOfTheDeclaration) {
  const auto values = check_policy_options(*entry_, {});
  ASSERT_TRUE(values);
  pd_host host{};
  const pd_policy_config config = values->config(&host);
  ASSERT_EQ(config.value_count, 6u);
  EXPECT_EQ(config.struct_size, sizeof(pd_policy_config));
  EXPECT_EQ(config.host, &host);
  EXPECT_EQ(config.values[0]->type, PD_OPTION_FLOAT);
  EXPECT_EQ(config.values[0]->float_value, 0.5);
  EXPECT_EQ(config.values[1]->int_value, 4);
  EXPECT_EQ(config.values[2]->int_value, 1);
  EXPECT_EQ(sdk::view(config.values[3]->string_value), "careful");
  EXPECT_EQ(sdk::view(config.values[4]->string_value), "none");
  EXPECT_EQ(config.values[5]->int_value, -3);
}

TEST_F(PolicyOptionsTest, PointersSurviveAMove) {
  std::optional<PolicyOptionValues> moved;
  pd_policy_config config{};
  {
    auto values = check_policy_options(
        *entry_, {{"label", std::string("short"), 1, "f"}, {"mode", std::string("fast"), 2, "f"}});
    ASSERT_TRUE(values);
    config = values->config(nullptr);
    moved.emplace(*std::move(values));
  }
  EXPECT_EQ(sdk::view(config.values[4]->string_value), "short");
  EXPECT_EQ(sdk::view(config.values[3]->string_value), "fast");
}

TEST_F(PolicyOptionsTest, TakesAnIntegerForAFloatAndNothingElse) {
  const auto values = check_policy_options(*entry_, {{"alpha", std::int64_t{1}, 1, "f"}});
  ASSERT_TRUE(values);
  EXPECT_EQ(values->values()[0].float_value, 1.0);
  EXPECT_THAT(error_of("depth", 4.0), HasSubstr("wrong_option_type|pd.toml:7: [policy.optioned] "
                                                "depth: found the float 4, allowed: an integer "
                                                "from 1 to 10"));
  EXPECT_THAT(error_of("strict", std::int64_t{1}),
              HasSubstr("wrong_option_type|pd.toml:7: [policy.optioned] strict: found the integer "
                        "1, allowed: true or false"));
  EXPECT_THAT(error_of("alpha", true), HasSubstr("found the boolean true"));
  EXPECT_THAT(error_of("alpha", std::string("0.5")), HasSubstr("found the text \"0.5\""));
  EXPECT_THAT(error_of("label", std::int64_t{5}), HasSubstr("allowed: a text"));
}

TEST_F(PolicyOptionsTest, ChecksBounds) {
  EXPECT_EQ(error_of("alpha", 0.0), "ok");
  EXPECT_EQ(error_of("alpha", 1.0), "ok");
  EXPECT_EQ(error_of("alpha", 1.1),
            "option_out_of_range|pd.toml:7: [policy.optioned] alpha: found the float 1.1, allowed: "
            "a number from 0 to 1");
  EXPECT_THAT(error_of("alpha", std::int64_t{-1}), HasSubstr("option_out_of_range|"));
  EXPECT_THAT(error_of("alpha", std::numeric_limits<double>::quiet_NaN()),
              HasSubstr("option_out_of_range|"));
  EXPECT_THAT(error_of("depth", std::int64_t{0}), HasSubstr("option_out_of_range|"));
  EXPECT_THAT(error_of("depth", std::int64_t{11}), HasSubstr("option_out_of_range|"));
  EXPECT_EQ(error_of("depth", std::int64_t{10}), "ok");
  EXPECT_EQ(error_of("offset", std::numeric_limits<std::int64_t>::min()), "ok");
}

TEST_F(PolicyOptionsTest, SuggestsTheKeyAndTheChoiceThatWereMeant) {
  EXPECT_EQ(error_of("alhpa", 0.5),
            "unknown_option|pd.toml:7: [policy.optioned] has no option \"alhpa\"; its options are: "
            "alpha, depth, strict, mode, label, offset; did you mean \"alpha\"?");
  EXPECT_EQ(error_of("mode", std::string("carefull")),
            "option_not_a_choice|pd.toml:7: [policy.optioned] mode: found the text \"carefull\", "
            "allowed: one of \"fast\", \"careful\"; did you mean \"careful\"?");
  EXPECT_EQ(error_of("mode", std::string("fast")), "ok");
}

TEST_F(PolicyOptionsTest, ReportsEveryFaultAtOnce) {
  const auto values = check_policy_options(*entry_, {{"alpha", 2.0, 3, "pd.toml"},
                                                     {"depth", std::int64_t{3}, 4, "pd.toml"},
                                                     {"depth", std::int64_t{4}, 5, "pd.toml"},
                                                     {"wat", true, 0, "PD_POLICY__OPTIONED__WAT"}});
  ASSERT_FALSE(values);
  ASSERT_EQ(values.error().size(), 3u);
  EXPECT_THAT(values.error()[0].message, HasSubstr("pd.toml:3: "));
  EXPECT_EQ(values.error()[1].code, PolicyErrorCode::kRepeatedOption);
  EXPECT_THAT(values.error()[2].message, HasSubstr("PD_POLICY__OPTIONED__WAT: "));
}

}  // namespace
}  // namespace pd
