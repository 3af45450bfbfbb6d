#include "host/upstream/upstream_pool.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace pd {
namespace {

// A connection that was in use a moment ago is taken without a look: should the pod have closed it,
// the leg replaces it before the first byte of its answer.
constexpr std::chrono::milliseconds kSurelyAlive(50);

// Nothing to read and not closed: what an idle connection should look like.
bool is_quiet(TcpSocket& socket) {
  char byte = 0;
  const ssize_t got = ::recv(socket.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

}  // namespace

std::unique_ptr<UpstreamConnection> UpstreamPool::take(const std::string& address) {
  const auto it = connections_.find(address);
  if (it == connections_.end()) return nullptr;
  auto& idle = it->second;
  const auto now = Clock::now();
  while (!idle.empty()) {
    auto connection = std::move(idle.back());
    idle.pop_back();
    --idle_;
    const bool alive = now - connection->idle_since < kSurelyAlive || is_quiet(connection->socket);
    if (alive) return connection;
  }
  return nullptr;
}

void UpstreamPool::put(std::unique_ptr<UpstreamConnection> connection) {
  connection->reused = true;
  connection->idle_since = Clock::now();
  auto& idle = connections_[connection->address];
  idle.push_back(std::move(connection));
  ++idle_;
}

void UpstreamPool::sweep(Clock::time_point now) {
  for (auto it = connections_.begin(); it != connections_.end();) {
    auto& idle = it->second;
    const auto fresh = std::find_if(idle.begin(), idle.end(), [&](const auto& connection) {
      return now - connection->idle_since < idle_limit_;
    });
    idle_ -= static_cast<std::size_t>(fresh - idle.begin());
    idle.erase(idle.begin(), fresh);
    it = idle.empty() ? connections_.erase(it) : std::next(it);
  }
}

}  // namespace pd
