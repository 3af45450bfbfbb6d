// Reads a page of metrics as engines serve it: the Prometheus text format 0.0.4 and
// OpenMetrics 1.0, told apart by nothing, because engines send either one under either content
// type.
//
//   ExpositionParser parser(page);
//   for (auto step = parser.next(); step != ExpositionParser::Step::kEnd; step = parser.next()) {
//     if (step == ExpositionParser::Step::kSample) use(parser.sample());
//   }
//
// A line that cannot be read costs that line only. Nothing is allocated; everything handed out is a
// view into the page, which must outlive the parser. A page cut in the middle of a number cannot be
// told from a whole one without a last newline: hand over complete bodies only.
// Threads: a parser belongs to one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace pd {

/// A name or label value as it stands on the page. Untrusted bytes, not checked to be UTF-8.
struct ExpositionText {
  std::string_view raw;  ///< without the quotes, escapes as written
  bool escaped = false;  ///< raw holds a backslash

  /// True if the text means `text`. Allocates nothing.
  bool equals(std::string_view text) const;
  /// Appends the meaning: \n \" \\ replaced, any other escape kept as written.
  void append_to(std::string& out) const;
};

struct ExpositionLabel {
  ExpositionText name;
  ExpositionText value;
};

/// From the `# TYPE` line right above the series; kUnknown where there is none.
enum class SeriesKind : std::uint8_t {
  kUnknown,
  kCounter,
  kGauge,
  kHistogram,
  kSummary,
  kGaugeHistogram,
  kInfo,
  kStateSet,
};

/// Why a line was not read.
enum class LineFault : std::uint8_t {
  kNone,
  kName,           ///< no metric name, or a second one
  kLabels,         ///< the label block does not follow the grammar or has no end
  kTooManyLabels,  ///< more than ExpositionParser::kMaxLabels
  kValue,          ///< not a decimal number, Inf or NaN, or beyond the range of a double
  kTimestamp,      ///< text between value and line end that is no finite number
  kTrailing,       ///< text after the timestamp that is no exemplar
};

/// One sentence for operators; a literal.
std::string_view describe(LineFault fault);

struct ExpositionSample {
  ExpositionText name;
  std::span<const ExpositionLabel> labels;
  double value = 0;  ///< may be NaN or infinite: both are legal in the format
  SeriesKind kind = SeriesKind::kUnknown;
  std::size_t line = 0;  ///< from 1

  /// The first label of that name, or null.
  const ExpositionLabel* find_label(std::string_view label_name) const;
};

class ExpositionParser {
 public:
  /// vLLM's widest series has 37; a sample with more than this is a bad line.
  static constexpr std::size_t kMaxLabels = 128;

  enum class Step : std::uint8_t { kSample, kBadLine, kEnd };

  /// The size of the page is the caller's to limit; time is linear in it.
  explicit ExpositionParser(std::string_view page) : rest_(page) {}
  ExpositionParser(const ExpositionParser&) = delete;
  ExpositionParser& operator=(const ExpositionParser&) = delete;

  /// Goes to the next sample or bad line; comments are passed over. kEnd at the page's end and
  /// after
  /// `# EOF`, and from then on.
  Step next();

  /// What next() stopped at; valid until the next call. At a bad line the name is what could be
  /// read of it (maybe empty) and the labels are there if only what follows them is bad.
  const ExpositionSample& sample() const { return sample_; }

  /// Why next() returned kBadLine; kNone otherwise.
  LineFault fault() const { return fault_; }

 private:
  bool take_line(std::string_view& line);
  void read_comment(std::string_view line);
  LineFault read_sample(std::string_view line);
  LineFault read_labels(std::string_view& rest);
  LineFault read_label_or_name(std::string_view& rest);
  SeriesKind kind_of_sample() const;

  std::string_view rest_;
  std::size_t line_ = 0;
  std::string_view family_;  // of the last # TYPE line, as written
  SeriesKind family_kind_ = SeriesKind::kUnknown;
  ExpositionSample sample_;
  LineFault fault_ = LineFault::kNone;
  std::size_t label_count_ = 0;
  std::array<ExpositionLabel, kMaxLabels> labels_;
};

/// Reads a number of the format: decimal with optional sign and exponent, [+-]Inf, [+-]Infinity,
/// NaN, letters in any case. False for anything else: hexadecimal, signed NaN (some engines print
/// one), and numbers too large for a double. Too small ones become 0.
bool read_exposition_number(std::string_view text, double& value);

}  // namespace pd
