#include "framework/load/exposition_parser.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/unit/load/metrics_page_file.h"
#include "tests/unit/load/read_samples.h"

namespace pd {
namespace {

using Labels = std::vector<std::pair<std::string, std::string>>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The only sample of a page of one line.
ReadSample read_line(std::string_view line) {
  const std::vector<ReadSample> samples = read_samples(line);
  EXPECT_EQ(samples.size(), 1u) << line;
  return samples.empty() ? ReadSample{} : samples.front();
}

LineFault fault_of(std::string_view line) {
  return read_line(line).fault;
}

TEST(ExpositionParser, ReadsNameLabelsAndValue) {
  const ReadSample sample = read_line("vllm:running{engine=\"0\",model_name=\"org/m\"} 11.5\n");
  EXPECT_EQ(sample.fault, LineFault::kNone);
  EXPECT_EQ(sample.name, "vllm:running");
  EXPECT_EQ(sample.labels, (Labels{{"engine", "0"}, {"model_name", "org/m"}}));
  EXPECT_EQ(sample.value, 11.5);
  EXPECT_EQ(sample.line, 1u);
}

TEST(ExpositionParser, AcceptsEveryLegalSpacing) {
  for (const std::string_view line :
       {"a 1", "a\t1", "  a   1  ", "a{} 1", "a{}1", "a { } 1", "a{} 1 1700000000123", "a 1 -5",
        "a 1 1700000000.5", "a 1 # {trace_id=\"x\"} 0.5", "a 1 2 # {} 0.5 3", "{\"a\"} 1",
        "{ \"a\" , } 1", "a 1\r"}) {
    const ReadSample sample = read_line(line);
    EXPECT_EQ(sample.fault, LineFault::kNone) << line;
    EXPECT_EQ(sample.name, "a") << line;
    EXPECT_EQ(sample.value, 1) << line;
    EXPECT_TRUE(sample.labels.empty()) << line;
  }
  const Labels labels{{"b", "x"}, {"c", "y"}};
  for (const std::string_view line :
       {"a{b=\"x\",c=\"y\"} 1", "a { b = \"x\" ,\tc = \"y\" , } 1", "{\"a\",b=\"x\",\"c\"=\"y\"} 1",
        "{b=\"x\",\"a\",c=\"y\"} 1"}) {
    const ReadSample sample = read_line(line);
    EXPECT_EQ(sample.name, "a") << line;
    EXPECT_EQ(sample.labels, labels) << line;
  }
}

TEST(ExpositionParser, UnescapesOnlyTheLegalEscapes) {
  const ReadSample sample = read_line(R"(a{b="q\"}, #\\n\n",c="\x\d",d="\\\"",e="} 7"} 2)");
  EXPECT_EQ(sample.labels,
            (Labels{{"b", "q\"}, #\\n\n"}, {"c", "\\x\\d"}, {"d", "\\\""}, {"e", "} 7"}}));
  EXPECT_EQ(sample.value, 2);
  const ReadSample quoted = read_line(R"({"na\"me\n","la\\bel"="é"} 2)");
  EXPECT_EQ(quoted.name, "na\"me\n");
  EXPECT_EQ(quoted.labels, (Labels{{"la\\bel", "é"}}));
}

TEST(ExpositionParser, ComparesEscapedTextWithoutUnescaping) {
  const ExpositionText text{R"(a\"b\n\\)", true};
  EXPECT_TRUE(text.equals("a\"b\n\\"));
  EXPECT_FALSE(text.equals("a\"b\n"));
  EXPECT_FALSE(text.equals("a\"b\n\\ "));
  EXPECT_FALSE(text.equals(text.raw));
  EXPECT_TRUE((ExpositionText{"ab", false}).equals("ab"));
  EXPECT_FALSE((ExpositionText{"ab", false}).equals("abc"));
}

TEST(ExpositionParser, FindsTheFirstLabelOfAName) {
  ExpositionParser parser("a{b=\"1\",\"c.d\"=\"2\",b=\"3\"} 1");
  ASSERT_EQ(parser.next(), ExpositionParser::Step::kSample);
  EXPECT_EQ(parser.sample().find_label("b")->value.raw, "1");
  EXPECT_EQ(parser.sample().find_label("c.d")->value.raw, "2");
  EXPECT_EQ(parser.sample().find_label("c"), nullptr);
}

TEST(ExpositionParser, ReadsNumbersOfTheFormat) {
  const std::pair<std::string_view, double> cases[] = {
      {"0", 0},
      {"1e0", 1},
      {"+1.5", 1.5},
      {"-2.5E+3", -2500},
      {".5", 0.5},
      {"5.", 5},
      {"4.2e-01", 0.42},
      {"9007199254740993", 9007199254740992},
      {"+Inf", kInfinity},
      {"inf", kInfinity},
      {"-INF", -kInfinity},
      {"-Infinity", -kInfinity},
      {"1e-400", 0},
      {"1e-99999999999999999999", 0},
      {"1.7976931348623157e308", std::numeric_limits<double>::max()},
      {"4.9406564584124654e-324", std::numeric_limits<double>::denorm_min()}};
  for (const auto& [text, expected] : cases) {
    double value = -7;
    EXPECT_TRUE(read_exposition_number(text, value)) << text;
    EXPECT_EQ(value, expected) << text;
  }
  for (const std::string_view text : {"NaN", "nan", "NAN"}) {
    double value = 0;
    EXPECT_TRUE(read_exposition_number(text, value)) << text;
    EXPECT_TRUE(std::isnan(value)) << text;
  }
}

TEST(ExpositionParser, RefusesWhatIsNoNumberOfTheFormat) {
  for (const std::string_view text : {"",        "-",
                                      "+",       ".",
                                      "-nan",    "+NaN",
                                      "nan(1)",  "0x1p-1",
                                      "0x10",    "1.797693134862315708e+309",
                                      "1e400",   "-1e99999999999999999999",
                                      "1_000",   "1,5",
                                      "1e",      "1e+",
                                      "e5",      "+-1",
                                      "--1",     "1 ",
                                      " 1",      "1f",
                                      "infinit", "infinityy",
                                      "None"}) {
    double value = -7;
    EXPECT_FALSE(read_exposition_number(text, value)) << text;
    EXPECT_EQ(value, -7) << text;
  }
  const std::string long_number = "0." + std::string(400, '0') + "1e800";
  double value = 0;
  EXPECT_FALSE(read_exposition_number(long_number, value));
}

TEST(ExpositionParser, OneBadLineCostsThatLine) {
  const std::vector<ReadSample> samples = read_samples(
      "a 1\n"
      "b{c=\"x} 2\n"
      "d{e=\"x\"} nope\n"
      "\x01\n"
      "f 3");
  ASSERT_EQ(samples.size(), 5u);
  EXPECT_EQ(samples[0].name, "a");
  EXPECT_EQ(samples[1].fault, LineFault::kLabels);
  EXPECT_EQ(samples[1].name, "b");
  EXPECT_TRUE(samples[1].labels.empty());
  EXPECT_EQ(samples[2].fault, LineFault::kValue);
  EXPECT_EQ(samples[2].name, "d");
  EXPECT_EQ(samples[2].labels, (Labels{{"e", "x"}})) << "only what follows the labels is bad";
  EXPECT_EQ(samples[3].fault, LineFault::kName);
  EXPECT_EQ(samples[3].line, 4u);
  EXPECT_EQ(samples[4].fault, LineFault::kNone);
  EXPECT_EQ(samples[4].value, 3);
}

TEST(ExpositionParser, NamesTheFault) {
  for (const std::string_view line :
       {"{} 1", "{a=\"b\"} 1", "9a 1", "a-b 1", "é 1", "= 1", "a{\"b\"} 1", "{\"a\",\"b\"} 1"}) {
    EXPECT_EQ(fault_of(line), LineFault::kName) << line;
  }
  for (const std::string_view line :
       {"a{ 1", "a{,} 1", "a{b} 1", "a{b=} 1", "a{b=1} 1", "a{b=\"1} 1", "a{b=\"1\"c=\"2\"} 1",
        "a{b=\"1\",,c=\"2\"} 1", "a{b=\"1\" 1", "a{b=\"1\\\"} 1", "a{b=\"1\\", "a{b.c=\"1\"} 1",
        "{\"\"} 1", "a{\"\"=\"1\"} 1", "a{b:c=\"1\"} 1"}) {
    EXPECT_EQ(fault_of(line), LineFault::kLabels) << line;
  }
  for (const std::string_view line : {"a", "a{}", "a{} # {} 1", "a{}x", "a 1#"}) {
    EXPECT_EQ(fault_of(line), LineFault::kValue) << line;
  }
  for (const std::string_view line : {"a 1 x", "a 1 NaN", "a 1 Inf", "a 1 {}"}) {
    EXPECT_EQ(fault_of(line), LineFault::kTimestamp) << line;
  }
  EXPECT_EQ(fault_of("a 1 2 3"), LineFault::kTrailing);
}

TEST(ExpositionParser, BoundsTheLabelsOfASample) {
  const auto line_with = [](std::size_t labels) {
    std::string line = "a{";
    for (std::size_t i = 0; i < labels; ++i) line += "l" + std::to_string(i) + "=\"v\",";
    return line + "} 1";
  };
  EXPECT_EQ(read_line(line_with(ExpositionParser::kMaxLabels)).labels.size(),
            ExpositionParser::kMaxLabels);
  EXPECT_EQ(fault_of(line_with(ExpositionParser::kMaxLabels + 1)), LineFault::kTooManyLabels);
}

TEST(ExpositionParser, TellsTheKindOfTheFamilyAbove) {
  const std::vector<ReadSample> samples = read_samples(
      "early 1\n"
      "# TYPE g gauge\n"
      "g 1\ng_total 1\n"
      "# HELP c TYPE c gauge\n"
      "#  TYPE\tc  counter\n"
      "c 1\nc_total 1\nc_created 1\ncc 1\n"
      "# TYPE h histogram\n"
      "h_bucket{le=\"1\"} 1\nh_sum 1\nh_count 1\n"
      "# TYPE \"s.x\" summary\n"
      "{\"s.x_count\"} 1\n"
      "# TYPE u untyped\n"
      "u 1\n"
      "# TYPE v nonsense\n"
      "v 1\n");
  const SeriesKind expected[] = {
      SeriesKind::kUnknown,   SeriesKind::kGauge,     SeriesKind::kUnknown, SeriesKind::kCounter,
      SeriesKind::kCounter,   SeriesKind::kCounter,   SeriesKind::kUnknown, SeriesKind::kHistogram,
      SeriesKind::kHistogram, SeriesKind::kHistogram, SeriesKind::kSummary, SeriesKind::kUnknown,
      SeriesKind::kUnknown};
  ASSERT_EQ(samples.size(), std::size(expected));
  for (std::size_t i = 0; i < samples.size(); ++i) {
    EXPECT_EQ(samples[i].fault, LineFault::kNone) << samples[i].name;
    EXPECT_EQ(samples[i].kind, expected[i]) << i << " " << samples[i].name;
  }
}

TEST(ExpositionParser, EndsAtTheEofLineAndStaysThere) {
  ExpositionParser parser("a 1\n# EOF of nothing\n# EOF\r\nb 2\n");
  EXPECT_EQ(parser.next(), ExpositionParser::Step::kSample);
  EXPECT_EQ(parser.next(), ExpositionParser::Step::kEnd);
  EXPECT_EQ(parser.next(), ExpositionParser::Step::kEnd);
  EXPECT_EQ(read_samples("# HELP a # EOF\na 1\n").size(), 1u);
}

TEST(ExpositionParser, EmptyPagesHaveNoSamples) {
  for (const std::string_view page :
       {"", "\n", "\r\n\r\n", "   \n\t", "#", "# TYPE", "# TYPE \"a", "# EOF", "# just words"}) {
    EXPECT_TRUE(read_samples(page).empty()) << page;
  }
}

TEST(ExpositionParser, ReadsARealPageWhole) {
  const std::string page = read_page_file("vllm_decode_busy.prom");
  std::size_t sample_lines = 0;
  for (std::size_t begin = 0; begin < page.size(); begin = page.find('\n', begin) + 1) {
    sample_lines += page[begin] != '#';
  }
  const std::vector<ReadSample> samples = read_samples(page);
  EXPECT_EQ(samples.size(), sample_lines);
  for (const ReadSample& sample : samples) {
    EXPECT_EQ(sample.fault, LineFault::kNone) << sample.name;
    EXPECT_NE(sample.kind, SeriesKind::kUnknown) << sample.name;
  }
  const Labels& widest = samples.back().labels;
  EXPECT_EQ(samples.back().name, "vllm:cache_config_info");
  EXPECT_EQ(widest.size(), 37u);
  EXPECT_EQ(widest.front(), (std::pair<std::string, std::string>("_block_size_resolved", "True")));
}

}  // namespace
}  // namespace pd
