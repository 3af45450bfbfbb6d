// Reads the series that policies asked for (pd.metrics/1) off a metrics page.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "framework/load/wanted_series.h"

namespace pd {

// One value for each of `wanted`, in that order: combined over all samples that carry its labels,
// NaN where the page has none. `page` is untrusted and whole. Pure.
std::vector<double> read_wanted_series(std::string_view page, std::span<const WantedSeries> wanted);

}  // namespace pd
