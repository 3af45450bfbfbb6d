#pragma once

#include <array>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "examples/pd-sim/answer_port.h"
#include "examples/pd-sim/engine_personality.h"
#include "examples/pd-sim/fault_injection.h"
#include "examples/pd-sim/sim_engine.h"
#include "examples/pd-sim/sim_options.h"

namespace pd::sim {

class SimConnection;
class SimFleet;

// What a pod has seen; survives an engine restart.
struct PodCounters {
  std::uint64_t requests = 0;       // POST requests outside /sim/
  std::uint64_t aborted = 0;        // clients that left before their answer was complete
  std::uint64_t recomputed = 0;     // generations on decode or combined without a hand-off
  std::uint64_t wrong_role = 0;     // a leg that this pod's role does not do
  std::uint64_t bad_requests = 0;   // answered 4xx by the engine
  std::uint64_t bad_framing = 0;    // not HTTP as an engine takes it
  std::uint64_t engine_killed = 0;  // hand-offs so incomplete that a real engine dies
  std::array<std::uint64_t, kRefusalCount> refused{};
};

struct RecordedRequest {
  std::string head;
  std::string body;
};

// One simulated pod: a listener, its connections and its engine. Everything in it belongs to the
// thread that runs its context, except what the accessors marked "any thread" answer.
class SimPod {
 public:
  // `index` makes the pod's side-channel port.
  SimPod(boost::asio::io_context& context, PodSpec spec, const SimOptions& options, SimFleet& fleet,
         std::size_t index);
  ~SimPod();
  SimPod(const SimPod&) = delete;
  SimPod& operator=(const SimPod&) = delete;

  // Opens the listener and starts to accept; an empty text, or why it could not.
  std::string listen();

  // Any thread.
  const PodSpec& spec() const { return spec_; }
  const SimOptions& options() const { return options_; }
  std::uint16_t port() const { return port_; }
  std::uint16_t side_channel_port() const { return side_channel_port_; }
  boost::asio::io_context& context() { return context_; }
  boost::asio::io_context::executor_type executor() { return context_.get_executor(); }
  HandoffLedger& ledger() { return engine_.ledger(); }
  SimFleet& fleet() { return fleet_; }

  SimEngine& engine() { return engine_; }
  PodCounters& counters() { return counters_; }
  FaultSet& faults() { return faults_; }
  const std::deque<RecordedRequest>& recorded() const { return recorded_; }
  std::size_t open_connections() const { return connections_.size(); }

  std::shared_ptr<Exchange> handle(const ReceivedRequest& request,
                                   const std::shared_ptr<AnswerPort>& port);
  std::string error_body(int status, std::string_view message) const;
  // `head` without its final empty line.
  void on_request(std::string_view head, std::string_view body);
  void forget(SimConnection& connection);

  // Puts a fault in force; "refuse" and "restart" act at once.
  void apply(Fault fault);
  // Ends every fault; an empty text, or why the pod cannot listen again.
  std::string clear_faults();

 private:
  using Acceptor = boost::asio::basic_socket_acceptor<boost::asio::ip::tcp,
                                                      boost::asio::io_context::executor_type>;
  void accept();
  void close_connections(bool reset);
  void answer_metrics(AnswerPort& port);

  boost::asio::io_context& context_;
  PodSpec spec_;
  const SimOptions& options_;
  SimFleet& fleet_;
  std::uint16_t port_;
  std::uint16_t side_channel_port_;
  SimEngine engine_;
  std::unique_ptr<EnginePersonality> personality_;
  std::optional<Acceptor> acceptor_;
  std::unordered_set<SimConnection*> connections_;
  PodCounters counters_;
  FaultSet faults_;
  std::string frozen_metrics_;
  std::deque<RecordedRequest> recorded_;
};

}  // namespace pd::sim
