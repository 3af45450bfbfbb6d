#include "framework/select/prefill_scoring.h"

#include <cmath>

#include "framework/select/batch_scoring.h"
#include "framework/select/load_gather.h"

namespace pd {

void drop_overloaded(CandidateTable& prefill, double stddev_factor) {
  double sum = 0;
  double count = 0;
  for (std::uint32_t row = 0; row < prefill.size(); ++row) {
    if (prefill.drops[row] != Drop::kNone) continue;
    sum += prefill.requests[row];
    ++count;
  }
  if (count < 2) return;
  const double mean = sum / count;
  double squares = 0;
  for (std::uint32_t row = 0; row < prefill.size(); ++row) {
    if (prefill.drops[row] != Drop::kNone) continue;
    squares += (prefill.requests[row] - mean) * (prefill.requests[row] - mean);
  }
  const double limit = mean + stddev_factor * std::sqrt(squares / (count - 1));
  for (std::uint32_t row = 0; row < prefill.size(); ++row) {
    if (prefill.drops[row] == Drop::kNone && prefill.requests[row] > limit) {
      prefill.drops[row] = Drop::kOverload;
    }
  }
}

bool PrefillScoring::score(std::size_t rolesets) {
  CandidateTable& table = scratch_.prefill;
  fill_batch();
  PluginMessage message;
  const PrefillScorePolicy& policy = policies_.prefill();
  auto by_policy = [&](pd_scores& scores) {
    scorer_ = policy.prepare(scratch_.request, batch_, message);
    return scorer_ && scorer_->score(scores, message);
  };
  auto by_fallback = [&](pd_scores& scores) {
    auto scorer = policies_.prefill_fallback().prepare(scratch_.request, batch_, message);
    return scorer && scorer->score(scores, message);
  };
  const bool fallback_used =
      score_batch(scratch_.prefill_batch, table, policy.instance(), by_policy, by_fallback, tag_);
  pick_best(table, rolesets, context_);
  return fallback_used;
}

void PrefillScoring::fill_batch() {
  BatchColumns& batch = scratch_.prefill_batch;
  const CandidateTable& table = scratch_.prefill;
  gather_rows(batch, table, fleet_.generation(),
              [](const CandidateTable&, std::uint32_t) { return true; });
  gather_load_columns(batch, table, policies_.uses(), fleet_, context_.now_ns, settings_);
  batch.requests.clear();
  for (const std::uint32_t row : batch.rows) batch.requests.push_back(table.requests[row]);
  batch_ = pd_prefill_batch{};
  batch_.struct_size = sizeof(pd_prefill_batch);
  batch_.candidates = &batch.candidates;
  batch_.request_counts = batch.requests.data();
  batch_.max_request_count = table.max_requests;
  if (policies_.uses() & PD_USES_PREFIX) match_prefix();
}

void PrefillScoring::match_prefix() {
  BatchColumns& batch = scratch_.prefill_batch;
  CandidateTable& table = scratch_.prefill;
  const std::size_t total = context_.block_hashes.size();
  batch.matched.assign(batch.rows.size(), 0);
  if (context_.prefix != nullptr) {
    context_.prefix->match(context_.block_hashes, batch.pods, batch.matched.data());
  }
  table.match_percent.assign(table.size(), 0);
  batch.match_percent.clear();
  batch.matched_blocks.clear();
  batch.matched_bytes.clear();
  for (std::size_t i = 0; i < batch.rows.size(); ++i) {
    const double percent = match_percent(static_cast<std::uint32_t>(batch.matched[i]), total);
    batch.match_percent.push_back(percent);
    batch.matched_blocks.push_back(static_cast<double>(batch.matched[i]));
    batch.matched_bytes.push_back(static_cast<double>(context_.prompt_bytes) * percent / 100.0);
    table.match_percent[batch.rows[i]] = percent;
  }
  batch_.match_percent = batch.match_percent.data();
  batch_.matched_blocks = batch.matched_blocks.data();
  batch_.matched_bytes = batch.matched_bytes.data();
}

void PrefillScoring::finish(const pd_choice* choice) {
  if (!scorer_ || choice == nullptr) {
    context_.block_hashes.clear();
  } else if (const auto hashes = scorer_->prefix_hashes(*choice);
             hashes.data() != context_.block_hashes.data()) {
    // The usual answer is the host's own list, which stays as it is.
    context_.block_hashes.assign(hashes.begin(), hashes.end());
  }
  if (scorer_) scorer_->release(choice);
}

}  // namespace pd
