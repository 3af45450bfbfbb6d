#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/integration/host_process.h"
#include "tests/integration/sim_process.h"
#include "tests/integration/wire_client.h"

namespace pd::test {

// One pod of the host's fleet.
struct FleetPod {
  std::string name{};
  std::string role{};
  std::string roleset = "rs0";
  std::string model = "sim";
  std::string connector = "nixl";
  std::uint16_t port = 0;  // 0: a pod of the simulator
};

// p0 and p1, d0 and d1, all in one roleset.
std::vector<FleetPod> two_by_two();
// One prefill pod p0 and one decode pod d0.
std::vector<FleetPod> one_by_one();

// pd.toml for these pods on kernel-picked ports. `settings` are whole tables, none of them
// [server] or [plugins].
std::string host_config(const std::vector<FleetPod>& pods, std::string_view settings = {});

// A request as an engine got it; the head without its blank line.
struct SeenRequest {
  std::string head;
  std::string body;

  // The value of a header in any case; empty without one.
  std::string header(std::string_view name) const;
};

struct DeploymentPlan {
  std::vector<FleetPod> pods = two_by_two();
  std::string settings{};
  std::vector<std::string> sim_flags{"--zero-latency"};
};

// pd-host in front of pd-sim's pods, all of them ready. Besides the fleet, the simulator has the
// combined pod "reference", which nobody but the test talks to.
class Deployment {
 public:
  explicit Deployment(DeploymentPlan plan = {});

  HostProcess& host() { return *host_; }
  WireClient client() const { return WireClient(host_->gateway()); }

  // One request on a connection of its own, through the gateway.
  WireAnswer post(std::string_view target, std::string_view body,
                  std::string_view headers = {}) const;
  WireAnswer get(std::string_view target, std::string_view headers = {}) const;
  // The same, to the reference pod itself.
  WireAnswer direct(std::string_view target, std::string_view body,
                    std::string_view headers = {}) const;
  WireAnswer admin(std::string_view target) const;
  boost::json::value admin_json(std::string_view target) const;
  // The value of one series on /metrics, named as it stands there; -1 when there is none.
  double metric(std::string_view series) const;
  // The sum over all series of one family.
  double metric_sum(std::string_view family) const;

  void fault(const std::string& pod, std::string_view fault, int count = 0) const;
  void clear(const std::string& pod) const { fault(pod, "null"); }
  void timing(std::string_view body) const;
  boost::json::value sim_state() const;
  std::int64_t sim(const std::string& pod, std::string_view counter) const;
  std::int64_t sim_sum(std::string_view counter) const;
  // The last requests that a pod got, as they came in, oldest first.
  std::vector<SeenRequest> seen_by(const std::string& pod) const;
  // The last of them; fails the test when there is none.
  SeenRequest last_seen(const std::string& pod) const;

  // Waits until nothing runs and nothing is held any more, at the engines and in the host's
  // counts; fails the test when that does not come, or when an engine was misused on the way.
  void expect_quiet() const;
  // The host's own counts alone, for tests in which engines lose blocks by their own fault.
  void expect_host_quiet() const;

 private:
  std::string held_by_engines() const;
  std::string held_by_host() const;
  std::vector<FleetPod> pods_;
  std::unique_ptr<SimProcess> sim_;
  std::unique_ptr<HostProcess> host_;
};

// The gateway's error form: checks it and returns the object behind "error".
boost::json::value error_of(const WireAnswer& answer);
std::string error_text(const WireAnswer& answer);

}  // namespace pd::test
