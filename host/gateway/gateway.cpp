#include "host/gateway/gateway.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "host/gateway/listen_address.h"

namespace pd {
namespace {

using boost::asio::ip::tcp;

constexpr int kBacklog = 4096;

// A listening socket that shares its port with the other workers'; the kernel spreads connections.
boost::system::result<int, std::string> listen_on(const tcp::endpoint& endpoint,
                                                  const std::string& address) {
  const int fd = ::socket(endpoint.protocol().family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int on = 1;
  const bool listening = fd >= 0 && ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
                         ::setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) == 0 &&
                         ::bind(fd, endpoint.data(), static_cast<socklen_t>(endpoint.size())) == 0 &&
                         ::listen(fd, kBacklog) == 0;
  if (listening) return fd;
  const int why = errno;
  if (fd >= 0) ::close(fd);
  return fmt::format("cannot listen on {} (server.listen): {}", address, std::strerror(why));
}

tcp::endpoint endpoint_of(int fd, const tcp::endpoint& asked) {
  tcp::endpoint bound = asked;
  socklen_t size = static_cast<socklen_t>(bound.capacity());
  if (::getsockname(fd, bound.data(), &size) == 0) bound.resize(size);
  return bound;
}

}  // namespace

boost::system::result<std::unique_ptr<Gateway>, std::string> Gateway::open(
    GatewayEnvironment& environment, const std::string& address, std::uint32_t workers) {
  auto endpoint = parse_listen_address(address);
  if (!endpoint) return fmt::format("server.listen: {}", endpoint.error());
  std::unique_ptr<Gateway> gateway(new Gateway(environment));
  for (std::uint32_t i = 0; i < workers; ++i) {
    auto listener = listen_on(*endpoint, address);
    if (!listener) return listener.error();
    // With port 0 the first socket gets a port, and the others join it there.
    *endpoint = endpoint_of(*listener, *endpoint);
    gateway->workers_.push_back(
        std::make_unique<Worker>(environment, i, *listener, endpoint->protocol()));
  }
  gateway->address_ = format_address(*endpoint);
  return gateway;
}

Gateway::~Gateway() {
  for (const auto& worker : workers_) {
    worker->cut();
    worker->finish();
  }
  for (const auto& worker : workers_) worker->join();
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
