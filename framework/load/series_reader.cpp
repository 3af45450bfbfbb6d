#include "framework/load/series_reader.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "framework/load/exposition_parser.h"
#include "pd/abi.h"

namespace pd {
namespace {

bool carries_labels(const ExpositionSample& sample, const WantedSeries& wanted) {
  return std::all_of(wanted.labels.begin(), wanted.labels.end(), [&](const auto& label) {
    const ExpositionLabel* found = sample.find_label(label.first);
    return found != nullptr && found->value.equals(label.second);
  });
}

double combined(std::uint32_t combine, double before, double value) {
  if (std::isnan(before)) return value;
  switch (combine) {
    case PD_METRIC_MAX:
      return std::max(before, value);
    case PD_METRIC_MIN:
      return std::min(before, value);
    default:
      return before + value;
  }
}

}  // namespace

std::vector<double> read_wanted_series(std::string_view page,
                                       std::span<const WantedSeries> wanted) {
  std::vector<double> values(wanted.size(), std::numeric_limits<double>::quiet_NaN());
  if (wanted.empty()) return values;
  ExpositionParser parser(page);
  for (auto step = parser.next(); step != ExpositionParser::Step::kEnd; step = parser.next()) {
    if (step != ExpositionParser::Step::kSample || !std::isfinite(parser.sample().value)) continue;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const bool meant =
          parser.sample().name.equals(wanted[i].name) && carries_labels(parser.sample(), wanted[i]);
      if (meant) values[i] = combined(wanted[i].combine, values[i], parser.sample().value);
    }
  }
  return values;
}

}  // namespace pd
