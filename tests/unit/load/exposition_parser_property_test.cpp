// What must hold for every page: valid ones are read back exactly, damaged ones do no harm.
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "framework/load/vllm_signals.h"
#include "tests/unit/load/metrics_page_file.h"
#include "tests/unit/load/read_samples.h"

namespace pd {
namespace {

constexpr const char* kPages[] = {"crlf_no_last_newline.prom", "odd_values_sglang.prom",
                                  "odd_values_vllm.prom", "openmetrics.om",
                                  "vllm_decode_busy.prom"};

// Writes random valid pages and keeps what it wrote.
class PageWriter {
 public:
  explicit PageWriter(std::uint32_t seed) : random_(seed) {}

  std::string write() {
    page_.clear();
    samples.clear();
    open_metrics_ = one_in(2);
    line_end_ = one_in(4) ? "\r\n" : "\n";
    for (std::size_t i = below(12); i > 0; --i) write_family();
    if (open_metrics_) {
      page_ += "# EOF";
      if (one_in(2)) page_ += line_end_ + "after_the_end 1" + line_end_;
    } else if (one_in(4) && !page_.empty()) {
      page_.resize(page_.size() - line_end_.size());
    }
    return page_;
  }

  std::vector<ReadSample> samples;

 private:
  std::size_t below(std::size_t limit) { return random_() % limit; }
  bool one_in(std::size_t n) { return below(n) == 0; }
  std::string blanks(std::size_t least) {
    std::string out(least, ' ');
    if (!open_metrics_) {
      while (one_in(5)) out += one_in(2) ? ' ' : '\t';
    }
    return out;
  }

  std::string text_of(std::string_view alphabet, std::size_t least, std::size_t most) {
    std::string out;
    for (std::size_t i = least + below(most - least + 1); i > 0; --i) {
      out += alphabet[below(alphabet.size())];
    }
    return out;
  }

  std::string any_text(std::size_t least) {
    std::string out;
    static constexpr const char* kPieces[] = {"a", "Z", "0", " ", "{",  "}", "\"", "\\", "\n",
                                              "#", ",", "=", "é", "模", "/", "\t", "\\n"};
    for (std::size_t i = least + below(8); i > 0; --i) out += kPieces[below(std::size(kPieces))];
    return out;
  }

  static std::string quote(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
      if (c == '\n') {
        out += "\\n";
      } else if (c == '"' || c == '\\') {
        out += {'\\', c};
      } else {
        out += c;
      }
    }
    return out + "\"";
  }

  void write_family() {
    const bool quoted = one_in(4);
    // A family stands on a page once: the number keeps the names apart.
    const std::string family =
        (quoted ? any_text(1) : text_of("abZ_:", 1, 1) + text_of("abcXYZ_:019", 0, 12)) + "_" +
        std::to_string(samples.size()) + "f";
    const bool typed = one_in(2);
    if (one_in(3)) page_ += "# HELP " + text_of("ab", 1, 5) + " words \\n # EOF" + line_end_;
    if (typed) page_ += "# TYPE " + (quoted ? quote(family) : family) + " gauge" + line_end_;
    if (!open_metrics_ && one_in(3)) page_ += "#" + text_of(" #abc{}", 0, 9) + line_end_;
    if (!open_metrics_ && one_in(3)) page_ += blanks(0) + line_end_;
    for (std::size_t i = 1 + below(4); i > 0; --i) write_sample(family, quoted, typed);
  }

  void write_sample(const std::string& name, bool quoted, bool typed) {
    ReadSample& sample = samples.emplace_back();
    sample.name = name;
    sample.kind = typed ? SeriesKind::kGauge : SeriesKind::kUnknown;
    page_ += blanks(0);
    if (!quoted) page_ += name + blanks(0);
    if (quoted || one_in(2)) write_labels(sample, quoted);
    page_ += blanks(1) + random_value(sample.value);
    if (one_in(3)) page_ += blanks(1) + std::to_string(below(1000)) + (open_metrics_ ? ".25" : "");
    if (open_metrics_ && one_in(3)) page_ += " # {x=" + quote(any_text(0)) + "} 1";
    page_ += blanks(0) + line_end_;
  }

  void write_labels(ReadSample& sample, bool quoted_name) {
    page_ += "{" + blanks(0);
    const std::size_t count = below(6);
    if (quoted_name) page_ += quote(sample.name) + blanks(0) + (count > 0 ? "," : "");
    for (std::size_t i = 0; i < count; ++i) {
      const bool quoted = one_in(5);
      const std::string name =
          quoted ? any_text(1) : text_of("abZ_", 1, 1) + text_of("abcXYZ_019", 0, 8);
      sample.labels.emplace_back(name, any_text(0));
      page_ += blanks(0) + (quoted ? quote(name) : name) + blanks(0) + "=" + blanks(0);
      page_ += quote(sample.labels.back().second) + blanks(0);
      if (i + 1 < count || (!open_metrics_ && one_in(4))) page_ += ",";
    }
    page_ += blanks(0) + "}";
  }

  std::string random_value(double& value) {
    switch (below(8)) {
      case 0:
        value = std::numeric_limits<double>::quiet_NaN();
        return one_in(2) ? "NaN" : "nan";
      case 1:
        value = std::numeric_limits<double>::infinity();
        return one_in(2) ? "+Inf" : "inf";
      case 2:
        value = -std::numeric_limits<double>::infinity();
        return "-Inf";
      case 3:
        value = static_cast<double>(below(100));
        return "+" + std::to_string(static_cast<int>(value)) + ".0";
      default:
        break;
    }
    do {
      const std::uint64_t bits = (static_cast<std::uint64_t>(random_()) << 32) | random_();
      std::memcpy(&value, &bits, sizeof value);
    } while (!std::isfinite(value));
    char text[64];
    const auto written = std::to_chars(text, text + sizeof text, value);
    return std::string(text, written.ptr);
  }

  std::mt19937 random_;
  std::string page_;
  std::string line_end_;
  bool open_metrics_ = false;
};

bool same_value(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

void expect_same(const ReadSample& read, const ReadSample& written, const std::string& page) {
  EXPECT_EQ(read.fault, LineFault::kNone) << page;
  EXPECT_EQ(read.name, written.name) << page;
  EXPECT_EQ(read.labels, written.labels) << page;
  EXPECT_TRUE(same_value(read.value, written.value)) << written.value << "\n" << page;
  EXPECT_EQ(read.kind, written.kind) << page;
}

// Holds for every page whatsoever.
void expect_harmless(std::string_view page) {
  std::size_t steps = 0;
  ExpositionParser parser(page);
  const auto is_inside = [page](std::string_view view) {
    return view.empty() ||
           (view.data() >= page.data() && view.data() + view.size() <= page.data() + page.size());
  };
  for (auto step = parser.next(); step != ExpositionParser::Step::kEnd; step = parser.next()) {
    ++steps;
    const ExpositionSample& sample = parser.sample();
    ASSERT_TRUE(is_inside(sample.name.raw));
    for (const ExpositionLabel& label : sample.labels) {
      ASSERT_TRUE(is_inside(label.name.raw) && is_inside(label.value.raw));
    }
    ASSERT_EQ(step == ExpositionParser::Step::kSample, parser.fault() == LineFault::kNone);
  }
  ASSERT_LE(steps, static_cast<std::size_t>(std::count(page.begin(), page.end(), '\n')) + 1);

  EngineSample sample;
  read_signals(vllm_signals(), page, {.model = "tiny", .of_pod = "tiny"}, sample);
  for (const double value :
       {sample.running, sample.waiting, sample.kv_usage, sample.kv_blocks, sample.kv_block_tokens,
        sample.prefill_time_ms, sample.generated_tokens_total}) {
    ASSERT_TRUE(std::isnan(value) || (std::isfinite(value) && value >= 0)) << value;
  }
  ASSERT_FALSE(sample.kv_usage > 1);
  ASSERT_LE(sample.problems.listed().size(), PageProblems::kMaxListed);
}

TEST(ExpositionParserProperty, ValidPagesAreReadBackExactly) {
  PageWriter writer(20261201);
  std::size_t samples = 0;
  for (int round = 0; round < 1500; ++round) {
    const std::string page = writer.write();
    const std::vector<ReadSample> read = read_samples(page);
    ASSERT_EQ(read.size(), writer.samples.size()) << page;
    for (std::size_t i = 0; i < read.size(); ++i) expect_same(read[i], writer.samples[i], page);
    if (HasFailure()) return;
    samples += read.size();
  }
  EXPECT_GT(samples, 10000u);
}

TEST(ExpositionParserProperty, DamagedPagesDoNoHarm) {
  std::mt19937 random(18);
  std::vector<std::string> pages;
  for (const char* name : kPages) pages.push_back(read_page_file(name));
  pages.back().resize(2000);
  const std::string pieces =
      "{}\"\\,=# \t\r\n\0"
      "1eNaN-+.:_\xff";
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  for (int round = 0; round < 20000 && std::chrono::steady_clock::now() < deadline; ++round) {
    std::string page = pages[random() % pages.size()];
    for (std::size_t edits = 1 + random() % 8; edits > 0 && !page.empty(); --edits) {
      const std::size_t at = random() % page.size();
      switch (random() % 4) {
        case 0:
          page[at] = static_cast<char>(random() & 0xff);
          break;
        case 1:
          page.insert(at, 1, pieces[random() % pieces.size()]);
          break;
        case 2:
          page.erase(at, 1 + random() % 20);
          break;
        default:
          page.insert(at, page, random() % page.size(), random() % 60);
          break;
      }
    }
    // A copy without slack behind it, so that a sanitizer sees a read past the end.
    const std::vector<char> exact(page.begin(), page.end());
    expect_harmless({exact.data(), exact.size()});
    if (HasFatalFailure()) FAIL() << "round " << round << "\n" << page;
  }
}

TEST(ExpositionParserProperty, ATruncatedPageLosesOnlyItsEnd) {
  for (const char* name : kPages) {
    const std::string page = read_page_file(name);
    const std::vector<ReadSample> whole = read_samples(page);
    for (std::size_t size = 0; size <= page.size(); ++size) {
      const std::vector<char> exact(page.begin(), page.begin() + static_cast<std::ptrdiff_t>(size));
      const std::vector<ReadSample> read = read_samples({exact.data(), exact.size()});
      const auto lines = static_cast<std::size_t>(std::count(exact.begin(), exact.end(), '\n'));
      ASSERT_LE(read.size(), whole.size());
      for (std::size_t i = 0; i < read.size(); ++i) {
        ASSERT_EQ(read[i].line, whole[i].line) << name << " cut at " << size;
        if (read[i].line > lines) continue;  // the line that was cut
        ASSERT_EQ(read[i].fault, whole[i].fault) << name << " cut at " << size;
        ASSERT_EQ(read[i].labels, whole[i].labels) << name << " cut at " << size;
        ASSERT_TRUE(same_value(read[i].value, whole[i].value)) << name << " cut at " << size;
      }
      for (std::size_t i = read.size(); i < whole.size(); ++i) ASSERT_GT(whole[i].line, lines);
      expect_harmless({exact.data(), exact.size()});
    }
  }
}

}  // namespace
}  // namespace pd
