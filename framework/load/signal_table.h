// From a page of metrics to an EngineSample, by a table that says which series feeds which column.
// One such table per engine lives in <engine>_signals.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "framework/load/engine_sample.h"

namespace pd {

// How the series of several data-parallel ranks become one value.
enum class RankRule : std::uint8_t { kSum, kHighest };

// What a usable value is; anything else is missing. All are finite.
enum class ValueRange : std::uint8_t {
  kNotNegative,
  kPositive,
  kShare,  // 0..1; a hair outside, as rounding makes it, is taken as the bound
};

struct SignalRule {
  std::string_view series = {};        // exact name of the sample
  std::string_view number_label = {};  // empty: the sample's value; else the number in this label
  double EngineSample::*column = nullptr;
  RankRule ranks = RankRule::kSum;
  ValueRange range = ValueRange::kNotNegative;
};

struct SignalTable {
  static constexpr std::size_t kMaxRules = 24;

  std::span<const SignalRule> rules;  // at most kMaxRules; of two with one column the first that
                                      // found a value wins
  std::string_view model_label;       // empty: the engine has no such label
  std::string_view rank_label;        // empty: the engine has no such label
};

// Which series count. Names are compared whole, slashes and all.
struct ModelScope {
  std::string_view model;   // the model that is asked about
  std::string_view of_pod;  // the pod's own: it owns series whose model label is absent, "" or
                            // "undefined"
};

// Reads `page` into `sample`, whose old content is discarded. Whatever the page does not tell is
// NaN. Never fails: lines and values that cannot be used are counted in sample.problems. `page` is
// untrusted; its size is the caller's to limit, and it must be a whole body (see ExpositionParser).
// Threads: any, as long as nobody else uses `sample`.
void read_signals(const SignalTable& table, std::string_view page, const ModelScope& scope,
                  EngineSample& sample);

}  // namespace pd
