#include "examples/pd-sim/sim_admin.h"

#include <boost/asio/dispatch.hpp>
#include <boost/json.hpp>
#include <boost/system/result.hpp>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "examples/pd-sim/sim_fleet.h"
#include "examples/pd-sim/sim_http.h"
#include "examples/pd-sim/sim_pod.h"

namespace pd::sim {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;
using FaultResult = boost::system::result<Fault, std::string>;

json::object refusals(const PodCounters& counters) {
  json::object out;
  for (std::size_t i = 1; i < kRefusalCount; ++i) {
    if (counters.refused[i] > 0) out[to_string(static_cast<Refusal>(i))] = counters.refused[i];
  }
  return out;
}

json::object pod_state(SimPod& pod, bool with_bodies) {
  SimEngine& engine = pod.engine();
  const PodCounters& counters = pod.counters();
  const EngineGauges gauges = engine.gauges();
  std::uint64_t refused = 0;
  for (const std::uint64_t count : counters.refused) refused += count;
  json::object state{
      {"role", to_string(pod.spec().role)},
      {"model", pod.spec().model},
      {"engine_id", engine.engine_id()},
      {"port", pod.port()},
      {"side_channel_port", pod.side_channel_port()},
      {"requests", counters.requests},
      {"running", gauges.running},
      {"waiting", gauges.waiting},
      {"aborted", counters.aborted},
      {"recomputed", counters.recomputed},
      {"wrong_role", counters.wrong_role},
      {"bad_requests", counters.bad_requests},
      {"bad_framing", counters.bad_framing},
      {"engine_killed", counters.engine_killed},
      {"kv_blocks_in_use", engine.blocks_in_use()},
      {"kv_usage", gauges.kv_usage},
      {"pinned_blocks", engine.pinned_blocks()},
      {"leaked_blocks", engine.leaked_blocks()},
      {"orphaned_blocks", engine.orphaned_blocks()},
      {"handoffs_issued", engine.handoffs_issued()},
      {"handoffs_read", engine.handoffs_read()},
      {"handoffs_refused", refused},
      {"handoffs_expired", engine.stats().handoffs_expired},
      {"refused_because", refusals(counters)},
      {"open_connections", pod.open_connections()},
  };
  if (with_bodies) {
    json::array bodies;
    for (const RecordedRequest& request : pod.recorded()) {
      bodies.push_back({{"head", request.head}, {"body", request.body}});
    }
    state["bodies"] = std::move(bodies);
  }
  return state;
}

// Calls `visit` for each of `pods` on that pod's thread, one after the other, then `done` on the
// thread of `home`.
struct Tour {
  std::vector<SimPod*> pods;
  SimPod* home;
  std::function<void(SimPod&)> visit;
  std::function<void()> done;

  static void run(const std::shared_ptr<Tour>& tour, std::size_t next = 0) {
    if (next == tour->pods.size()) {
      asio::dispatch(tour->home->executor(), [tour] { tour->done(); });
      return;
    }
    asio::dispatch(tour->pods[next]->executor(), [tour, next] {
      tour->visit(*tour->pods[next]);
      run(tour, next + 1);
    });
  }
};

void answer_error(AnswerPort& port, int status, std::string_view message) {
  port.answer(status, kJson, json::serialize(json::object{{"error", message}}));
}

// The pods a request is for: the one named, or all. Null: there is no such pod.
std::optional<std::vector<SimPod*>> pods_of(const SimFleet& fleet, const json::object& body) {
  std::vector<SimPod*> pods;
  const json::value* name = body.if_contains("pod");
  if (name != nullptr && name->is_string()) {
    SimPod* pod = fleet.find(std::string_view(name->get_string()));
    if (pod == nullptr) return std::nullopt;
    pods.push_back(pod);
    return pods;
  }
  for (const auto& pod : fleet.pods()) pods.push_back(pod.get());
  return pods;
}

std::string set_number(Fault& fault, std::string_view key, std::int64_t value) {
  const auto positive = static_cast<std::uint64_t>(value < 0 ? 0 : value);
  if (key == "after_bytes") {
    fault.after_bytes = positive;
  } else if (key == "after_events") {
    fault.after_events = positive;
  } else if (key == "status") {
    if (value < 400 || value > 599) return "status is allowed from 400 to 599";
    fault.status = static_cast<int>(value);
  } else if (key == "delta") {
    fault.length_delta = value;
  } else if (key == "bytes") {
    fault.header_bytes = positive;
  } else {
    return "unknown number '" + std::string(key) + "'";
  }
  return {};
}

std::string set_text(Fault& fault, std::string_view key, std::string_view value) {
  if (key == "path") {
    fault.path = value;
  } else if (key == "body") {
    fault.body = value;
  } else if (key == "missing") {
    fault.missing = value;
  } else if (key == "mode") {
    if (value != "close" && value != "reset") return "mode is allowed to be close or reset";
    fault.reset_connections = value == "reset";
  } else if (key == "phase") {
    if (value == "before_head") {
      fault.phase = HangPhase::kBeforeHead;
    } else if (value == "after_head") {
      fault.phase = HangPhase::kAfterHead;
    } else if (value == "mid_stream") {
      fault.phase = HangPhase::kMidStream;
    } else {
      return "phase is allowed to be before_head, after_head or mid_stream";
    }
  } else if (key == "delay" || key == "gap") {
    const auto duration = parse_duration(value);
    if (!duration) return "'" + std::string(value) + "' is not a duration like 20ms";
    (key == "delay" ? fault.delay : fault.gap) = *duration;
  } else {
    return "unknown text '" + std::string(key) + "'";
  }
  return {};
}

FaultResult read_fault(const json::object& body) {
  const json::object& object = body.at("fault").as_object();
  const json::value* kind = object.if_contains("kind");
  const auto known =
      kind != nullptr && kind->is_string() ? fault_kind(kind->get_string()) : std::nullopt;
  if (!known) return std::string("fault.kind is missing or unknown; README.md lists the kinds");
  Fault fault;
  fault.kind = *known;
  for (const auto& [key, value] : object) {
    std::string error;
    if (std::string_view(key) == "kind") continue;
    if (value.is_int64()) {
      error = set_number(fault, key, value.get_int64());
    } else if (value.is_string()) {
      error = set_text(fault, key, value.get_string());
    } else if (std::string_view(key) == "body") {
      fault.body = json::serialize(value);
    } else {
      error = "'" + std::string(key) + "' has a type no fault takes";
    }
    if (!error.empty()) return "fault: " + error;
  }
  if (const json::value* count = body.if_contains("count")) {
    if (!count->is_int64() || count->get_int64() < 1) return std::string("count is below 1");
    fault.remaining = static_cast<std::uint64_t>(count->get_int64());
  }
  return fault;
}

void set_faults(SimFleet& fleet, SimPod& self, const json::object& body,
                const std::shared_ptr<AnswerPort>& port) {
  const auto pods = pods_of(fleet, body);
  if (!pods) return answer_error(*port, 404, "no pod of that name");
  const json::value* given = body.if_contains("fault");
  if (given == nullptr || !(given->is_null() || given->is_object())) {
    return answer_error(*port, 400, "fault is missing: an object, or null to end all faults");
  }
  auto error = std::make_shared<std::string>();
  auto tour = std::make_shared<Tour>(Tour{*pods, &self, {}, {}});
  if (given->is_null()) {
    tour->visit = [error](SimPod& pod) { *error += pod.clear_faults(); };
  } else {
    const auto fault = read_fault(body);
    if (!fault) return answer_error(*port, 400, fault.error());
    tour->visit = [fault = *fault](SimPod& pod) { pod.apply(fault); };
  }
  tour->done = [port, error] {
    if (!error->empty()) return answer_error(*port, 500, *error);
    port->answer(200, kJson, "{}");
  };
  Tour::run(tour);
}

void set_timing(SimFleet& fleet, SimPod& self, const json::object& body,
                const std::shared_ptr<AnswerPort>& port) {
  const auto pods = pods_of(fleet, body);
  if (!pods) return answer_error(*port, 404, "no pod of that name");
  TimeModel probe;
  std::vector<std::pair<std::string, std::string>> terms;
  std::uint32_t max_running = 0;
  for (const auto& [key, value] : body) {
    const std::string_view name = key;
    if (name == "pod") continue;
    if (name == "max_running" && value.is_int64() && value.get_int64() > 0) {
      max_running = static_cast<std::uint32_t>(value.get_int64());
    } else if (value.is_string() && probe.set(name, std::string_view(value.get_string()))) {
      terms.emplace_back(name, value.get_string());
    } else {
      return answer_error(*port, 400,
                          "'" + std::string(name) + "' is no timing or has a bad value");
    }
  }
  auto tour = std::make_shared<Tour>(Tour{*pods, &self, {}, {}});
  tour->visit = [terms, max_running](SimPod& pod) {
    for (const auto& [name, value] : terms) pod.engine().model().set(name, value);
    if (max_running > 0) pod.engine().model().max_running = max_running;
  };
  tour->done = [port] { port->answer(200, kJson, "{}"); };
  Tour::run(tour);
}

void tell_state(SimFleet& fleet, SimPod& self, bool with_bodies,
                const std::shared_ptr<AnswerPort>& port) {
  auto pods = std::make_shared<json::object>();
  auto tour = std::make_shared<Tour>(Tour{*pods_of(fleet, {}), &self, {}, {}});
  tour->visit = [pods, with_bodies](SimPod& pod) {
    (*pods)[pod.spec().name] = pod_state(pod, with_bodies);
  };
  tour->done = [pods, port] {
    port->answer(200, kJson, json::serialize(json::object{{"pods", std::move(*pods)}}));
  };
  Tour::run(tour);
}

}  // namespace

void handle_admin(SimFleet& fleet, SimPod& self, const ReceivedRequest& request,
                  const std::shared_ptr<AnswerPort>& port) {
  if (request.method == "GET" && request.path == "/sim/state") {
    return tell_state(fleet, self, query_value(request.query, "bodies") == "1", port);
  }
  const bool faults = request.path == "/sim/faults";
  if (request.method != "POST" || !(faults || request.path == "/sim/timing")) {
    return answer_error(*port, 404,
                        "allowed are POST /sim/faults, POST /sim/timing, GET /sim/state");
  }
  json::error_code error;
  const json::value body = json::parse(json::string_view(request.body), error);
  if (error || !body.is_object()) return answer_error(*port, 400, "body is not a JSON object");
  if (faults) {
    set_faults(fleet, self, body.get_object(), port);
  } else {
    set_timing(fleet, self, body.get_object(), port);
  }
}

}  // namespace pd::sim
