#include "examples/pd-sim/sim_fleet.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>

#include "examples/pd-sim/answer_text.h"

namespace pd::sim {

namespace asio = boost::asio;

SimFleet::SimFleet(const SimOptions& options) {
  for (unsigned i = 0; i < options.threads; ++i) {
    contexts_.push_back(std::make_unique<asio::io_context>(1));
  }
  for (std::size_t i = 0; i < options.pods.size(); ++i) {
    asio::io_context& context = *contexts_[i % contexts_.size()];
    pods_.push_back(std::make_unique<SimPod>(context, options.pods[i], options, *this, i));
  }
}

// Pods go before the contexts: their sockets and timers need them. Connections live in handlers of
// the contexts and touch no pod when they are destroyed.
SimFleet::~SimFleet() = default;

std::string SimFleet::listen() {
  for (const auto& pod : pods_) {
    if (auto error = pod->listen(); !error.empty()) return pod->spec().name + ": " + error;
  }
  return {};
}

std::string SimFleet::ports_json() const {
  std::string json = "{";
  for (const auto& pod : pods_) {
    if (json.size() > 1) json += ',';
    json += '"';
    append_json_escaped(json, pod->spec().name);
    json += "\":" + std::to_string(pod->port());
  }
  return json + "}";
}

void SimFleet::run() {
  asio::signal_set signals(*contexts_[0], SIGINT, SIGTERM);
  signals.async_wait([this](boost::system::error_code, int) {
    for (const auto& context : contexts_) context->stop();
  });
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < contexts_.size(); ++i) {
    threads.emplace_back([&context = *contexts_[i]] {
      const auto work = asio::make_work_guard(context);
      context.run();
    });
  }
  contexts_[0]->run();
  for (std::thread& thread : threads) thread.join();
}

SimPod* SimFleet::find(std::string_view name) const {
  for (const auto& pod : pods_) {
    if (pod->spec().name == name) return pod.get();
  }
  return nullptr;
}

SimPod* SimFleet::find_by_side_channel(std::string_view host, std::int64_t port) const {
  for (const auto& pod : pods_) {
    if (pod->side_channel_port() == port && pod->options().host == host) return pod.get();
  }
  return nullptr;
}

}  // namespace pd::sim
