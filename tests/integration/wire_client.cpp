#include "tests/integration/wire_client.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <thread>
#include <utility>

namespace pd::test {

std::string http_request(std::string_view method, std::string_view target, std::string_view body,
                         std::string_view headers) {
  std::string all;
  all.append(method).append(" ").append(target).append(" HTTP/1.1\r\nHost: gw.test\r\n");
  all.append(headers);
  if (!body.empty() || method == "POST") {
    if (headers.find("ontent-") == std::string_view::npos ||
        headers.find("-Type:") == std::string_view::npos) {
      all += "Content-Type: application/json\r\n";
    }
    all += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  }
  return all.append("\r\n").append(body);
}

WireClient::WireClient(std::uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int on = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) close();
}

WireClient::WireClient(WireClient&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), pending_(std::move(other.pending_)) {}

bool WireClient::send(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

WireClient::Got WireClient::receive(std::chrono::milliseconds patience) {
  const timeval limit{patience.count() / 1000, (patience.count() % 1000) * 1000};
  setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  std::array<char, 65536> bytes{};
  const ssize_t got = recv(fd_, bytes.data(), bytes.size(), 0);
  if (got == 0) return Got::kClosed;
  if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK ? Got::kTimeout : Got::kReset;
  pending_.append(bytes.data(), static_cast<std::size_t>(got));
  return Got::kBytes;
}

WireAnswer WireClient::read_with(AnswerParser parser, std::chrono::milliseconds patience) {
  while (!parser.feed(std::exchange(pending_, {}))) {
    const Got got = receive(patience);
    if (got == Got::kBytes) continue;
    parser.end(got == Got::kClosed  ? WireAnswer::End::kClosed
               : got == Got::kReset ? WireAnswer::End::kReset
                                    : WireAnswer::End::kTimeout);
    break;
  }
  pending_ = parser.rest();
  return parser.answer();
}

WireAnswer WireClient::read(std::chrono::milliseconds patience) {
  return read_with(AnswerParser(), patience);
}

WireAnswer WireClient::read_head_answer() {
  return read_with(AnswerParser(true), kPatience);
}

bool WireClient::read_until(std::string_view text) {
  while (pending_.find(text) == std::string::npos) {
    if (receive(kPatience) != Got::kBytes) return false;
  }
  return true;
}

bool WireClient::await_bytes(std::chrono::milliseconds patience) {
  return !pending_.empty() || receive(patience) != Got::kTimeout;
}

std::string WireClient::read_to_end(std::chrono::milliseconds patience) {
  while (receive(patience) == Got::kBytes) continue;
  return std::exchange(pending_, {});
}

bool WireClient::ends(std::chrono::milliseconds patience) {
  if (!pending_.empty()) return false;
  const Got got = receive(patience);
  return got == Got::kClosed || got == Got::kReset;
}

void WireClient::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void WireClient::reset() {
  const linger now{1, 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  close();
}

void WireClient::shutdown_write() const {
  shutdown(fd_, SHUT_WR);
}

bool eventually(const std::function<bool()>& condition, std::chrono::milliseconds deadline) {
  const auto end = std::chrono::steady_clock::now() + deadline;
  for (;;) {
    if (condition()) return true;
    if (std::chrono::steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace pd::test
