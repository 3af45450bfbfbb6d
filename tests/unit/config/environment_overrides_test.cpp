#include "framework/config/environment_overrides.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "framework/config/settings_table.h"
#include "tests/unit/config/loaded_text.h"

namespace pd {
namespace {

using config_test::load_good;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(EnvironmentOverrides, EveryVariableReachesItsSetting) {
  const LoadedSettings loaded =
      load_good("", {{"AIBRIX_PREFILL_SCORE_POLICY", " least_request "},
                     {"AIBRIX_DECODE_SCORE_POLICY", " Least_Request"},
                     {"AIBRIX_DECODE_LB_WEIGHT_RUNNING", "2"},
                     {"AIBRIX_DECODE_LB_WEIGHT_THROUGHPUT", "0.5"},
                     {"AIBRIX_PREFILL_LOAD_IMBALANCE_MIN_SPREAD", "8"},
                     {"AIBRIX_DECODE_LOAD_IMBALANCE_MIN_SPREAD", "8.5"},
                     {"AIBRIX_DECODE_THROUGHPUT_IMBALANCE_MIN_SPREAD", "100"},
                     {"AIBRIX_DECODE_SCORE_RATIO_THRESHOLD", "2.5"},
                     {"AIBRIX_PREFIX_CACHE_STANDARD_DEVIATION_FACTOR", "2"},
                     {"AIBRIX_PREFIX_CACHE_BLOCK_SIZE", "4"},
                     {"AIBRIX_PREFIX_CACHE_BLOCK_NUMBER", "200000"},
                     {"AIBRIX_PREFIX_CACHE_EVICTION_DURATION_MINS", "7"},
                     {"AIBRIX_PREFIX_CACHE_HASH_SEED", "18446744073709551615"},
                     {"AIBRIX_PREFIX_CACHE_TOKENIZER_TYPE", "character"},
                     {"AIBRIX_PREFILL_REQUEST_TIMEOUT", "60"},
                     {"AIBRIX_POD_METRIC_REFRESH_INTERVAL_MS", "50"},
                     {"AIBRIX_KV_CONNECTOR_TYPE", "SHFS"}});
  const Settings& settings = loaded.settings;
  EXPECT_EQ(settings.prefill.policy, "least_request");
  EXPECT_EQ(settings.decode.policy, "least_request");
  EXPECT_EQ(settings.prefill.min_spread, 8U);
  EXPECT_EQ(settings.decode.min_spread, 8.5);
  EXPECT_EQ(settings.decode.throughput_min_spread, 100.0);
  EXPECT_EQ(settings.decode.score_ratio, 2.5);
  EXPECT_EQ(settings.prefill.stddev_factor, 2.0);
  EXPECT_EQ(settings.prefix_index.block_size, 4U);
  EXPECT_EQ(settings.prefix_index.capacity, 200'000U);
  EXPECT_EQ(settings.prefix_index.ttl, std::chrono::minutes{7});
  EXPECT_EQ(settings.prefix_index.hash_seed, 18446744073709551615U);
  EXPECT_EQ(settings.prefix_index.tokenizer, TokenizerKind::kCharacter);
  EXPECT_EQ(settings.timeouts.prefill, std::chrono::seconds{60});
  EXPECT_EQ(settings.fleet.scrape, std::chrono::milliseconds{50});
  EXPECT_EQ(settings.fleet.connector, ConnectorKind::kShfs);
  EXPECT_EQ(settings.fleet.pods.at(0).connector, ConnectorKind::kShfs);
  const auto& options = settings.policies.at("load_balancing");
  ASSERT_EQ(options.size(), 2U);
  EXPECT_EQ(options[0].key, "weight_running");
  EXPECT_EQ(options[0].value, PolicyOptionValue{2.0});
  EXPECT_EQ(options[0].variable, "AIBRIX_DECODE_LB_WEIGHT_RUNNING");
  EXPECT_EQ(options[1].key, "weight_throughput");
  EXPECT_EQ(options[1].value, PolicyOptionValue{0.5});

  // Seventeen variables were set and the tables know no other.
  std::size_t variables = policy_option_overrides().size();
  for (const SettingRow& row : settings_table()) {
    if (!row.environment.variable.empty()) ++variables;
  }
  EXPECT_EQ(variables, 17U);
  EXPECT_EQ(loaded.notices.size(), variables);
}

TEST(EnvironmentOverrides, TheNoticeNamesBothValuesAndTheOldSource) {
  EXPECT_THAT(
      load_good("[prefill]\nmin_spread = 4\n", {{"AIBRIX_PREFILL_LOAD_IMBALANCE_MIN_SPREAD", "8"}})
          .notices,
      ElementsAre("AIBRIX_PREFILL_LOAD_IMBALANCE_MIN_SPREAD=\"8\" overrides "
                  "prefill.min_spread = 4 (pd.toml:2)"));
  EXPECT_THAT(load_good("[policy.load_balancing]\nweight_running = 3\nother = 1\n",
                        {{"AIBRIX_DECODE_LB_WEIGHT_RUNNING", "2"}})
                  .notices,
              ElementsAre("AIBRIX_DECODE_LB_WEIGHT_RUNNING=\"2\" overrides "
                          "policy.load_balancing.weight_running = 3 (pd.toml:2)"));
}

TEST(EnvironmentOverrides, AnOptionOfTheFileIsReplacedInItsPlace) {
  const auto options = load_good("[policy.load_balancing]\nweight_running = 3\nother = 1\n",
                                 {{"AIBRIX_DECODE_LB_WEIGHT_RUNNING", "2"}})
                           .settings.policies.at("load_balancing");
  ASSERT_EQ(options.size(), 2U);
  EXPECT_EQ(options[0].value, PolicyOptionValue{2.0});
  EXPECT_EQ(options[0].position.line, 0U);
  EXPECT_EQ(options[1].key, "other");
}

TEST(EnvironmentOverrides, BadNumbersLeaveTheFileAndWarn) {
  for (const char* text : {"0", "-1", "abc", "8x", " 8", "8 ", "8.0", "1e1", "0x8", "+-8", "+",
                           "9223372036854775808", "1000001"}) {
    const LoadedSettings loaded = load_good("[prefill]\nmin_spread = 4\n",
                                            {{"AIBRIX_PREFILL_LOAD_IMBALANCE_MIN_SPREAD", text}});
    EXPECT_EQ(loaded.settings.prefill.min_spread, 4U) << text;
    EXPECT_THAT(loaded.notices,
                ElementsAre("AIBRIX_PREFILL_LOAD_IMBALANCE_MIN_SPREAD=\"" + std::string(text) +
                            "\" is ignored, allowed: above 0, integer 1..1000000; "
                            "prefill.min_spread stays 4 (pd.toml:2)"));
  }
  for (const char* text : {"0", "0.0", "-0.5", "nan", "inf", "1e400", "abc", "1,5"}) {
    const LoadedSettings loaded = load_good("", {{"AIBRIX_DECODE_SCORE_RATIO_THRESHOLD", text},
                                                 {"AIBRIX_DECODE_LB_WEIGHT_RUNNING", text}});
    EXPECT_EQ(loaded.settings.decode.score_ratio, 1.5) << text;
    EXPECT_TRUE(loaded.settings.policies.empty()) << text;
    EXPECT_THAT(loaded.notices,
                ElementsAre(HasSubstr("decode.score_ratio stays 1.5 (default)"),
                            HasSubstr("policy.load_balancing.weight_running stays")));
  }
  for (const char* text : {"0", "30s", "-5", "1.5"}) {
    const LoadedSettings loaded = load_good("", {{"AIBRIX_PREFILL_REQUEST_TIMEOUT", text}});
    EXPECT_EQ(loaded.settings.timeouts.prefill, std::chrono::minutes{2}) << text;
    EXPECT_THAT(loaded.notices, ElementsAre(HasSubstr("whole number of s above 0")));
  }
}

TEST(EnvironmentOverrides, NumbersThatTheReferenceTakes) {
  EXPECT_EQ(load_good("", {{"AIBRIX_PREFILL_LOAD_IMBALANCE_MIN_SPREAD", "+8"}})
                .settings.prefill.min_spread,
            8U);
  EXPECT_EQ(load_good("", {{"AIBRIX_PREFILL_LOAD_IMBALANCE_MIN_SPREAD", "008"}})
                .settings.prefill.min_spread,
            8U);
  EXPECT_EQ(
      load_good("", {{"AIBRIX_DECODE_SCORE_RATIO_THRESHOLD", "1e1"}}).settings.decode.score_ratio,
      10.0);
  EXPECT_EQ(load_good("", {{"AIBRIX_PREFIX_CACHE_HASH_SEED", "0"}}).settings.prefix_index.hash_seed,
            0U);
}

TEST(EnvironmentOverrides, ThePrefillPolicyTellsUpperFromLowerCase) {
  const LoadedSettings loaded = load_good("", {{"AIBRIX_PREFILL_SCORE_POLICY", "Least_Request"}});
  EXPECT_EQ(loaded.settings.prefill.policy, "prefix_cache");
  EXPECT_THAT(loaded.notices, ElementsAre(HasSubstr("is ignored")));
}

TEST(EnvironmentOverrides, UnknownChoicesAreIgnored) {
  const LoadedSettings loaded = load_good("", {{"AIBRIX_KV_CONNECTOR_TYPE", "mooncake"},
                                               {"AIBRIX_PREFIX_CACHE_TOKENIZER_TYPE", "remote"}});
  EXPECT_EQ(loaded.settings.fleet.connector, ConnectorKind::kNixl);
  EXPECT_THAT(loaded.notices,
              ElementsAre(HasSubstr("allowed: \"character\""), HasSubstr("\"nixl\" or \"shfs\"")));
}

TEST(EnvironmentOverrides, AnEmptyVariableIsUnset) {
  EXPECT_THAT(load_good("", {{"AIBRIX_PREFIX_CACHE_HASH_SEED", ""}}).notices, IsEmpty());
}

TEST(EnvironmentOverrides, AnOverrideDoesNotExcuseABadFile) {
  const LoadResult result =
      load_settings_text("[prefill]\nmin_spread = \"x\"\n" + std::string(config_test::kPod),
                         "pd.toml", {{"AIBRIX_PREFILL_LOAD_IMBALANCE_MIN_SPREAD", "8"}});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().at(0).key, "prefill.min_spread");
}

TEST(EnvironmentOverrides, AConflictNamesTheKeyEvenWithoutALine) {
  const LoadResult result = load_settings_text(config_test::kPod, "pd.toml",
                                               {{"AIBRIX_POD_METRIC_REFRESH_INTERVAL_MS", "5000"}});
  ASSERT_FALSE(result);
  EXPECT_THAT(to_string(result.error().at(0)), HasSubstr("pd.toml: fleet.stale: found \"5s\""));
}

TEST(EnvironmentOverrides, TheProcessEnvironmentIsReadByName) {
  ASSERT_EQ(::setenv("AIBRIX_DECODE_LB_WEIGHT_RUNNING", "3", 1), 0);
  ASSERT_EQ(::setenv("AIBRIX_PREFIX_CACHE_HASH_SEED", "7", 1), 0);
  const EnvironmentVariables environment = process_environment();
  ::unsetenv("AIBRIX_DECODE_LB_WEIGHT_RUNNING");
  ::unsetenv("AIBRIX_PREFIX_CACHE_HASH_SEED");
  EXPECT_EQ(environment.at("AIBRIX_DECODE_LB_WEIGHT_RUNNING"), "3");
  EXPECT_EQ(environment.at("AIBRIX_PREFIX_CACHE_HASH_SEED"), "7");
  EXPECT_EQ(environment.count("PATH"), 0U);
}

}  // namespace
}  // namespace pd
