#include "framework/load/exposition_parser.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

namespace pd {
namespace {

enum CharClass : std::uint8_t { kNameStart = 1, kNameRest = 2, kLabelStart = 4, kLabelRest = 8 };

constexpr std::array<std::uint8_t, 256> make_char_classes() {
  std::array<std::uint8_t, 256> classes{};
  for (unsigned c = 0; c < 256; ++c) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    const bool digit = c >= '0' && c <= '9';
    if (letter) classes[c] = kNameStart | kNameRest | kLabelStart | kLabelRest;
    if (digit) classes[c] = kNameRest | kLabelRest;
    if (c == ':') classes[c] = kNameStart | kNameRest;
  }
  return classes;
}

constexpr std::array<std::uint8_t, 256> kCharClasses = make_char_classes();

bool is_class(char c, CharClass wanted) {
  return (kCharClasses[static_cast<unsigned char>(c)] & wanted) != 0;
}

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

void skip_blanks(std::string_view& rest) {
  while (!rest.empty() && is_blank(rest.front())) rest.remove_prefix(1);
}

bool take_char(std::string_view& rest, char wanted) {
  if (rest.empty() || rest.front() != wanted) return false;
  rest.remove_prefix(1);
  return true;
}

std::string_view take_prefix(std::string_view& rest, std::size_t size) {
  const std::string_view prefix = rest.substr(0, size);
  rest.remove_prefix(size);
  return prefix;
}

std::string_view take_word(std::string_view& rest) {
  std::size_t size = 0;
  while (size < rest.size() && !is_blank(rest[size])) ++size;
  return take_prefix(rest, size);
}

// Empty if no such name starts here.
std::string_view take_name(std::string_view& rest, CharClass start, CharClass further) {
  if (rest.empty() || !is_class(rest.front(), start)) return {};
  std::size_t size = 1;
  while (size < rest.size() && is_class(rest[size], further)) ++size;
  return take_prefix(rest, size);
}

// The opening quote is taken already; false without a closing one.
bool take_quoted(std::string_view& rest, ExpositionText& text) {
  text.escaped = false;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    if (rest[i] == '"') {
      text.raw = rest.substr(0, i);
      rest.remove_prefix(i + 1);
      return true;
    }
    if (rest[i] == '\\') {
      text.escaped = true;
      ++i;
    }
  }
  return false;
}

// Calls `on_char` for each character of the meaning until it returns false.
template <typename OnChar>
bool for_each_char(std::string_view raw, OnChar on_char) {
  for (std::size_t i = 0; i < raw.size(); ++i) {
    char c = raw[i];
    if (c == '\\' && i + 1 < raw.size()) {
      const char next = raw[i + 1];
      if (next == 'n' || next == '"' || next == '\\') {
        c = next == 'n' ? '\n' : next;
        ++i;
      }
    }
    if (!on_char(c)) return false;
  }
  return true;
}

SeriesKind kind_of_word(std::string_view word) {
  if (word == "counter") return SeriesKind::kCounter;
  if (word == "gauge") return SeriesKind::kGauge;
  if (word == "histogram") return SeriesKind::kHistogram;
  if (word == "summary") return SeriesKind::kSummary;
  if (word == "gaugehistogram") return SeriesKind::kGaugeHistogram;
  if (word == "info") return SeriesKind::kInfo;
  if (word == "stateset") return SeriesKind::kStateSet;
  return SeriesKind::kUnknown;
}

bool suffix_belongs_to(SeriesKind kind, std::string_view suffix) {
  if (suffix.empty()) return true;
  const bool sums = suffix == "_sum" || suffix == "_count" || suffix == "_created";
  switch (kind) {
    case SeriesKind::kCounter:
      return suffix == "_total" || suffix == "_created";
    case SeriesKind::kHistogram:
      return sums || suffix == "_bucket";
    case SeriesKind::kSummary:
      return sums;
    case SeriesKind::kGaugeHistogram:
      return suffix == "_bucket" || suffix == "_gsum" || suffix == "_gcount";
    case SeriesKind::kInfo:
      return suffix == "_info";
    default:
      return false;
  }
}

// `lower` in lower case.
bool equals_any_case(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(), [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  });
}

// For a number that is out of range: true if it is so because it is small. `digits` has passed
// from_chars, so it is digits with at most one point and maybe an exponent.
bool is_below_one(std::string_view digits) {
  const std::size_t exponent_at = digits.find_first_of("eE");
  const std::string_view mantissa = digits.substr(0, exponent_at);
  const std::size_t first = mantissa.find_first_not_of("0.");
  const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  if (first == std::string_view::npos) return true;
  // Power of ten of the first digit that counts, give or take one: out of range is hundreds away.
  const long long magnitude = static_cast<long long>(point) - static_cast<long long>(first);
  if (exponent_at == std::string_view::npos) return magnitude <= 0;
  std::string_view exponent = digits.substr(exponent_at + 1);
  if (!exponent.empty() && exponent.front() == '+') exponent.remove_prefix(1);
  long long power = 0;
  const auto read = std::from_chars(exponent.data(), exponent.data() + exponent.size(), power);
  if (read.ec == std::errc::result_out_of_range) return exponent.front() == '-';
  // A page is far smaller than 2^62 bytes, so only the exponent can make this overflow.
  if (power > std::numeric_limits<long long>::max() / 2) return false;
  if (power < std::numeric_limits<long long>::min() / 2) return true;
  return magnitude + power <= 0;
}

}  // namespace

bool read_exposition_number(std::string_view text, double& value) {
  const bool negative = !text.empty() && text.front() == '-';
  const bool has_sign = negative || (!text.empty() && text.front() == '+');
  const std::string_view number = text.substr(has_sign ? 1 : 0);
  if (number.empty()) return false;

  double magnitude = 0;
  if (number.front() == '.' || (number.front() >= '0' && number.front() <= '9')) {
    const auto read = std::from_chars(number.data(), number.data() + number.size(), magnitude);
    if (read.ec == std::errc::invalid_argument) return false;
    if (read.ptr != number.data() + number.size()) return false;
    if (read.ec == std::errc::result_out_of_range) {
      if (!is_below_one(number)) return false;
      magnitude = 0;
    }
    if (std::isinf(magnitude)) return false;
  } else if (equals_any_case(number, "inf") || equals_any_case(number, "infinity")) {
    magnitude = std::numeric_limits<double>::infinity();
  } else if (!has_sign && equals_any_case(number, "nan")) {
    magnitude = std::numeric_limits<double>::quiet_NaN();
  } else {
    return false;
  }
  value = negative ? -magnitude : magnitude;
  return true;
}

std::string_view describe(LineFault fault) {
  switch (fault) {
    case LineFault::kNone:
      return "the line is in order";
    case LineFault::kName:
      return "the line has no metric name, or two";
    case LineFault::kLabels:
      return "the labels do not follow the format {name=\"value\",...}";
    case LineFault::kTooManyLabels:
      static_assert(ExpositionParser::kMaxLabels == 128, "the text names the number");
      return "the series has more labels than the 128 that are read";
    case LineFault::kValue:
      return "the value is not a decimal number, +Inf, -Inf or NaN within the range of a double";
    case LineFault::kTimestamp:
      return "the text after the value is neither a timestamp nor an exemplar";
    case LineFault::kTrailing:
      return "the text after the timestamp is not an exemplar";
  }
  return "the line cannot be read";
}

bool ExpositionText::equals(std::string_view text) const {
  if (!escaped) return raw == text;
  const bool is_prefix = for_each_char(raw, [&text](char c) { return take_char(text, c); });
  return is_prefix && text.empty();
}

void ExpositionText::append_to(std::string& out) const {
  if (!escaped) {
    out.append(raw);
    return;
  }
  for_each_char(raw, [&out](char c) {
    out.push_back(c);
    return true;
  });
}

const ExpositionLabel* ExpositionSample::find_label(std::string_view label_name) const {
  for (const ExpositionLabel& label : labels) {
    if (label.name.equals(label_name)) return &label;
  }
  return nullptr;
}

ExpositionParser::Step ExpositionParser::next() {
  std::string_view line;
  while (take_line(line)) {
    std::string_view content = line;
    skip_blanks(content);
    if (content.empty()) continue;
    if (content.front() == '#') {
      if (line == "# EOF") break;
      read_comment(content);
      continue;
    }
    fault_ = read_sample(content);
    return fault_ == LineFault::kNone ? Step::kSample : Step::kBadLine;
  }
  rest_ = {};
  sample_ = {};
  fault_ = LineFault::kNone;
  return Step::kEnd;
}

bool ExpositionParser::take_line(std::string_view& line) {
  if (rest_.empty()) return false;
  const std::size_t size = std::min(rest_.find('\n'), rest_.size());
  line = rest_.substr(0, size);
  rest_.remove_prefix(std::min(size + 1, rest_.size()));
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  ++line_;
  return true;
}

// Only TYPE matters; a TYPE line that cannot be read leaves the kind unknown.
void ExpositionParser::read_comment(std::string_view line) {
  line.remove_prefix(1);
  skip_blanks(line);
  if (take_word(line) != "TYPE") return;
  skip_blanks(line);
  ExpositionText family;
  if (take_char(line, '"')) {
    if (!take_quoted(line, family)) return;
  } else {
    family.raw = take_word(line);
  }
  skip_blanks(line);
  family_ = family.raw;
  family_kind_ = kind_of_word(take_word(line));
}

LineFault ExpositionParser::read_sample(std::string_view line) {
  sample_ = {};
  sample_.line = line_;
  label_count_ = 0;
  sample_.name.raw = take_name(line, kNameStart, kNameRest);
  const bool separated = !line.empty() && is_blank(line.front());
  skip_blanks(line);
  if (take_char(line, '{')) {
    if (const LineFault fault = read_labels(line); fault != LineFault::kNone) return fault;
    if (sample_.name.raw.empty()) return LineFault::kName;
  } else if (sample_.name.raw.empty() || (!separated && !line.empty())) {
    return LineFault::kName;
  }
  sample_.labels = {labels_.data(), label_count_};
  sample_.kind = kind_of_sample();

  skip_blanks(line);
  if (!read_exposition_number(take_word(line), sample_.value)) return LineFault::kValue;
  skip_blanks(line);
  if (line.empty() || line.front() == '#') return LineFault::kNone;  // '#' begins an exemplar
  double timestamp = 0;
  if (!read_exposition_number(take_word(line), timestamp) || !std::isfinite(timestamp)) {
    return LineFault::kTimestamp;
  }
  skip_blanks(line);
  return line.empty() || line.front() == '#' ? LineFault::kNone : LineFault::kTrailing;
}

// After the opening brace, up to and with the closing one. A comma may follow the last label.
LineFault ExpositionParser::read_labels(std::string_view& rest) {
  skip_blanks(rest);
  while (!take_char(rest, '}')) {
    if (const LineFault fault = read_label_or_name(rest); fault != LineFault::kNone) return fault;
    skip_blanks(rest);
    const bool goes_on = take_char(rest, ',');
    skip_blanks(rest);
    if (!goes_on && (rest.empty() || rest.front() != '}')) return LineFault::kLabels;
  }
  return LineFault::kNone;
}

// name="value", "name"="value", or "metric name" alone.
LineFault ExpositionParser::read_label_or_name(std::string_view& rest) {
  ExpositionText name;
  const bool quoted = take_char(rest, '"');
  if (quoted) {
    if (!take_quoted(rest, name)) return LineFault::kLabels;
  } else {
    name.raw = take_name(rest, kLabelStart, kLabelRest);
  }
  if (name.raw.empty()) return LineFault::kLabels;
  skip_blanks(rest);
  if (!take_char(rest, '=')) {
    if (!quoted) return LineFault::kLabels;
    if (!sample_.name.raw.empty()) return LineFault::kName;
    sample_.name = name;
    return LineFault::kNone;
  }
  if (label_count_ == kMaxLabels) return LineFault::kTooManyLabels;
  ExpositionLabel& label = labels_[label_count_];
  skip_blanks(rest);
  if (!take_char(rest, '"') || !take_quoted(rest, label.value)) return LineFault::kLabels;
  label.name = name;
  ++label_count_;
  return LineFault::kNone;
}

SeriesKind ExpositionParser::kind_of_sample() const {
  const std::string_view name = sample_.name.raw;
  if (family_.empty() || !name.starts_with(family_)) return SeriesKind::kUnknown;
  const std::string_view suffix = name.substr(family_.size());
  return suffix_belongs_to(family_kind_, suffix) ? family_kind_ : SeriesKind::kUnknown;
}

}  // namespace pd
