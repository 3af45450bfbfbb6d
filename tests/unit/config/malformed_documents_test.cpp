// A museum of broken files: each is refused, and the first error names the right line.
#include <gmock/gmock.h>

#include <string>
#include <string_view>

#include "tests/unit/config/loaded_text.h"

namespace pd {
namespace {

using config_test::errors_of;
using config_test::texts_of;
using testing::HasSubstr;

struct Broken {
  const char* name;
  std::string_view text;  ///< the smallest fleet follows
  std::uint32_t line;
  ConfigErrorCode code;
  const char* says;
};

// For gtest, which would print the bytes of the struct.
void PrintTo(const Broken& broken, std::ostream* out) {
  *out << broken.name;
}

std::string name_of(const testing::TestParamInfo<Broken>& broken) {
  return broken.param.name;
}

class MalformedDocument : public testing::TestWithParam<Broken> {};

TEST_P(MalformedDocument, NamesTheLine) {
  const Broken& broken = GetParam();
  const auto errors = errors_of(broken.text);
  ASSERT_FALSE(errors.empty());
  EXPECT_EQ(errors[0].position.line, broken.line) << to_string(errors[0]);
  EXPECT_EQ(errors[0].code, broken.code) << to_string(errors[0]);
  EXPECT_THAT(to_string(errors[0]), HasSubstr(broken.says));
  EXPECT_THAT(to_string(errors[0]), testing::Not(HasSubstr("\n")));
}

using Code = ConfigErrorCode;

INSTANTIATE_TEST_SUITE_P(
    Syntax, MalformedDocument,
    testing::Values(
        Broken{"no_value", "[server]\nlisten =\n", 2, Code::kSyntax, "server.listen"},
        Broken{"bare_word", "[server]\nlisten = abc\n", 2, Code::kSyntax, "\"ADDRESS:PORT\""},
        Broken{"bare_yes", "\n\n[log]\nlevel = yes\n", 4, Code::kSyntax, "\"trace\""},
        Broken{"open_string", "[log]\nlevel = \"info\n", 2, Code::kSyntax, "log.level"},
        Broken{"open_literal", "[log]\nlevel = 'info\n", 2, Code::kSyntax, "log.level"},
        Broken{"bad_escape", "[log]\nlevel = \"in\\fo\\q\"\n", 2, Code::kSyntax, "escape"},
        Broken{"bad_unicode_escape", "[log]\nlevel = \"\\ud800\"\n", 2, Code::kSyntax, "log.level"},
        Broken{"open_header", "[server\nthreads = 1\n", 1, Code::kSyntax, "expected ']'"},
        Broken{"half_open_array_header", "[log]\n[[fleet.pod]\n", 2, Code::kSyntax, "expected ']'"},
        Broken{"empty_header", "[log]\n[]\n", 2, Code::kSyntax, "not valid TOML"},
        Broken{"three_brackets", "[log]\n[[[fleet]]]\n", 2, Code::kSyntax, "saw '['"},
        Broken{"many_brackets", "[[[[[[[[[[\n", 1, Code::kSyntax, "not valid TOML"},
        Broken{"text_after_header", "[log] level = \"info\"\n", 1, Code::kSyntax, "not valid TOML"},
        Broken{"two_on_a_line", "[server]\nthreads = 1 admin = 2\n", 2, Code::kSyntax,
               "not valid TOML"},
        Broken{"text_after_string", "[log]\nlevel = \"info\" yes\n", 2, Code::kSyntax,
               "not valid TOML"},
        Broken{"no_equals", "[server]\nthreads\n", 2, Code::kSyntax, "expected '='"},
        Broken{"colon", "[server]\nthreads: 4\n", 2, Code::kSyntax, "expected '='"},
        Broken{"no_key", "[server]\n= 4\n", 2, Code::kSyntax, "not valid TOML"},
        Broken{"key_with_dot_only", "[server]\nthreads. = 4\n", 2, Code::kSyntax, "not valid TOML"},
        Broken{"same_key_twice", "[server]\nthreads = 1\nthreads = 2\n", 3, Code::kSyntax,
               "'threads'"},
        Broken{"same_table_twice", "[log]\nlevel = \"info\"\n[server]\n[log]\n", 4, Code::kSyntax,
               "'log'"},
        Broken{"table_over_value", "[log]\nlevel = \"info\"\n[log.level]\n", 3, Code::kSyntax,
               "log.level"},
        Broken{"value_over_table", "[policy]\np.a = 1\np = 2\n", 3, Code::kSyntax, "'p'"},
        Broken{"leading_zero", "[server]\nthreads = 04\n", 2, Code::kSyntax, "integer 0..1024"},
        Broken{"double_underscore", "[server]\nthreads = 1__0\n", 2, Code::kSyntax,
               "integer 0..1024"},
        Broken{"empty_hex", "[server]\nthreads = 0x\n", 2, Code::kSyntax, "integer 0..1024"},
        Broken{"only_a_sign", "[server]\nthreads = +\n", 2, Code::kSyntax, "integer 0..1024"},
        Broken{"no_exponent", "[prefill]\nstddev_factor = 1e\n", 2, Code::kSyntax, "number 0..100"},
        Broken{"point_without_digits", "[prefill]\nstddev_factor = 1.\n", 2, Code::kSyntax,
               "number 0..100"},
        Broken{"comma_in_number", "[prefill]\nstddev_factor = 1,5\n", 2, Code::kSyntax,
               "not valid TOML"},
        Broken{"bad_date", "[log]\nlevel = 1979-13-45\n", 2, Code::kSyntax, "log.level"},
        Broken{"two_commas", "[plugins]\ndirectories = [\"a\",\n,\"b\"]\n", 3, Code::kSyntax,
               "not valid TOML"},
        Broken{"open_inline_table", "[plugins]\nallow = [{ id = \"a\"\n]\n", 2, Code::kSyntax,
               "not valid TOML"},
        Broken{"lonely_carriage_return", "[server]\nthreads = 1\rx = 2\n", 2, Code::kSyntax,
               "not valid TOML"},
        Broken{"control_character", "[server]\nthreads = 1 # \x01\n", 2, Code::kSyntax,
               "not valid TOML"},
        Broken{"umlaut_in_key", "[log]\nl\xc3\xa4vel = 1\n", 2, Code::kSyntax, "pd.toml:2:2: "},
        Broken{"no_break_space", "[log]\nlevel =\xc2\xa0\"info\"\n", 2, Code::kSyntax,
               "outside a string"},
        Broken{"curly_quotes", "[log]\nlevel = \xe2\x80\x9cinfo\xe2\x80\x9d\n", 2, Code::kSyntax,
               "pd.toml:2:9: found the character \"\xe2\x80\x9c\""},
        Broken{"umlaut_in_header", "[l\xc3\xb6g]\n", 1, Code::kSyntax, "outside a string"},
        Broken{"umlaut_behind_string", "[log]\nlevel = \"\"\"a\n\"\"\"\"\xc3\xa4\n", 3,
               Code::kSyntax, "outside a string"},
        Broken{"umlaut_as_escape", "[log]\nlevel = \"\"\"a\\\xc3\xa4\"\"\"\n", 2, Code::kSyntax,
               "\"\xc3\xa4\""},
        Broken{"umlaut_in_string_behind_number", "[server]\nthreads = 1\"\xc3\xa9\"\n", 2,
               Code::kSyntax, "server.threads"},
        Broken{"json", "{ \"server\": { \"threads\": 4 } }\n", 1, Code::kSyntax, "not valid TOML"},
        Broken{"yaml", "server:\n  threads: 4\n", 1, Code::kSyntax, "not valid TOML"},
        Broken{"zero_byte", std::string_view("[server]\nthreads = \0 1\n", 23), 2, Code::kSyntax,
               "server.threads"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Encoding, MalformedDocument,
    testing::Values(
        Broken{"lone_byte", "[log]\n# caf\xe9\nlevel = \"info\"\n", 2, Code::kNotUtf8, "not UTF-8"},
        Broken{"overlong", "[log]\nlevel = \"\xc0\xaf\"\n", 2, Code::kNotUtf8, "not UTF-8"},
        Broken{"overlong_of_three", "[log]\nlevel = \"\xe0\x80\x80\"\n", 2, Code::kNotUtf8,
               "not UTF-8"},
        Broken{"surrogate", "[log]\nlevel = \"\xed\xa0\x80\"\n", 2, Code::kNotUtf8, "not UTF-8"},
        Broken{"beyond_unicode", "[log]\nlevel = \"\xf4\x90\x80\x80\"\n", 2, Code::kNotUtf8,
               "not UTF-8"},
        Broken{"utf16_little_endian", std::string_view("\xff\xfe[\0l\0", 6), 1, Code::kNotUtf8,
               "UTF-16"},
        Broken{"utf16_big_endian", std::string_view("\xfe\xff\0[\0l", 6), 1, Code::kNotUtf8,
               "UTF-16"},
        Broken{"utf16_without_mark", std::string_view("[\0l\0", 4), 1, Code::kNotUtf8, "UTF-16"}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Structure, MalformedDocument,
    testing::Values(
        Broken{"unknown_section", "[log]\n[serve]\n", 2, Code::kUnknownKey,
               "pd.toml:2:2: serve: unknown key; did you mean \"server\"?"},
        Broken{"unknown_far", "[log]\n[kubernetes]\n", 2, Code::kUnknownKey,
               "allowed here: server, plugins"},
        Broken{"key_at_top", "threads = 4\n", 1, Code::kUnknownKey,
               "did you mean \"server.threads\"?"},
        Broken{"wrong_section", "[prefill]\nscore_ratio = 2\n", 2, Code::kUnknownKey,
               "did you mean \"decode.score_ratio\"?"},
        Broken{"not_yet_queue", "[limits]\nqueue = { length = 1 }\n", 2, Code::kUnknownKey,
               "limits.queue"},
        Broken{"not_yet_profiles", "[routing]\nprofiles = {}\n", 2, Code::kUnknownKey,
               "routing.profiles"},
        Broken{"not_yet_watch", "[plugins]\nwatch = true\n", 2, Code::kUnknownKey, "plugins.watch"},
        Broken{"section_is_a_number", "server = 5\n", 1, Code::kWrongType,
               "a table, as in [server]"},
        Broken{"section_is_an_array", "[log]\n[[server]]\nthreads = 1\n", 2, Code::kWrongType,
               "server: found an array of 1"},
        Broken{"key_is_a_table", "[prefill.policy]\nname = \"x\"\n", 1, Code::kWrongType,
               "prefill.policy: found a table"},
        Broken{"policies_as_value", "[policy]\nload_balancing = 1\n", 2, Code::kWrongType,
               "[policy.load_balancing]"},
        Broken{"policy_name", "[policy.\"a b\"]\nx = 1\n", 1, Code::kOutOfRange, "policy.a b"},
        Broken{"policy_with_dot", "[policy.my.policy]\nx = 1\n", 1, Code::kWrongType,
               "[policy.\"my.policy\"]"},
        Broken{"policy_twice", "[policy.P]\nx = 1\n[policy.p]\nx = 2\n", 3, Code::kDuplicate,
               "line 1"},
        Broken{"policy_option_array", "[policy.p]\nx = [1]\n", 2, Code::kWrongType, "policy.p.x"},
        Broken{"policy_option_date", "[policy.p]\nx = 1979-05-27\n", 2, Code::kWrongType,
               "policy.p.x"},
        Broken{"allow_without_id",
               "[plugins]\nallow = [\"a\",\n  { sha256 = \"" /* 64 digits */
               "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
               "\" }]\n",
               3, Code::kMissingKey, "plugins.allow.id"},
        Broken{"allow_short_sha", "[plugins]\nallow = [\n{ id = \"a\", sha256 = \"abc\" }]\n", 3,
               Code::kWrongType, "64 hexadecimal digits"},
        Broken{"allow_twice", "[plugins]\nallow = [\n\"a\",\n\"a\"]\n", 4, Code::kDuplicate,
               "line 3"},
        Broken{"allow_number", "[plugins]\nallow = [\n1]\n", 3, Code::kWrongType, "1 (integer)"},
        Broken{"allow_unknown", "[plugins]\nallow = [{ id = \"a\", sha = \"b\" }]\n", 2,
               Code::kUnknownKey, "plugins.allow.sha"},
        Broken{"directory_number", "[plugins]\ndirectories = [\"a\",\n2]\n", 3, Code::kWrongType,
               "2 (integer)"},
        Broken{"control_in_text", "[plugins]\nstaging = \"a\\u0000b\"\n", 2, Code::kOutOfRange,
               "\\u0000"},
        Broken{"listen_without_port", "[server]\nlisten = \"0.0.0.0\"\n", 2, Code::kOutOfRange,
               "\"0.0.0.0\" (string)"},
        Broken{"stale_below_scrape", "[fleet]\nscrape = \"10s\"\n", 2, Code::kConflict,
               "fleet.stale: found \"5s\", allowed: more than fleet.scrape, which is \"10s\""},
        Broken{"same_addresses", "[server]\nlisten = \"[::]:80\"\nadmin = \"[::]:80\"\n", 3,
               Code::kConflict, "server.admin"}),
    name_of);

TEST(MalformedFleet, EveryFaultOfEveryPod) {
  constexpr std::string_view kFleet =
      "[[fleet.pod]]\n"                       // 1
      "name = \"p0\"\n"                       // 2
      "url = \"10.0.0.1:8000\"\n"             // 3: no scheme
      "model = \"\"\n"                        // 4: empty
      "role = \"Prefill\"\n"                  // 5: not a choice
      "[[fleet.pod]]\n"                       // 6: url is missing
      "name = \"p0\"\n"                       // 7: twice
      "model = \"m\"\n"                       // 8
      "role = \"decode\"\n"                   // 9
      "rolset = \"r\"\n"                      // 10: unknown
      "engine = \"sglang\"\n"                 // 11: not yet
      "connector = \"mooncake\"\n"            // 12: not yet
      "labels = { zone = \"a\", n = 1 }\n"    // 13: label is no string
      "metrics_url = \"http://a/metrics\"\n"  // 14: no port
      "group_index = 0\n";                    // 15: a string is wanted
  EXPECT_THAT(
      texts_of(errors_of("", kFleet)),
      testing::ElementsAre(
          "pd.toml:3:7: fleet.pod[0].url: found \"10.0.0.1:8000\" (string), allowed: "
          "\"http://HOST:PORT\"",
          "pd.toml:4:9: fleet.pod[0].model: found \"\" (string), allowed: text that is not empty",
          "pd.toml:5:8: fleet.pod[0].role: found \"Prefill\" (string), allowed: \"prefill\", "
          "\"decode\" or \"combined\"",
          "pd.toml:6:1: fleet.pod[1].url: missing; every [[fleet.pod]] needs it, allowed: "
          "\"http://HOST:PORT\"",
          "pd.toml:7:8: fleet.pod[1].name: found \"p0\" a second time (first in line 2), allowed: "
          "a name that no other pod has",
          "pd.toml:10:1: fleet.pod[1].rolset: unknown key; did you mean \"roleset\"?",
          "pd.toml:11:10: fleet.pod[1].engine: found \"sglang\" (string), allowed: \"vllm\"",
          "pd.toml:12:13: fleet.pod[1].connector: found \"mooncake\" (string), allowed: \"nixl\" "
          "or \"shfs\"",
          "pd.toml:13:28: fleet.pod[1].labels.n: found 1 (integer), allowed: a string without "
          "control characters",
          "pd.toml:14:15: fleet.pod[1].metrics_url: found \"http://a/metrics\" (string), allowed: "
          "\"http://HOST:PORT/PATH\"",
          "pd.toml:15:15: fleet.pod[1].group_index: found 0 (integer), allowed: text that is not "
          "empty"));
}

TEST(MalformedFleet, NoPodsAtAll) {
  for (const char* text : {"[log]\nlevel = \"info\"\n", "[fleet]\nscrape = \"1s\"\n"}) {
    const auto errors = errors_of(text, "");
    ASSERT_EQ(errors.size(), 1U);
    EXPECT_EQ(to_string(errors[0]),
              "pd.toml: fleet.pod: missing; a fleet needs at least one [[fleet.pod]]");
  }
  for (const char* text : {"[fleet]\npod = []\n", "[fleet]\npod = 1\n",
                           "[fleet.pod]\nname = \"a\"\n", "[fleet]\npod = [1]\n"}) {
    const auto errors = errors_of(text, "");
    ASSERT_EQ(errors.size(), 1U) << text;
    EXPECT_EQ(errors[0].code, ConfigErrorCode::kWrongType);
  }
}

TEST(MalformedDocuments, AllErrorsOfAFileInTheOrderOfItsLines) {
  EXPECT_THAT(
      texts_of(errors_of("[prefill]\nmin_spread = \"abc\"\n[decode]\nscore_ratio = true\n"
                         "[log]\nlvel = 1\nformat = \"xml\"\n[server]\nthreads = 1025\n")),
      testing::ElementsAre(
          "pd.toml:2:14: prefill.min_spread: found \"abc\" (string), allowed: integer 1..1000000",
          "pd.toml:4:15: decode.score_ratio: found true (boolean), allowed: number 0..1000000",
          "pd.toml:6:1: log.lvel: unknown key; did you mean \"level\"?",
          "pd.toml:7:10: log.format: found \"xml\" (string), allowed: \"text\" or \"json\"",
          "pd.toml:9:11: server.threads: found 1025 (integer), allowed: integer 0..1024"));
}

TEST(MalformedDocuments, DepthIsBounded) {
  std::string dotted;
  for (int i = 0; i < 500'000; ++i) dotted += "a.";
  for (const std::string& text : {dotted + "a = 1\n", "[" + dotted + "a]\n",
                                  "x = {" + dotted + "a = 1}\n", "\"a\"." + dotted + "'a' = 1\n"}) {
    const auto errors = errors_of("[log]\n" + text);
    ASSERT_EQ(errors.size(), 1U);
    EXPECT_EQ(errors[0].code, ConfigErrorCode::kTooDeep);
    EXPECT_EQ(errors[0].position.line, 2U);
  }
  const auto nested = errors_of("[log]\nlevel = " + std::string(100'000, '['));
  ASSERT_EQ(nested.size(), 1U);
  EXPECT_EQ(nested[0].code, ConfigErrorCode::kSyntax);
  EXPECT_EQ(nested[0].position.line, 2U);
  // Below the parser's own bound, and deeper than any setting.
  EXPECT_EQ(errors_of("[log]\nlevel = " + std::string(200, '[') + std::string(200, ']') + "\n")
                .front()
                .code,
            ConfigErrorCode::kWrongType);
}

TEST(MalformedDocuments, CharactersBeyondAsciiAreFineInStringsAndComments) {
  constexpr std::string_view kText =
      "# \xc3\xa4 \"\n"
      "[policy.p] # \xc3\xa4 '\n"
      "\"\xc3\xa4\" = '\xc3\xa4\\'\n"
      "b = \"\\\"\xc3\xa4\"\n"
      "c = \"\"\"\xc3\xa4\"\n\"\"\xc3\xa4\\\"\"\"\"\"\n"
      "d = \"\"\n"
      "e = ''\n"
      "f = '''\xc3\xa4'\n''\xc3\xa4'''''\n"
      "# \xc3\xa4\n";
  const LoadedSettings loaded = config_test::load_good(kText);
  const auto& options = loaded.settings.policies.at("p");
  ASSERT_EQ(options.size(), 6U);
  EXPECT_EQ(options[0].key, "\xc3\xa4");
  EXPECT_EQ(options[0].value, PolicyOptionValue{std::string("\xc3\xa4\\")});
  EXPECT_EQ(options[1].value, PolicyOptionValue{std::string("\"\xc3\xa4")});
  EXPECT_EQ(options[2].value, PolicyOptionValue{std::string("\xc3\xa4\"\n\"\"\xc3\xa4\"\"")});
  EXPECT_EQ(options[5].value, PolicyOptionValue{std::string("\xc3\xa4'\n''\xc3\xa4''")});
}

TEST(MalformedDocuments, LongStringsAreCutAtACharacter) {
  std::string umlauts;
  for (int i = 0; i < 1'000; ++i) umlauts += "\xc3\xa4";
  const auto errors = errors_of("[log]\nlevel = \"a" + umlauts + "\"\n");
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_LT(errors[0].message.size(), 200U);
  EXPECT_THAT(errors[0].message, HasSubstr("\xc3\xa4\"... (string)"));
}

TEST(MalformedDocuments, NoPrefixOfAGoodFileBringsItDown) {
  const std::string good = "[plugins]\nallow = [{ id = \"a\" }, \"b\"]\n[policy.p]\nx = 1.5e1\n" +
                           std::string(config_test::kPod) + "labels = { zone = \"\\u00e4\" }\n";
  std::size_t accepted = 0;
  for (std::size_t length = 0; length <= good.size(); ++length) {
    const LoadResult result = load_settings_text(good.substr(0, length), "pd.toml", {});
    if (result) {
      ++accepted;
      EXPECT_EQ(result->settings.fleet.pods.size(), 1U);
      EXPECT_GE(length,
                good.find("role = \"prefill\"") + std::string_view("role = \"prefill\"").size());
    } else {
      EXPECT_FALSE(result.error().empty());
    }
  }
  EXPECT_GE(accepted, 2U);
}

}  // namespace
}  // namespace pd
