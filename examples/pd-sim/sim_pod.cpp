#include "examples/pd-sim/sim_pod.h"

#include <utility>
#include <vector>

#include "examples/pd-sim/sim_admin.h"
#include "examples/pd-sim/sim_connection.h"

namespace pd::sim {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

constexpr std::uint16_t kFirstSideChannelPort = 5600;  // vLLM's default
constexpr int kBacklog = 4096;
constexpr std::string_view kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

}  // namespace

SimPod::SimPod(asio::io_context& context, PodSpec spec, const SimOptions& options, SimFleet& fleet,
               std::size_t index)
    : context_(context),
      spec_(std::move(spec)),
      options_(options),
      fleet_(fleet),
      port_(spec_.port),
      side_channel_port_(static_cast<std::uint16_t>(kFirstSideChannelPort + index)),
      engine_(context, options.model, options.kv_blocks, options.block_size),
      personality_(make_personality(spec_.engine, *this)) {}

SimPod::~SimPod() = default;

std::string SimPod::listen() {
  if (!personality_) return "engine '" + spec_.engine + "' is unknown, allowed is vllm";
  error_code error;
  const auto address = asio::ip::make_address(options_.host, error);
  if (error) return "host '" + options_.host + "' is not an IP address: " + error.message();
  const tcp::endpoint endpoint(address, port_);
  acceptor_.emplace(context_);
  acceptor_->open(endpoint.protocol(), error);
  if (!error) acceptor_->set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor_->bind(endpoint, error);
  if (!error) acceptor_->listen(kBacklog, error);
  if (error) return "cannot listen on port " + std::to_string(port_) + ": " + error.message();
  port_ = acceptor_->local_endpoint(error).port();
  accept();
  return {};
}

void SimPod::accept() {
  acceptor_->async_accept([this](error_code error, Socket socket) {
    if (error == asio::error::operation_aborted || !acceptor_ || !acceptor_->is_open()) return;
    if (!error && faults_.has(FaultKind::kRefuse)) {
      error_code ignored;
      socket.set_option(asio::socket_base::linger(true, 0), ignored);
    } else if (!error) {
      auto connection = std::make_shared<SimConnection>(std::move(socket), *this);
      connections_.insert(connection.get());
      connection->start();
    }
    accept();
  });
}

void SimPod::forget(SimConnection& connection) {
  connections_.erase(&connection);
}

void SimPod::close_connections(bool reset) {
  const std::vector<SimConnection*> all(connections_.begin(), connections_.end());
  for (SimConnection* connection : all) {
    if (!connection->serves_admin()) connection->close(reset);
  }
}

void SimPod::on_request(std::string_view head, std::string_view body) {
  if (!head.starts_with("POST ")) return;
  ++counters_.requests;
  if (options_.recorded_requests == 0) return;
  RecordedRequest request;
  if (recorded_.size() >= options_.recorded_requests) {
    request = std::move(recorded_.front());  // keeps its memory
    recorded_.pop_front();
  }
  request.head = head;
  request.body = body;
  recorded_.push_back(std::move(request));
}

std::shared_ptr<Exchange> SimPod::handle(const ReceivedRequest& request,
                                         const std::shared_ptr<AnswerPort>& port) {
  if (request.path.starts_with("/sim/")) {
    handle_admin(fleet_, *this, request, port);
    return nullptr;
  }
  if (request.path == "/metrics") {
    answer_metrics(*port);
    return nullptr;
  }
  return personality_->handle(request, port);
}

std::string SimPod::error_body(int status, std::string_view message) const {
  return personality_->error_body(status, message);
}

void SimPod::answer_metrics(AnswerPort& port) {
  if (faults_.take(FaultKind::kMetricsMissing)) {
    return port.answer(404, kJson, R"({"detail":"Not Found"})");
  }
  if (faults_.take(FaultKind::kMetricsStale)) {
    return port.answer(200, kMetricsType, frozen_metrics_);
  }
  std::string page = render_vllm_metrics(engine_.stats(), engine_.gauges(), spec_.model);
  if (faults_.take(FaultKind::kMetricsMalformed)) {
    page = "vllm:num_requests_running{engine=\"0\",model_name= 1.0\n# TYPE\n\xff\xfe{}\n" +
           page.substr(0, page.size() / 3);
  }
  port.answer(200, kMetricsType, page);
}

void SimPod::apply(Fault fault) {
  if (fault.kind == FaultKind::kRestart) {
    close_connections(true);
    engine_.restart();
    return;
  }
  if (fault.kind == FaultKind::kMetricsStale) {
    frozen_metrics_ = render_vllm_metrics(engine_.stats(), engine_.gauges(), spec_.model);
  }
  if (fault.kind == FaultKind::kRefuse) {
    close_connections(fault.reset_connections);
    error_code ignored;
    if (!fault.reset_connections && acceptor_) acceptor_->close(ignored);
  }
  faults_.add(std::move(fault));
}

std::string SimPod::clear_faults() {
  faults_.clear();
  if (acceptor_ && acceptor_->is_open()) return {};
  return listen();
}

}  // namespace pd::sim
