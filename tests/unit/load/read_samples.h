// A whole page read into values that tests can compare.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/load/exposition_parser.h"

namespace pd {

struct ReadSample {
  std::string name;
  std::vector<std::pair<std::string, std::string>> labels;
  double value = 0;
  SeriesKind kind = SeriesKind::kUnknown;
  LineFault fault = LineFault::kNone;
  std::size_t line = 0;
};

inline std::string meaning_of(const ExpositionText& text) {
  std::string out;
  text.append_to(out);
  return out;
}

// Samples and bad lines in the order of the page.
inline std::vector<ReadSample> read_samples(std::string_view page) {
  std::vector<ReadSample> samples;
  ExpositionParser parser(page);
  for (auto step = parser.next(); step != ExpositionParser::Step::kEnd; step = parser.next()) {
    const ExpositionSample& sample = parser.sample();
    ReadSample& read = samples.emplace_back();
    read.name = meaning_of(sample.name);
    for (const ExpositionLabel& label : sample.labels) {
      read.labels.emplace_back(meaning_of(label.name), meaning_of(label.value));
    }
    read.value = sample.value;
    read.kind = sample.kind;
    read.fault = parser.fault();
    read.line = sample.line;
  }
  return samples;
}

}  // namespace pd
