#include "framework/load/signal_table.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <functional>

#include "framework/load/exposition_parser.h"

namespace pd {
namespace {

constexpr std::string_view kNotANumber = "the value is NaN and counts as missing";
constexpr std::string_view kOutOfRange =
    "the value is outside the signal's range and counts as missing";
constexpr std::string_view kNoNumberInLabel =
    "the label that holds the number is absent or not a number; it counts as missing";
constexpr std::string_view kOtherModel =
    "no series of the page belongs to this pod's model; the page tells of this one";
constexpr std::string_view kUnevenRanks =
    "sum and count of the prefill time come from different ranks; the mean counts as missing";

// Rounding in the engine's own division, nothing else, may leave 0..1.
constexpr double kShareSlack = 1e-6;

// What the series of one rule have told so far.
struct Gathered {
  double value = 0;
  std::uint32_t used = 0;
  std::uint32_t unusable = 0;
  std::uint64_t sources = 0;
};

using GatheredRules = std::array<Gathered, SignalTable::kMaxRules>;

bool fit_into_range(ValueRange range, double& value) {
  if (!std::isfinite(value)) return false;
  switch (range) {
    case ValueRange::kNotNegative:
      return value >= 0;
    case ValueRange::kPositive:
      return value > 0;
    case ValueRange::kShare:
      if (value < -kShareSlack || value > 1 + kShareSlack) return false;
      value = std::clamp(value, 0.0, 1.0);
      return true;
  }
  return false;
}

// The same for the same set of ranks, in whatever order the page lists them. Never 0 for one rank.
std::uint64_t source_of(const ExpositionLabel* rank) {
  const std::string_view name = rank == nullptr ? std::string_view() : rank->value.raw;
  return (std::hash<std::string_view>{}(name)*0x9E3779B97F4A7C15u) | 1u;
}

class SignalReader {
 public:
  SignalReader(const SignalTable& table, const ModelScope& scope, EngineSample& sample)
      : table_(table), scope_(scope), sample_(sample) {
    assert(table.rules.size() <= SignalTable::kMaxRules);
  }

  void read(std::string_view page) {
    ExpositionParser parser(page);
    for (auto step = parser.next(); step != ExpositionParser::Step::kEnd; step = parser.next()) {
      if (step == ExpositionParser::Step::kBadLine) {
        skip_bad_line(parser);
      } else {
        gather(parser.sample());
      }
    }
    fill_columns();
    fill_prefill_mean();
  }

 private:
  void skip_bad_line(const ExpositionParser& parser) {
    const ExpositionSample& bad = parser.sample();
    sample_.problems.add(bad.name.raw, bad.line, describe(parser.fault()));
    for_rules_of(bad, [](const SignalRule&, Gathered& gathered) { ++gathered.unusable; });
  }

  void gather(const ExpositionSample& series) {
    for_rules_of(series, [&](const SignalRule& rule, Gathered& gathered) {
      double value = series.value;
      if (!rule.number_label.empty()) {
        const ExpositionLabel* label = series.find_label(rule.number_label);
        if (label == nullptr || !read_exposition_number(label->value.raw, value)) {
          return reject(series, kNoNumberInLabel, gathered);
        }
      }
      if (std::isnan(value)) return reject(series, kNotANumber, gathered);
      if (!fit_into_range(rule.range, value)) return reject(series, kOutOfRange, gathered);
      take(series, rule, value, gathered);
    });
  }

  void reject(const ExpositionSample& series, std::string_view reason, Gathered& gathered) {
    ++gathered.unusable;
    sample_.problems.add(series.name.raw, series.line, reason);
  }

  void take(const ExpositionSample& series, const SignalRule& rule, double value,
            Gathered& gathered) {
    const bool sums = rule.ranks == RankRule::kSum;
    const double joined = sums ? gathered.value + value : std::max(gathered.value, value);
    if (!std::isfinite(joined)) return reject(series, kOutOfRange, gathered);
    gathered.value = joined;
    ++gathered.used;
    gathered.sources +=
        table_.rank_label.empty() ? 1 : source_of(series.find_label(table_.rank_label));
  }

  // Calls `use(rule, gathered)` for each rule that the series feeds, if it is about our model.
  template <typename Use>
  void for_rules_of(const ExpositionSample& series, Use use) {
    for (std::size_t i = 0; i < table_.rules.size(); ++i) {
      if (!series.name.equals(table_.rules[i].series)) continue;
      if (!is_in_scope(series)) return;
      use(table_.rules[i], gathered_[i]);
    }
  }

  // A series whose labels could not be read counts as ours: better marked partial than believed.
  bool is_in_scope(const ExpositionSample& series) {
    const ExpositionLabel* label =
        table_.model_label.empty() ? nullptr : series.find_label(table_.model_label);
    const bool belongs_to_pod =
        label == nullptr || label->value.raw.empty() || label->value.equals("undefined");
    const bool in_scope =
        belongs_to_pod ? scope_.model == scope_.of_pod : label->value.equals(scope_.model);
    if (!belongs_to_pod && in_scope) model_seen_ = true;
    if (!belongs_to_pod && !in_scope && other_model_.empty()) other_model_ = label->value.raw;
    return in_scope;
  }

  void fill_columns() {
    for (std::size_t i = 0; i < table_.rules.size(); ++i) {
      const SignalRule& rule = table_.rules[i];
      const Gathered& gathered = gathered_[i];
      if (gathered.used == 0 || !std::isnan(sample_.*rule.column)) continue;
      sample_.*rule.column = gathered.value;
      if (gathered.unusable > 0) sample_.partial = true;
      if (rule.column == &EngineSample::generated_tokens_total) {
        sample_.generated_tokens_sources = gathered.sources;
      } else if (rule.column == &EngineSample::prefill_seconds_sum) {
        prefill_sum_sources_ = gathered.sources;
      } else if (rule.column == &EngineSample::prefill_seconds_count) {
        prefill_count_sources_ = gathered.sources;
      }
    }
    if (!model_seen_ && !other_model_.empty()) sample_.problems.add(other_model_, 0, kOtherModel);
  }

  void fill_prefill_mean() {
    if (std::isnan(sample_.prefill_seconds_sum) || !(sample_.prefill_seconds_count > 0)) return;
    if (prefill_sum_sources_ != prefill_count_sources_) {
      sample_.problems.add({}, 0, kUnevenRanks);
      return;
    }
    const double mean_ms = sample_.prefill_seconds_sum / sample_.prefill_seconds_count * 1000;
    if (std::isfinite(mean_ms)) sample_.prefill_time_ms = mean_ms;
  }

  const SignalTable& table_;
  const ModelScope& scope_;
  EngineSample& sample_;
  GatheredRules gathered_;
  std::uint64_t prefill_sum_sources_ = 0;
  std::uint64_t prefill_count_sources_ = 0;
  bool model_seen_ = false;
  std::string_view other_model_;
};

void forget(EngineSample& sample) {
  PageProblems problems = std::move(sample.problems);  // keeps its memory
  problems.clear();
  sample = {};
  sample.problems = std::move(problems);
}

}  // namespace

void read_signals(const SignalTable& table, std::string_view page, const ModelScope& scope,
                  EngineSample& sample) {
  forget(sample);
  SignalReader(table, scope, sample).read(page);
}

}  // namespace pd
