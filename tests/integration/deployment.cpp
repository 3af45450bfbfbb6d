#include "tests/integration/deployment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cctype>
#include <sstream>

namespace pd::test {
namespace {

namespace json = boost::json;

constexpr const char* kReference = "reference";

std::unique_ptr<SimProcess> start_sim(const DeploymentPlan& plan) {
  std::vector<std::string> arguments{"--pod", "name=reference,role=combined,port=0"};
  for (const FleetPod& pod : plan.pods) {
    if (pod.port != 0) continue;
    arguments.insert(arguments.end(), {"--pod", "name=" + pod.name + ",role=" + pod.role +
                                                    ",port=0,model=" + pod.model});
  }
  arguments.insert(arguments.end(), plan.sim_flags.begin(), plan.sim_flags.end());
  return std::make_unique<SimProcess>(arguments);
}

WireAnswer ask(std::uint16_t port, std::string_view bytes) {
  WireClient client(port);
  EXPECT_TRUE(client.connected());
  client.send(bytes);
  return client.read();
}

void note(std::string& all, std::string_view owner, std::string_view what, std::int64_t value) {
  if (value == 0) return;
  all.append(owner).append(" ").append(what).append(" ").append(std::to_string(value)) += "; ";
}

std::string lower(std::string_view text) {
  std::string all(text);
  std::ranges::transform(all, all.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return all;
}

}  // namespace

std::string SeenRequest::header(std::string_view name) const {
  std::istringstream lines(head);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || lower(line.substr(0, colon)) != lower(name)) continue;
    const std::size_t start = line.find_first_not_of(' ', colon + 1);
    const std::string value = start == std::string::npos ? "" : line.substr(start);
    return value.ends_with('\r') ? value.substr(0, value.size() - 1) : value;
  }
  return {};
}

std::vector<FleetPod> two_by_two() {
  return {{.name = "p0", .role = "prefill"},
          {.name = "p1", .role = "prefill"},
          {.name = "d0", .role = "decode"},
          {.name = "d1", .role = "decode"}};
}

std::vector<FleetPod> one_by_one() {
  return {{.name = "p0", .role = "prefill"}, {.name = "d0", .role = "decode"}};
}

std::string host_config(const std::vector<FleetPod>& pods, std::string_view settings) {
  std::string config = "[server]\nlisten = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\nthreads = 2\n";
  config += "[plugins]\ndirectories = [\"" PD_PLUGIN_DIRECTORY "\"]\n";
  config.append(settings) += '\n';
  for (const FleetPod& pod : pods) {
    config += "[[fleet.pod]]\nname = \"" + pod.name +
              "\"\nurl = \"http://127.0.0.1:" + std::to_string(pod.port) + "\"\nmodel = \"" +
              pod.model + "\"\nrole = \"" + pod.role + "\"\nroleset = \"" + pod.roleset +
              "\"\nconnector = \"" + pod.connector + "\"\n";
  }
  return config;
}

Deployment::Deployment(DeploymentPlan plan) : pods_(plan.pods), sim_(start_sim(plan)) {
  for (FleetPod& pod : pods_) {
    if (pod.port == 0) pod.port = sim_->port(pod.name);
  }
  host_ = std::make_unique<HostProcess>(host_config(pods_, plan.settings));
  EXPECT_TRUE(eventually([&] {
    const json::value fleet = admin_json("/pd/v1/fleet");
    return std::ranges::all_of(fleet.at("pods").as_array(),
                               [](const json::value& pod) { return pod.at("health") == "ready"; });
  })) << "not every pod became ready";
}

WireAnswer Deployment::post(std::string_view target, std::string_view body,
                            std::string_view headers) const {
  return ask(host_->gateway(), http_request("POST", target, body, headers));
}

WireAnswer Deployment::get(std::string_view target, std::string_view headers) const {
  return ask(host_->gateway(), http_request("GET", target, {}, headers));
}

WireAnswer Deployment::direct(std::string_view target, std::string_view body,
                              std::string_view headers) const {
  return ask(sim_->port(kReference), http_request("POST", target, body, headers));
}

WireAnswer Deployment::admin(std::string_view target) const {
  return ask(host_->admin(), http_request("GET", target));
}

json::value Deployment::admin_json(std::string_view target) const {
  const WireAnswer answer = admin(target);
  EXPECT_EQ(answer.status, 200) << answer.body;
  boost::system::error_code error;
  json::value value = json::parse(answer.body, error);
  EXPECT_FALSE(error) << target << ": " << answer.body;
  return value;
}

double Deployment::metric(std::string_view series) const {
  std::istringstream page(admin("/metrics").body);
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with(series) && line.substr(series.size()).starts_with(' ')) {
      return std::stod(line.substr(series.size() + 1));
    }
  }
  return -1;
}

double Deployment::metric_sum(std::string_view family) const {
  double sum = 0;
  std::istringstream page(admin("/metrics").body);
  for (std::string line; std::getline(page, line);) {
    const std::string_view rest =
        std::string_view(line).substr(std::min(line.size(), family.size()));
    if (line.starts_with(family) && (rest.starts_with(' ') || rest.starts_with('{'))) {
      sum += std::stod(line.substr(line.rfind(' ') + 1));
    }
  }
  return sum;
}

void Deployment::fault(const std::string& pod, std::string_view fault, int count) const {
  std::string body = R"({"pod":")" + pod + R"(","fault":)" + std::string(fault);
  if (count > 0) body += ",\"count\":" + std::to_string(count);
  const WireAnswer answer = direct("/sim/faults", body + "}");
  EXPECT_EQ(answer.status, 200) << answer.body;
}

void Deployment::timing(std::string_view body) const {
  const WireAnswer answer = direct("/sim/timing", body);
  EXPECT_EQ(answer.status, 200) << answer.body;
}

json::value Deployment::sim_state() const {
  const WireAnswer answer = ask(sim_->port(kReference), http_request("GET", "/sim/state?bodies=1"));
  EXPECT_EQ(answer.status, 200) << answer.body;
  return json::parse(answer.body).at("pods");
}

std::int64_t Deployment::sim(const std::string& pod, std::string_view counter) const {
  return sim_state().at(pod).at(counter).to_number<std::int64_t>();
}

std::int64_t Deployment::sim_sum(std::string_view counter) const {
  std::int64_t sum = 0;
  const json::value state = sim_state();
  for (const auto& [name, pod] : state.as_object()) {
    sum += pod.at(counter).to_number<std::int64_t>();
  }
  return sum;
}

std::vector<SeenRequest> Deployment::seen_by(const std::string& pod) const {
  std::vector<SeenRequest> all;
  const json::value state = sim_state();
  for (const json::value& seen : state.at(pod).at("bodies").as_array()) {
    all.push_back(
        {std::string(seen.at("head").as_string()), std::string(seen.at("body").as_string())});
  }
  return all;
}

SeenRequest Deployment::last_seen(const std::string& pod) const {
  auto all = pod.empty() ? std::vector<SeenRequest>() : seen_by(pod);
  if (all.empty()) {
    ADD_FAILURE() << "no request came to pod '" << pod << "'";
    return {};
  }
  return all.back();
}

std::string Deployment::held_by_engines() const {
  std::string all;
  const json::value state = sim_state();
  for (const auto& [name, pod] : state.as_object()) {
    for (const char* counter : {"running", "waiting", "kv_blocks_in_use", "pinned_blocks"}) {
      note(all, name, counter, pod.at(counter).to_number<std::int64_t>());
    }
  }
  return all;
}

std::string Deployment::held_by_host() const {
  std::string all;
  const json::value fleet = admin_json("/pd/v1/fleet");
  for (const json::value& pod : fleet.at("pods").as_array()) {
    for (const char* counter : {"prefill_requests", "pending_decode", "decode_requests"}) {
      note(all, pod.at("name").as_string(), counter,
           pod.at("load").at(counter).to_number<std::int64_t>());
    }
  }
  note(all, "host", "in progress", static_cast<std::int64_t>(metric("pd_requests_in_progress")));
  return all;
}

void Deployment::expect_quiet() const {
  std::string still;
  EXPECT_TRUE(eventually([&] { return (still = held_by_engines()).empty(); })) << still;
  expect_host_quiet();
  const json::value state = sim_state();
  for (const auto& [name, pod] : state.as_object()) {
    for (const char* counter :
         {"leaked_blocks", "orphaned_blocks", "wrong_role", "bad_framing", "engine_killed"}) {
      EXPECT_EQ(pod.at(counter).to_number<std::int64_t>(), 0) << name << " " << counter;
    }
  }
}

void Deployment::expect_host_quiet() const {
  std::string still;
  EXPECT_TRUE(eventually([&] { return (still = held_by_host()).empty(); })) << still;
}

json::value error_of(const WireAnswer& answer) {
  EXPECT_TRUE(answer.header("content-type").starts_with("application/json")) << answer.head();
  boost::system::error_code error;
  const json::value whole = json::parse(answer.body, error);
  if (error || !whole.is_object() || !whole.as_object().contains("error")) {
    ADD_FAILURE() << "not an error object: " << answer.status << " " << answer.body;
    return json::object();
  }
  const json::value& inner = whole.at("error");
  for (const char* key : {"message", "type", "code", "param"}) {
    EXPECT_TRUE(inner.as_object().contains(key)) << key << " is missing: " << answer.body;
  }
  EXPECT_FALSE(inner.at("message").as_string().empty());
  return inner;
}

std::string error_text(const WireAnswer& answer) {
  const json::value error = error_of(answer);
  const json::value* message = error.as_object().if_contains("message");
  return message == nullptr ? std::string() : std::string(message->as_string());
}

}  // namespace pd::test
