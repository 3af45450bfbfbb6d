#include "tests/bench/load_client/load_run.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>

#include "tests/bench/load_client/answer_reader.h"

namespace pd::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kMostErrors = 100;

struct Connection {
  int fd = -1;
  std::size_t next = 0;  // request
  const ChatRequest* request = nullptr;
  std::size_t sent = 0;
  bool waits_for_room = false;
  Clock::time_point started;
  AnswerReader answer;
};

class LoadRun {
 public:
  LoadRun(const LoadOptions& options, std::span<const ChatRequest> requests)
      : options_(options),
        requests_(requests),
        epoll_(epoll_create1(EPOLL_CLOEXEC)),
        connections_(options.concurrency),
        received_(256 * 1024) {
    result_.latency_ns.reserve(options.requests);
  }
  ~LoadRun() {
    for (const Connection& connection : connections_) {
      if (connection.fd >= 0) close(connection.fd);
    }
    close(epoll_);
  }
  LoadRun(const LoadRun&) = delete;
  LoadRun& operator=(const LoadRun&) = delete;

  LoadResult run() {
    for (std::size_t i = 0; i < connections_.size(); ++i) {
      connections_[i].next = i * 7;
      if (!open(connections_[i])) return std::move(result_);
    }
    const auto begin = Clock::now();
    for (Connection& connection : connections_) start(connection);
    while (!finished() && wait()) {
    }
    result_.wall_seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    std::sort(result_.latency_ns.begin(), result_.latency_ns.end());
    return std::move(result_);
  }

 private:
  bool finished() const {
    return result_.requests + result_.errors >= options_.requests || result_.errors >= kMostErrors;
  }

  bool wait() {
    std::array<epoll_event, 128> events{};
    const int ready = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()),
                                 static_cast<int>(options_.timeout_s) * 1000);
    if (ready == 0) count_error("no answer within the time allowed");
    if (ready < 0 && errno != EINTR) count_error(std::strerror(errno));
    for (int i = 0; i < ready && !finished(); ++i) {
      Connection& connection =
          *static_cast<Connection*>(events[static_cast<std::size_t>(i)].data.ptr);
      if (connection.waits_for_room) send_rest(connection);
      if ((events[static_cast<std::size_t>(i)].events & ~std::uint32_t{EPOLLOUT}) != 0) {
        receive(connection);
      }
    }
    return ready != 0;
  }

  bool open(Connection& connection) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(options_.port);
    inet_pton(AF_INET, options_.host.c_str(), &address.sin_addr);
    connection.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    setsockopt(connection.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(connection.fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      count_error(
          fmt::format("connect to {}:{}: {}", options_.host, options_.port, std::strerror(errno)));
      return false;
    }
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = &connection;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, connection.fd, &event);
    return true;
  }

  void start(Connection& connection) {
    if (started_ == options_.requests) return;
    ++started_;
    connection.request = &requests_[connection.next++ % requests_.size()];
    connection.sent = 0;
    connection.answer.reset();
    connection.started = Clock::now();
    send_rest(connection);
  }

  void send_rest(Connection& connection) {
    const std::string& bytes = connection.request->bytes;
    while (connection.sent < bytes.size()) {
      const ssize_t count = send(connection.fd, bytes.data() + connection.sent,
                                 bytes.size() - connection.sent, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (count < 0) {
        if (errno != EAGAIN) return fail(connection, std::strerror(errno));
        break;
      }
      connection.sent += static_cast<std::size_t>(count);
    }
    const bool waits = connection.sent < bytes.size();
    if (waits == connection.waits_for_room) return;
    connection.waits_for_room = waits;
    epoll_event event{};
    event.events = waits ? EPOLLIN | EPOLLOUT : EPOLLIN;
    event.data.ptr = &connection;
    epoll_ctl(epoll_, EPOLL_CTL_MOD, connection.fd, &event);
  }

  void receive(Connection& connection) {
    const ssize_t count = recv(connection.fd, received_.data(), received_.size(), MSG_DONTWAIT);
    if (count < 0 && errno == EAGAIN) return;
    if (count < 0) return fail(connection, std::strerror(errno));
    if (count == 0) return fail(connection, "the connection was closed");
    const auto state = connection.answer.feed({received_.data(), static_cast<std::size_t>(count)});
    if (state == AnswerReader::State::kBroken) return fail(connection, connection.answer.fault());
    if (state == AnswerReader::State::kDone) finish(connection);
  }

  void finish(Connection& connection) {
    const auto latency = Clock::now() - connection.started;
    const std::string fault = connection.sent == connection.request->bytes.size()
                                  ? answer_fault(*connection.request, connection.answer)
                                  : "an answer before the request was sent";
    if (!fault.empty()) return fail(connection, fault);
    ++result_.requests;
    result_.answer_bytes += connection.answer.body().size();
    result_.latency_ns.push_back(static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(latency).count()));
    start(connection);
  }

  void fail(Connection& connection, const std::string& why) {
    count_error(why);
    close(connection.fd);
    connection.fd = -1;
    connection.waits_for_room = false;
    if (!finished() && open(connection)) start(connection);
  }

  void count_error(const std::string& why) {
    if (result_.errors++ == 0) result_.first_error = why;
  }

  const LoadOptions& options_;
  std::span<const ChatRequest> requests_;
  int epoll_;
  std::vector<Connection> connections_;
  std::vector<char> received_;
  std::uint64_t started_ = 0;
  LoadResult result_;
};

std::string json_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out;
}

}  // namespace

LoadResult run_load(const LoadOptions& options, std::span<const ChatRequest> requests) {
  return LoadRun(options, requests).run();
}

double percentile_us(std::span<const std::uint64_t> sorted_ns, double percent) {
  if (sorted_ns.empty()) return 0;
  const double rank = std::ceil(percent / 100 * static_cast<double>(sorted_ns.size()));
  const auto index = static_cast<std::size_t>(std::max(rank, 1.0)) - 1;
  return static_cast<double>(sorted_ns[std::min(index, sorted_ns.size() - 1)]) / 1000;
}

std::string to_json(const LoadResult& result) {
  return fmt::format(
      R"({{"requests":{},"errors":{},"first_error":"{}","wall_s":{:.6f},"answer_bytes":{},)"
      R"("p50_us":{:.1f},"p90_us":{:.1f},"p99_us":{:.1f}}})",
      result.requests, result.errors, json_escaped(result.first_error), result.wall_seconds,
      result.answer_bytes, percentile_us(result.latency_ns, 50),
      percentile_us(result.latency_ns, 90), percentile_us(result.latency_ns, 99));
}

}  // namespace pd::bench
