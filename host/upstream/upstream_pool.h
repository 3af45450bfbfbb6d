// Keep-alive connections to pods, one pool per worker thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "host/http/message_parser.h"
#include "host/upstream/gather_writer.h"

namespace pd {

// One connection to a pod, idle in the pool or owned by the leg that uses it.
struct UpstreamConnection {
  explicit UpstreamConnection(boost::asio::io_context& io, std::string pod_address)
      : socket(io.get_executor()), address(std::move(pod_address)) {}

  TcpSocket socket;
  std::string address;       // host:port, the pool's key
  std::vector<char> buffer;  // received and not consumed: [begin, end)
  std::size_t begin = 0;
  std::size_t end = 0;
  http::ResponseParser parser;
  std::chrono::steady_clock::time_point idle_since;
  bool reused = false;  // it has carried a request before
};

class UpstreamPool {
 public:
  using Clock = std::chrono::steady_clock;

  explicit UpstreamPool(std::chrono::milliseconds idle_limit) : idle_limit_(idle_limit) {}

  // A live idle connection to that address, or nullptr. One that the pod has closed meanwhile, or
  // that has sent something unasked, is thrown away.
  std::unique_ptr<UpstreamConnection> take(const std::string& address);

  // Keeps a connection whose answer was read to its end.
  void put(std::unique_ptr<UpstreamConnection> connection);

  // Closes connections that have been idle for longer than the limit, which must be below the
  // engine's own keep-alive limit.
  void sweep(Clock::time_point now);

  std::size_t idle() const { return idle_; }

 private:
  const std::chrono::milliseconds idle_limit_;
  std::size_t idle_ = 0;
  // Newest last, so that the busiest connections stay warm and the rest can expire.
  std::unordered_map<std::string, std::vector<std::unique_ptr<UpstreamConnection>>> connections_;
};

}  // namespace pd
