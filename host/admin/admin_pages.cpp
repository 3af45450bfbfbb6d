#include "host/admin/admin_pages.h"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <cmath>

#include "framework/request/monotonic_clock.h"
#include "host/admin/decision_json.h"
#include "host/gateway/gateway_error.h"

namespace pd {
namespace {

namespace json = boost::json;

constexpr std::string_view kDecisionsPath = "/pd/v1/decisions";
constexpr std::size_t kListedDecisions = 100;

AdminAnswer as_json(const json::value& value, int status = 200) {
  return {status, "application/json", json::serialize(value) + "\n"};
}

AdminAnswer text(std::string body, int status = 200) {
  return {status, "text/plain; charset=utf-8", std::move(body)};
}

json::value known(double value) {
  return std::isfinite(value) ? json::value(value) : json::value(nullptr);
}

json::object load_of(const Fleet& fleet, const Pod& pod, std::uint64_t now_ns) {
  const EngineColumns& columns = fleet.columns();
  const std::uint64_t at = columns.sampled_at(pod.index);
  json::object load;
  load["running"] = known(columns.value(EngineColumn::kRunning, pod.index));
  load["waiting"] = known(columns.value(EngineColumn::kWaiting, pod.index));
  load["throughput"] = known(columns.value(EngineColumn::kThroughput, pod.index));
  load["kv_usage"] = known(columns.value(EngineColumn::kKvUsage, pod.index));
  load["prefill_time_ms"] = known(columns.value(EngineColumn::kPrefillTimeMs, pod.index));
  load["drain_rate"] = known(columns.value(EngineColumn::kDrainRate, pod.index));
  load["sample_age_s"] =
      at == 0 ? json::value(nullptr)
              : json::value(now_ns > at ? static_cast<double>(now_ns - at) / 1e9 : 0.0);
  load["prefill_requests"] = pod.slot->prefill_requests.load();
  load["pending_decode"] = pod.slot->pending_decode.load();
  load["decode_requests"] = pod.slot->decode_requests.load();
  load["completed"] = pod.slot->completed.load();
  return load;
}

json::value label_or_null(const std::optional<std::string>& label) {
  return label ? json::value(*label) : json::value(nullptr);
}

json::object counters_of(const PolicyCounters& counters) {
  return {{"calls", counters.calls.load()},
          {"errors", counters.errors.load()},
          {"invalid_scores", counters.invalid_scores.load()},
          {"fallbacks", counters.fallbacks.load()},
          {"seconds", static_cast<double>(counters.nanoseconds.load()) / 1e9}};
}

template <class Policy>
json::object policy_in_use(const Policy& policy) {
  const PolicyEntry& entry = policy.entry();
  return {{"name", entry.name},
          {"description", entry.description},
          {"plugin",
           entry.plugin == nullptr ? json::value(nullptr) : json::value(entry.plugin->facts().id)},
          {"counters", counters_of(policy.instance().counters())}};
}

json::array names(const std::vector<std::string>& list) {
  json::array out;
  for (const std::string& name : list) out.push_back(json::value(name));
  return out;
}

// What each model lacks before it can serve; empty when every model has a ready pair.
std::vector<std::string> missing_pairs(const Fleet& fleet) {
  std::vector<std::string> missing;
  for (const ModelPods& model : fleet.models()) {
    const auto ready = [&](const std::vector<std::uint32_t>& list, std::size_t roleset) {
      for (const std::uint32_t index : list) {
        const Pod& pod = fleet.pods()[index];
        if (pod.roleset == roleset && pod.ready()) return true;
      }
      return false;
    };
    bool any = false;
    for (std::size_t r = 0; r < model.rolesets.size(); ++r) {
      any = any || (ready(model.prefill, r) && ready(model.decode, r));
    }
    if (!any) {
      missing.push_back(fmt::format(
          "model {}: no roleset has a ready prefill and a ready decode pod", model.name));
    }
  }
  return missing;
}

}  // namespace

AdminAnswer AdminPages::answer(const AdminRequest& request) const {
  if (request.method != "GET" && request.method != "HEAD") {
    return {405, "application/json", to_json(wrong_method(request.method, "GET, HEAD")) + "\n"};
  }
  if (request.path == "/healthz") return text("ok\n");
  if (request.path == "/readyz") return readiness();
  if (request.path == "/metrics") {
    return {200, "text/plain; version=0.0.4; charset=utf-8", environment_.metrics.text()};
  }
  if (request.path == "/pd/v1/fleet") return fleet();
  if (request.path == "/pd/v1/policies") return policies();
  if (request.path == "/pd/v1/plugins") return plugins();
  if (request.path == kDecisionsPath) return decisions();
  if (request.path.starts_with(std::string(kDecisionsPath) + "/")) {
    return decision(request.path.substr(kDecisionsPath.size() + 1));
  }
  return as_json({{"error",
                   {{"message",
                     "unknown admin path; known: /healthz, /readyz, /metrics, /pd/v1/fleet, "
                     "/pd/v1/policies, /pd/v1/plugins, /pd/v1/decisions, /pd/v1/decisions/ID"},
                    {"code", "unknown_path"}}}},
                 404);
}

AdminAnswer AdminPages::readiness() const {
  if (environment_.draining.load()) return text("not ready: shutting down\n", 503);
  const auto state = environment_.routing.current();
  const auto missing = missing_pairs(*state->fleet);
  if (missing.empty()) return text("ready\n");
  std::string body = "not ready\n";
  for (const std::string& line : missing) body += line + "\n";
  return text(std::move(body), 503);
}

AdminAnswer AdminPages::fleet() const {
  const auto state = environment_.routing.current();
  const std::uint64_t now = monotonic_now_ns();
  json::array pods;
  for (const Pod& pod : state->fleet->pods()) {
    json::object labels;
    for (const auto& [key, value] : pod.spec.labels) labels[key] = value;
    pods.push_back(json::object{{"name", pod.spec.name},
                                {"model", pod.spec.model},
                                {"role", role_name(pod.spec.role)},
                                {"roleset", label_or_null(pod.spec.roleset)},
                                {"engine", label_or_null(pod.spec.engine)},
                                {"connector", pod.spec.connector},
                                {"address", pod.address},
                                {"health", health_name(pod.slot->health.load())},
                                {"slot", pod.slot->number},
                                {"incarnation", pod.slot->incarnation},
                                {"labels", std::move(labels)},
                                {"load", load_of(*state->fleet, pod, now)}});
  }
  return as_json({{"generation", state->fleet->generation()}, {"pods", std::move(pods)}});
}

AdminAnswer AdminPages::policies() const {
  const auto state = environment_.routing.current();
  const PolicySet& set = state->router->policies();
  return as_json({{"generation", set.generation()},
                  {"label", set.label()},
                  {"prefill", policy_in_use(set.prefill())},
                  {"prefill_fallback", policy_in_use(set.prefill_fallback())},
                  {"decode", policy_in_use(set.decode())},
                  {"decode_fallback", policy_in_use(set.decode_fallback())},
                  {"registered_prefill", names(prefill_policy_names(registry_))},
                  {"registered_decode", names(decode_policy_names(registry_))},
                  {"warnings", names(registry_.warnings())}});
}

AdminAnswer AdminPages::plugins() const {
  json::array list;
  for (const auto& plugin : registry_.plugins()) {
    const PluginFacts& facts = plugin->facts();
    list.push_back(json::object{{"id", facts.id},
                                {"version", facts.version},
                                {"file", facts.path},
                                {"real_file", facts.real_path},
                                {"sha256", facts.sha256},
                                {"abi", fmt::format("{}.{}", facts.abi_major, facts.abi_minor)},
                                {"build", facts.build},
                                {"decode_policies", names(facts.decode_policies)},
                                {"prefill_policies", names(facts.prefill_policies)},
                                {"warnings", names(facts.warnings)}});
  }
  const PluginUnloadCounts counts = plugin_unload_counts();
  return as_json({{"plugins", std::move(list)},
                  {"closed", counts.closed},
                  {"pinned", counts.pinned},
                  {"retired", counts.retired}});
}

AdminAnswer AdminPages::decisions() const {
  json::array list;
  for (const auto& record : decisions_.newest(kListedDecisions)) {
    list.push_back(json::object{{"id", record->request_id},
                                {"model", record->model},
                                {"status", record->status},
                                {"prefill", record->prefill_pod},
                                {"decode", record->decode_pod},
                                {"handoff", record->handoff},
                                {"attempts", record->attempts},
                                {"total_ms", known(record->total_ms)}});
  }
  return as_json({{"decisions", std::move(list)}});
}

AdminAnswer AdminPages::decision(const std::string& request_id) const {
  const auto record = decisions_.find(request_id);
  if (record == nullptr) {
    return as_json({{"error",
                     {{"message", fmt::format("no decision is kept for request {}; the newest ones "
                                              "are (decisions.keep)",
                                              request_id)},
                      {"code", "unknown_request"}}}},
                   404);
  }
  json::array attempts;
  for (const DecisionRecord& decision : record->decisions) {
    attempts.push_back(decision_json(record->request_id, decision));
  }
  return as_json({{"id", record->request_id},
                  {"model", record->model},
                  {"path", record->path},
                  {"status", record->status},
                  {"code", record->error_code},
                  {"handoff", record->handoff},
                  {"selection_ms", known(record->selection_ms)},
                  {"prefill_ms", known(record->prefill_ms)},
                  {"first_byte_ms", known(record->first_byte_ms)},
                  {"total_ms", known(record->total_ms)},
                  {"decisions", std::move(attempts)}});
}

}  // namespace pd
