#include "host/observability/request_record.h"

namespace pd {
namespace {

void append(std::vector<double>& columns, const std::vector<double>& column) {
  columns.insert(columns.end(), column.begin(), column.end());
}

StageRecord record_stage(const CandidateTable& table, const PolicyEntry& policy, bool decode) {
  constexpr std::size_t kMostColumns = 7;
  StageRecord record;
  record.decode = decode;
  record.has_match_percent = !decode && !table.match_percent.empty();
  record.max_score = table.max_score;
  record.pods.reserve(table.size());
  for (std::size_t row = 0; row < table.size(); ++row) {
    record.pods.push_back({table.pods[row]->index, table.drops[row]});
  }
  record.columns.reserve(kMostColumns * table.size());
  append(record.columns, table.scores);
  append(record.columns, table.requests);
  if (decode) {
    for (const auto* column : {&table.running, &table.pending, &table.throughput,
                               &table.free_gpu_percent, &table.drain_rate}) {
      append(record.columns, *column);
    }
  } else {
    append(record.columns, table.match_percent);
  }
  for (std::uint32_t row = 0; row < table.size(); ++row) {
    const std::uint32_t reason = table.reasons[row];
    if (table.drops[row] != Drop::kExcluded) continue;
    record.exclusions.emplace_back(
        row, reason <= policy.reasons.size() ? policy.reasons[reason - 1] : "no such reason");
  }
  return record;
}

std::size_t memory_of(const StageRecord& stage) {
  return stage.pods.size() * sizeof(RecordedPod) + stage.columns.size() * sizeof(double);
}

std::string_view kind_name(SelectErrorKind kind) {
  switch (kind) {
    case SelectErrorKind::kUnknownModel:
      return "bad_request";
    case SelectErrorKind::kMixedEngines:
      return "mixed_engines";
    case SelectErrorKind::kNoPrefill:
      return "no_prefill";
    case SelectErrorKind::kNoDecode:
      return "no_decode";
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
  record.prefill = record_stage(scratch.prefill, policies.prefill().entry(), false);
  record.decode = record_stage(scratch.decode, policies.decode().entry(), true);
  for (const auto& [pod, drop] : scratch.not_candidates) {
    record.not_candidates.emplace_back(pod->index, drop);
  }
  if (decision != nullptr) record.finals = scratch.finals;
  return record;
}

}  // namespace pd
