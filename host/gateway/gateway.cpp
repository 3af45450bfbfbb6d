#include "host/gateway/gateway.h"

#include <unistd.h>

#include <thread>

#include "host/gateway/listen_address.h"

namespace pd {

boost::system::result<std::unique_ptr<Gateway>, std::string> Gateway::open(
    GatewayEnvironment& environment, const std::string& address, std::uint32_t workers) {
  auto listeners = listen_on(address, workers, "server.listen");
  if (!listeners) return listeners.error();
  std::unique_ptr<Gateway> gateway(new Gateway(environment));
  gateway->address_ = listeners->address;
  gateway->socket_file_ = listeners->socket_file;
  for (std::uint32_t i = 0; i < workers; ++i) {
    gateway->workers_.push_back(
        std::make_unique<Worker>(environment, i, listeners->sockets[i], listeners->protocol));
  }
  return gateway;
}

Gateway::~Gateway() {
  for (const auto& worker : workers_) {
    worker->cut();
    worker->finish();
  }
  for (const auto& worker : workers_) worker->join();
  if (!socket_file_.empty()) ::unlink(socket_file_.c_str());
}

void Gateway::start() {
  for (const auto& worker : workers_) worker->start();
}

std::uint32_t Gateway::stop(std::chrono::milliseconds limit, const std::function<bool()>& cut_now) {
  constexpr std::chrono::milliseconds kLook(20);
  environment_.draining.store(true);
  for (const auto& worker : workers_) worker->stop_accepting();
  const auto deadline = std::chrono::steady_clock::now() + limit;
  while (environment_.requests_in_progress.load() > 0 &&
         std::chrono::steady_clock::now() < deadline && !cut_now()) {
    std::this_thread::sleep_for(kLook);
  }
  const std::uint32_t left = environment_.requests_in_progress.load();
  for (const auto& worker : workers_) {
    worker->cut();
    worker->finish();
  }
  for (const auto& worker : workers_) worker->join();
  return left;
}

}  // namespace pd
