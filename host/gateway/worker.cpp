#include "host/gateway/worker.h"

#include "host/gateway/client_connection.h"

namespace pd {
namespace {

using boost::system::error_code;

constexpr std::chrono::milliseconds kTick(20);
constexpr std::chrono::milliseconds kAcceptRetry(50);
constexpr std::size_t kMostKeptBufferBytes = 64 * 1024 * 1024;
// After this long without a request a worker lets its snapshots go.
constexpr std::uint32_t kIdleTicksUntilDrop = 50;

}  // namespace

Worker::Worker(GatewayEnvironment& environment, std::uint32_t index, int listener,
               const ListenProtocol& protocol)
    : environment_(environment),
      index_(index),
      acceptor_(io_.get_executor()),
      timer_(io_.get_executor()),
      accept_retry_(io_.get_executor()),
      pool_(environment.settings.timeouts.upstream_idle),
      buffers_(kMostKeptBufferBytes),
      routing_(environment.routing),
      metrics_(environment.metrics),
      random_(std::random_device{}()) {
  acceptor_.assign(protocol, listener);
}

Worker::~Worker() {
  join();
}

void Worker::start() {
  accept();
  tick();
  thread_ = std::thread([this] { io_.run(); });
}

void Worker::join() {
  if (thread_.joinable()) thread_.join();
}

void Worker::accept() {
  acceptor_.async_accept(io_, [this](const error_code& error, ClientSocket socket) {
    if (error == boost::asio::error::operation_aborted || !acceptor_.is_open()) return;
    if (!error) {
      admit(std::move(socket));
      return accept();
    }
    // Out of descriptors, most likely: connections wait in the backlog until some are free again.
    metrics_.count_refused_accept();
    accept_retry_.expires_after(kAcceptRetry);
    accept_retry_.async_wait([this](const error_code& cancelled) {
      if (!cancelled && acceptor_.is_open()) accept();
    });
  });
}

void Worker::admit(ClientSocket socket) {
  const auto limit = environment_.settings.limits.connections;
  if (environment_.connections_open.load(std::memory_order_relaxed) >= limit) {
    metrics_.count_refused_accept();
    return;  // the socket closes; a client that is let in and never served would be worse off
  }
  const auto connection = std::make_shared<ClientConnection>(*this, std::move(socket));
  connections_.push_back(*connection);
  connection->start();
}

// One coarse timer sweeps all deadlines: arming a timer for every operation would cost more than
// the operations.
void Worker::tick() {
  timer_.expires_after(kTick);
  timer_.async_wait([this](const error_code& error) {
    if (error) return;
    const auto now = Clock::now();
    check_all(requests_, now);
    check_all(connections_, now);
    pool_.sweep(now);
    idle_ticks_ = requests_.empty() ? idle_ticks_ + 1 : 0;
    if (idle_ticks_ == kIdleTicksUntilDrop) routing_.drop();
    if (finishing_ && requests_.empty() && connections_.empty()) return io_.stop();
    tick();
  });
}

// An element may take itself and others out of the list while it is checked: each is moved to the
// end before, and the first that comes round again ends the turn.
void Worker::check_all(SupervisedList& list, Clock::time_point now) {
  for (std::size_t left = list.size(); left > 0 && !list.empty(); --left) {
    Supervised& next = list.front();
    list.splice(list.end(), list, list.begin());
    next.check_deadlines(now);
  }
}

void Worker::stop_accepting() {
  boost::asio::post(io_, [this] {
    error_code ignored;
    acceptor_.close(ignored);
    accept_retry_.cancel();
    // Connections that carry no request have nothing to wait for.
    for (auto it = connections_.begin(); it != connections_.end();) {
      Supervised& connection = *it++;
      if (connection.idle()) connection.cut();
    }
  });
}

void Worker::cut() {
  boost::asio::post(io_, [this] {
    while (!connections_.empty()) connections_.front().cut();
    while (!requests_.empty()) requests_.front().cut();
  });
}

void Worker::finish() {
  boost::asio::post(io_, [this] { finishing_ = true; });
}

}  // namespace pd
