#include "framework/config/effective_config.h"

#include <gmock/gmock.h>

#include <boost/json.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "framework/config/settings_table.h"
#include "tests/unit/config/loaded_text.h"

namespace pd {
namespace {

using config_test::load_good;
using testing::HasSubstr;
using testing::MatchesRegex;

constexpr std::string_view kBegin = "<!-- generated: settings -->\n";
constexpr std::string_view kEnd = "<!-- end of generated: settings -->";

std::string line_of(const std::string& text, const std::string& key) {
  const std::size_t start = ("\n" + text).find("\n" + key + " ");
  if (start == std::string::npos) return {};
  return text.substr(start, text.find('\n', start) - start);
}

LoadedSettings sample() {
  return load_good(
      "[prefill]\nstddev_factor = 2\n[timeouts]\nprefill = \"120s\"\n[limits]\nbody = 67_108_864\n"
      "[policy.p]\nx = 1e1\nflag = true\ntext = \"a\\\"b\"\n[plugins]\n"
      "allow = [\"a\", { id = \"b\", file = \"/b.so\" }]\n[prefix_index]\n"
      "hash_seed = \"18446744073709551615\"\n",
      {{"AIBRIX_PREFIX_CACHE_BLOCK_SIZE", "4"}, {"AIBRIX_DECODE_LB_WEIGHT_RUNNING", "2"}});
}

TEST(EffectiveConfig, EveryKeyStandsThereWithValueAndSource) {
  const std::string text = format_effective(sample());
  for (const SettingRow& row : settings_table()) {
    EXPECT_FALSE(line_of(text, std::string(row.spec.key)).empty()) << row.spec.key;
  }
  EXPECT_THAT(line_of(text, "prefill.stddev_factor"), MatchesRegex(".* +2\\.0 +pd\\.toml:2"));
  EXPECT_THAT(line_of(text, "timeouts.prefill"), MatchesRegex(".* +\"2m\" +pd\\.toml:4"));
  EXPECT_THAT(line_of(text, "limits.body"), MatchesRegex(".* +\"64MiB\" +pd\\.toml:6"));
  EXPECT_THAT(line_of(text, "log.level"), MatchesRegex(".* +\"info\" +default"));
  EXPECT_THAT(line_of(text, "prefix_index.block_size"),
              MatchesRegex(".* +4 +environment AIBRIX_PREFIX_CACHE_BLOCK_SIZE"));
  EXPECT_THAT(line_of(text, "prefix_index.hash_seed"),
              MatchesRegex(".* +18446744073709551615 +pd\\.toml:14"));
  EXPECT_THAT(line_of(text, "policy.p.x"), MatchesRegex(".* +10\\.0 +pd\\.toml:8"));
  EXPECT_THAT(line_of(text, "policy.load_balancing.weight_running"),
              MatchesRegex(".* +2\\.0 +environment AIBRIX_DECODE_LB_WEIGHT_RUNNING"));
  EXPECT_THAT(line_of(text, "fleet.pod[0]"),
              HasSubstr("{ name = \"p0\", url = \"http://10.0.0.1:8000\", model = \"m\", role = "
                        "\"prefill\", roleset = \"default\", engine = \"vllm\", connector = "
                        "\"nixl\", labels = {} }"));
  EXPECT_THAT(line_of(text, "plugins.allow"),
              HasSubstr("[\"a\", { id = \"b\", file = \"/b.so\" }]"));
}

TEST(EffectiveConfig, AnAbsentSeedIsRandom) {
  EXPECT_THAT(line_of(format_effective(load_good("")), "prefix_index.hash_seed"),
              MatchesRegex(".* +random +default"));
}

TEST(EffectiveConfig, JsonIsJsonAndKeepsTypes) {
  const boost::json::value json = boost::json::parse(format_effective_json(sample()));
  const auto& settings = json.at("settings").as_object();
  EXPECT_EQ(settings.size(), settings_table().size());
  EXPECT_EQ(json.at("file").as_string(), "pd.toml");
  EXPECT_EQ(settings.at("prefill.stddev_factor").at("value").as_double(), 2.0);
  EXPECT_EQ(settings.at("prefill.stddev_factor").at("source").as_string(), "file");
  EXPECT_EQ(settings.at("prefill.stddev_factor").at("line").as_int64(), 2);
  EXPECT_EQ(settings.at("prefix_index.block_size").at("value").as_int64(), 4);
  EXPECT_EQ(settings.at("prefix_index.block_size").at("variable").as_string(),
            "AIBRIX_PREFIX_CACHE_BLOCK_SIZE");
  EXPECT_EQ(settings.at("prefix_index.hash_seed").at("value").as_string(), "18446744073709551615");
  EXPECT_EQ(settings.at("plugins.allow").at("value").as_array().size(), 2U);
  EXPECT_EQ(settings.at("timeouts.total").at("value").as_string(), "0");
  EXPECT_EQ(json.at("policies").at("p").at("text").at("value").as_string(), "a\"b");
  EXPECT_EQ(json.at("policies").at("p").at("flag").at("value").as_bool(), true);
  EXPECT_EQ(json.at("pods").as_array().size(), 1U);
  EXPECT_EQ(json.at("pods").at(0).at("name").as_string(), "p0");
  EXPECT_TRUE(json.at("pods").at(0).at("metrics_url").is_null());
  EXPECT_EQ(json.at("notices").as_array().size(), 2U);
}

TEST(EffectiveConfig, JsonSurvivesAwkwardValues) {
  const auto json = boost::json::parse(format_effective_json(
      load_good("[policy.p]\na = nan\nb = inf\nc = \"\\u0001\\u007f\\\\\"\n")));
  EXPECT_EQ(json.at("policies").at("p").at("a").at("value").as_string(), "nan");
  EXPECT_EQ(json.at("policies").at("p").at("c").at("value").as_string(), "\x01\x7f\\");
}

std::string read_docs() {
  std::ifstream file(PD_CONFIGURATION_DOC);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// PD_UPDATE_DOCS=1 in the environment writes the page instead of comparing it.
TEST(ConfigurationDoc, TablesAreThoseOfTheCode) {
  const std::string docs = read_docs();
  const std::size_t begin = docs.find(kBegin);
  const std::size_t end = docs.find(kEnd);
  ASSERT_NE(begin, std::string::npos) << PD_CONFIGURATION_DOC;
  ASSERT_NE(end, std::string::npos);
  ASSERT_LT(begin, end);
  const std::size_t start = begin + kBegin.size();
  const std::string wanted = format_reference_markdown() + "\n";
  if (std::getenv("PD_UPDATE_DOCS") != nullptr) {
    std::ofstream(PD_CONFIGURATION_DOC) << docs.substr(0, start) << wanted << docs.substr(end);
    return;
  }
  EXPECT_EQ(docs.substr(start, end - start), wanted)
      << "run this test with PD_UPDATE_DOCS=1 and commit docs/configuration.md";
}

TEST(ConfigurationDoc, ItsExampleLoads) {
  const std::string docs = read_docs();
  constexpr std::string_view kFence = "```toml\n";
  std::size_t examples = 0;
  for (std::size_t at = docs.find(kFence); at != std::string::npos; at = docs.find(kFence, at)) {
    at += kFence.size();
    const std::size_t end = docs.find("```", at);
    ASSERT_NE(end, std::string::npos);
    load_good(docs.substr(at, end - at), {}, "");
    ++examples;
    at = end;
  }
  EXPECT_GE(examples, 1U);
}

}  // namespace
}  // namespace pd
