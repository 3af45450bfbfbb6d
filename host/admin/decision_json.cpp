#include "host/admin/decision_json.h"

#include <cmath>

#include <boost/json/array.hpp>

namespace pd {
namespace {

namespace json = boost::json;

const std::string& name_of(const DecisionRecord& record, std::uint32_t pod) {
  return record.fleet->pods()[pod].spec.name;
}

json::object scores_of(const DecisionRecord& record, const StageRecord& stage) {
  json::object scores;
  for (std::size_t i = 0; i < stage.pods.size(); ++i) {
    const double score = stage.value(RecordedColumn::kScore, i);
    scores[name_of(record, stage.pods[i].index)] =
        std::isnan(score) ? json::value(nullptr) : json_number(score);
  }
  return scores;
}

void add_drops(const DecisionRecord& record, const StageRecord& stage, json::object& dropped) {
  for (std::size_t i = 0; i < stage.pods.size(); ++i) {
    if (stage.pods[i].drop != Drop::kNone) {
      dropped[name_of(record, stage.pods[i].index)] = drop_name(stage.pods[i].drop);
    }
  }
  for (const auto& [row, reason] : stage.exclusions) {
    dropped[name_of(record, stage.pods[row].index)] = "policy: " + reason;
  }
}

json::object dropped_of(const DecisionRecord& record) {
  json::object dropped;
  add_drops(record, record.prefill, dropped);
  add_drops(record, record.decode, dropped);
  for (const auto& [pod, drop] : record.not_candidates) {
    dropped[name_of(record, pod)] = drop_name(drop);
  }
  return dropped;
}

// Rows of `stage` in one roleset that share its lowest score.
std::vector<std::uint32_t> best_pods(const DecisionRecord& record, const StageRecord& stage,
                                     std::uint32_t roleset) {
  std::vector<std::uint32_t> best;
  double lowest = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < stage.pods.size(); ++i) {
    const bool here = record.fleet->pods()[stage.pods[i].index].roleset == roleset;
    const double score = stage.value(RecordedColumn::kScore, i);
    if (!here || std::isnan(score) || score > lowest) continue;
    if (score < lowest) best.clear();
    lowest = score;
    best.push_back(stage.pods[i].index);
  }
  return best;
}

// Every pair that the scores rate as good as the chosen one.
json::array ties_of(const DecisionRecord& record) {
  json::array ties;
  double lowest = std::numeric_limits<double>::infinity();
  for (const double value : record.finals) {
    if (value < lowest) lowest = value;
  }
  for (std::uint32_t roleset = 0; roleset < record.finals.size(); ++roleset) {
    if (record.finals[roleset] != lowest) continue;
    for (const auto prefill : best_pods(record, record.prefill, roleset)) {
      for (const auto decode : best_pods(record, record.decode, roleset)) {
        ties.push_back(json::array{name_of(record, prefill), name_of(record, decode)});
      }
    }
  }
  return ties;
}

void set_if_known(json::object& object, std::string_view key, double value) {
  if (!std::isnan(value)) object[key] = value;
}

// The pods of one stage as a decision case describes them.
void add_case_pods(const DecisionRecord& record, const StageRecord& stage, json::array& pods) {
  for (std::size_t i = 0; i < stage.pods.size(); ++i) {
    const Pod& pod = record.fleet->pods()[stage.pods[i].index];
    json::object metrics;
    json::object inflight;
    if (stage.decode) {
      set_if_known(metrics, "running", stage.value(RecordedColumn::kRunning, i));
      set_if_known(metrics, "throughput", stage.value(RecordedColumn::kThroughput, i));
      set_if_known(metrics, "kv_usage", 1 - stage.value(RecordedColumn::kFreeGpuPercent, i) / 100);
      set_if_known(metrics, "drain_rate", stage.value(RecordedColumn::kDrainRate, i));
      inflight["pending_decode"] = stage.value(RecordedColumn::kPending, i);
    } else {
      inflight["prefill"] = stage.value(RecordedColumn::kRequests, i);
    }
    pods.push_back(json::object{{"name", pod.spec.name},
                                {"model", pod.spec.model},
                                {"roleset", pod.spec.roleset.value_or("")},
                                {"role", role_name(pod.spec.role)},
                                {"engine", pod.spec.engine.value_or("vllm")},
                                {"metrics", std::move(metrics)},
                                {"inflight", std::move(inflight)}});
  }
}

json::object match_percent_of(const DecisionRecord& record) {
  json::object percent;
  if (!record.prefill.has_match_percent) return percent;
  for (std::size_t i = 0; i < record.prefill.pods.size(); ++i) {
    percent[name_of(record, record.prefill.pods[i].index)] =
        record.prefill.value(RecordedColumn::kMatchPercent, i);
  }
  return percent;
}

json::object finals_of(const DecisionRecord& record) {
  json::object finals;
  const ModelPods* model = record.fleet->find_model(record.model);
  if (model == nullptr) return finals;
  for (std::size_t r = 0; r < record.finals.size(); ++r) {
    if (!std::isnan(record.finals[r])) finals[model->rolesets[r]] = json_number(record.finals[r]);
  }
  return finals;
}

}  // namespace

json::value json_number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

json::object decision_json(const std::string& request_id, const DecisionRecord& record) {
  const bool chosen = record.decision.decode != nullptr;
  json::object out;
  out["id"] = request_id;
  out["attempt"] = record.attempt;
  out["policies"] = record.policies;
  out["model"] = record.model;
  out["prefill"] = chosen ? json::value(record.decision.prefill->spec.name) : nullptr;
  out["decode"] = chosen ? json::value(record.decision.decode->spec.name) : nullptr;
  out["stage"] = chosen ? json::value(stage_name(record.decision.stages)) : nullptr;
  out["error"] = nullptr;
  if (!record.error_kind.empty()) {
    out["error"] = json::object{{"kind", record.error_kind}, {"message", record.error}};
  }
  out["ties"] = chosen ? ties_of(record) : json::array();
  out["match_percent"] = match_percent_of(record);
  out["prefill_scores"] = scores_of(record, record.prefill);
  out["decode_scores"] = scores_of(record, record.decode);
  out["max_prefill_score"] = json_number(record.prefill.max_score);
  out["max_decode_score"] = json_number(record.decode.max_score);
  out["final"] = finals_of(record);
  out["dropped"] = dropped_of(record);
  out["fallback_used"] = record.decision.fallback_used;
  json::array pods;
  add_case_pods(record, record.prefill, pods);
  add_case_pods(record, record.decode, pods);
  out["case"] = json::object{{"id", request_id}, {"pods", std::move(pods)}};
  return out;
}

}  // namespace pd
