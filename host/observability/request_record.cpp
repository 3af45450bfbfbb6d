#include "host/observability/request_record.h"

namespace pd {
namespace {

StageRecord record_stage(const CandidateTable& table, const PolicyEntry& policy) {
  StageRecord record;
  record.pods.reserve(table.size());
  for (const Pod* pod : table.pods) record.pods.push_back(pod->index);
  record.drops = table.drops;
  record.scores = table.scores;
  record.requests = table.requests;
  record.match_percent = table.match_percent;
  record.running = table.running;
  record.pending = table.pending;
  record.throughput = table.throughput;
  record.free_gpu_percent = table.free_gpu_percent;
  record.drain_rate = table.drain_rate;
  record.max_score = table.max_score;
  for (std::uint32_t row = 0; row < table.size(); ++row) {
    const std::uint32_t reason = table.reasons[row];
    if (table.drops[row] != Drop::kExcluded) continue;
    record.exclusions.emplace_back(
        row, reason <= policy.reasons.size() ? policy.reasons[reason - 1] : "no such reason");
  }
  return record;
}

std::size_t memory_of(const StageRecord& stage) {
  constexpr std::size_t kBytesPerPod = 4 + 1 + 8 * 8;
  return stage.pods.size() * kBytesPerPod;
}

std::string_view kind_name(SelectErrorKind kind) {
  switch (kind) {
    case SelectErrorKind::kUnknownModel: return "bad_request";
    case SelectErrorKind::kMixedEngines: return "mixed_engines";
    case SelectErrorKind::kNoPrefill: return "no_prefill";
    case SelectErrorKind::kNoDecode: return "no_decode";
  }
  return "";
}

}  // namespace

std::size_t DecisionRecord::memory() const {
  return sizeof(DecisionRecord) + memory_of(prefill) + memory_of(decode) +
         not_candidates.size() * sizeof(not_candidates[0]) + finals.size() * sizeof(double);
}

DecisionRecord record_decision(std::shared_ptr<const Fleet> fleet, const std::string& model,
                               const PolicySet& policies, const RoutingContext& context,
                               const SelectScratch& scratch, const Decision* decision,
                               const SelectError* error) {
  DecisionRecord record;
  record.fleet = std::move(fleet);
  record.model = model;
  record.policies = policies.label();
  record.attempt = context.attempt;
  if (error != nullptr) {
    record.error_kind = kind_name(error->kind);
    record.error = error->message;
    if (error->kind == SelectErrorKind::kUnknownModel) return record;  // nothing was looked at
    if (error->kind == SelectErrorKind::kMixedEngines) return record;
  }
  if (decision != nullptr) record.decision = *decision;
  record.prefill = record_stage(scratch.prefill, policies.prefill().entry());
  record.decode = record_stage(scratch.decode, policies.decode().entry());
  for (const auto& [pod, drop] : scratch.not_candidates) {
    record.not_candidates.emplace_back(pod->index, drop);
  }
  if (decision != nullptr) record.finals = scratch.finals;
  return record;
}

}  // namespace pd
