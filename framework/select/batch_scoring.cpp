#include "framework/select/batch_scoring.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

namespace pd {
namespace {

constexpr double kUnscored = std::numeric_limits<double>::quiet_NaN();

bool is_usable(double score) {
  return !std::isnan(score) && score != -std::numeric_limits<double>::infinity();
}

// Runs one call into fresh scores. All scores are void when the policy reports an error.
bool run(ScoreCall call, std::uint32_t count, std::uint32_t reason_count,
         std::vector<double>& values, std::vector<std::uint32_t>& reasons, std::uint64_t& tag) {
  values.assign(count, kUnscored);
  reasons.assign(count, 0);
  pd_scores scores{sizeof(pd_scores), count, values.data(), reasons.data(), 0};
  const bool ok = call(scores);
  if (!ok) {
    values.assign(count, kUnscored);
    reasons.assign(count, 0);
  }
  // A reason that the policy never published is no reason: the pod counts as not scored.
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    if (reasons[i] <= reason_count) continue;
    reasons[i] = 0;
    values[i] = kUnscored;
  }
  tag = scores.tag;
  return ok;
}

std::uint64_t elapsed_ns(std::chrono::steady_clock::time_point since) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - since)
          .count());
}

// Replaces unusable scores by the fallback's. Gives true when it replaced one.
bool fall_back(BatchColumns& batch, ScoreCall fallback) {
  std::uint64_t unused_tag = 0;
  run(fallback, static_cast<std::uint32_t>(batch.rows.size()), UINT32_MAX, batch.fallback_values,
      batch.fallback_reasons, unused_tag);
  bool replaced = false;
  for (std::size_t i = 0; i < batch.rows.size(); ++i) {
    if (batch.reasons[i] != 0 || is_usable(batch.values[i])) continue;
    if (batch.fallback_reasons[i] != 0 || !is_usable(batch.fallback_values[i])) continue;
    batch.values[i] = batch.fallback_values[i];
    replaced = true;
  }
  return replaced;
}

void write_back(const BatchColumns& batch, CandidateTable& table) {
  for (std::size_t i = 0; i < batch.rows.size(); ++i) {
    const std::uint32_t row = batch.rows[i];
    if (batch.reasons[i] != 0) {
      table.drops[row] = Drop::kExcluded;
      table.reasons[row] = batch.reasons[i];
    } else if (!is_usable(batch.values[i])) {
      table.drops[row] = Drop::kNan;
    } else {
      table.scores[row] = batch.values[i];
    }
  }
}

}  // namespace

void gather_rows(BatchColumns& batch, const CandidateTable& table, std::uint64_t fleet_generation,
                 bool (*wanted)(const CandidateTable& table, std::uint32_t row)) {
  batch.rows.clear();
  batch.pods.clear();
  for (std::uint32_t row = 0; row < table.size(); ++row) {
    if (table.drops[row] != Drop::kNone || !wanted(table, row)) continue;
    batch.rows.push_back(row);
    batch.pods.push_back(&table.pods[row]->abi);
  }
  batch.candidates =
      pd_candidates{sizeof(pd_candidates), static_cast<std::uint32_t>(batch.rows.size()),
                    batch.pods.data(), &batch.load, fleet_generation};
}

bool score_batch(BatchColumns& batch, CandidateTable& table, const PolicyInstance& policy,
                 ScoreCall score, ScoreCall fallback, std::uint64_t& tag) {
  const auto count = static_cast<std::uint32_t>(batch.rows.size());
  if (count == 0) return false;
  PolicyCounters& counters = policy.counters();
  const auto start = std::chrono::steady_clock::now();
  const bool ok = run(score, count, policy.reason_count(), batch.values, batch.reasons, tag);
  counters.nanoseconds.fetch_add(elapsed_ns(start), std::memory_order_relaxed);
  counters.calls.fetch_add(1, std::memory_order_relaxed);
  if (!ok) counters.errors.fetch_add(1, std::memory_order_relaxed);

  std::uint64_t invalid = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (batch.reasons[i] == 0 && !is_usable(batch.values[i])) ++invalid;
  }
  bool fallback_used = false;
  if (invalid > 0) {
    counters.invalid_scores.fetch_add(invalid, std::memory_order_relaxed);
    fallback_used = fall_back(batch, fallback);
    if (fallback_used) counters.fallbacks.fetch_add(1, std::memory_order_relaxed);
  }
  write_back(batch, table);
  return fallback_used;
}

void pick_best(CandidateTable& table, std::size_t rolesets, RoutingContext& context) {
  table.picks.assign(rolesets, RolesetPick{});
  table.max_score = 0;
  for (std::uint32_t row = 0; row < table.size(); ++row) {
    const double score = table.scores[row];
    if (std::isnan(score)) continue;
    if (std::isfinite(score)) table.max_score = std::max(table.max_score, score);
    RolesetPick& pick = table.picks[table.pods[row]->roleset];
    if (pick.row == RolesetPick::kNone || score < pick.score) {
      pick = {row, score, 1};
    } else if (score == pick.score) {
      ++pick.equals;
      // Reservoir sampling: every one of the equals is kept with the same chance.
      if (context.shuffle && context.stream(RandomStream::kRouter).below(pick.equals) == 0) {
        pick.row = row;
      }
    }
  }
}

}  // namespace pd
