#include "tests/integration/raw_http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace pd::test {
namespace {

void set_patience(int fd, int milliseconds) {
  const timeval limit{milliseconds / 1000, (milliseconds % 1000) * 1000};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

std::string header_value(const std::string& head, std::string_view name) {
  const std::size_t at = head.find("\r\n" + std::string(name) + ": ");
  if (at == std::string::npos) return {};
  const std::size_t start = at + name.size() + 4;
  return head.substr(start, head.find("\r\n", start) - start);
}

// Moves whole chunks from `wire` to `body`; true after the last one.
bool take_chunks(std::string& wire, std::string& body) {
  for (;;) {
    const std::size_t line = wire.find("\r\n");
    if (line == std::string::npos) return false;
    const std::size_t size = std::stoul(wire.substr(0, line), nullptr, 16);
    if (wire.size() < line + 2 + size + 2) return false;
    body += wire.substr(line + 2, size);
    wire.erase(0, line + 2 + size + 2);
    if (size == 0) return true;
  }
}

}  // namespace

std::vector<std::string> RawAnswer::events() const {
  std::vector<std::string> all;
  std::size_t at = 0;
  for (std::size_t end = body.find("\n\n"); end != std::string::npos; end = body.find("\n\n", at)) {
    const std::string event = body.substr(at, end - at);
    all.push_back(event.starts_with("data: ") ? event.substr(6) : "not an event: " + event);
    at = end + 2;
  }
  return all;
}

RawHttpClient::RawHttpClient(std::uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int on = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) close();
}

RawHttpClient::~RawHttpClient() {
  close();
}

void RawHttpClient::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

void RawHttpClient::send(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

void RawHttpClient::post(std::string_view path, std::string_view body,
                         std::string_view headers) const {
  std::string request = "POST " + std::string(path) + " HTTP/1.1\r\nHost: pod\r\n";
  request.append(headers).append("Content-Type: application/json\r\nContent-Length: ");
  request.append(std::to_string(body.size())).append("\r\n\r\n").append(body);
  send(request);
}

void RawHttpClient::get(std::string_view path) const {
  send("GET " + std::string(path) + " HTTP/1.1\r\nHost: pod\r\n\r\n");
}

RawHttpClient::Got RawHttpClient::receive() {
  std::array<char, 65536> bytes{};
  const ssize_t got = recv(fd_, bytes.data(), bytes.size(), 0);
  if (got == 0) return Got::kClosed;
  if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK ? Got::kTimeout : Got::kReset;
  pending_.append(bytes.data(), static_cast<std::size_t>(got));
  ++reads_;
  return Got::kBytes;
}

bool RawHttpClient::read_until(std::string_view text) {
  set_patience(fd_, 10000);
  while (pending_.find(text) == std::string::npos) {
    if (receive() != Got::kBytes) return false;
  }
  return true;
}

RawAnswer RawHttpClient::read(int patience_ms) {
  set_patience(fd_, patience_ms);
  RawAnswer answer;
  reads_ = 0;
  std::string wire;
  for (;;) {
    answer.bytes += pending_.size();
    wire += std::exchange(pending_, {});
    if (answer.status == 0) {
      const std::size_t end = wire.find("\r\n\r\n");
      if (end != std::string::npos) {
        answer.head = wire.substr(0, end + 2);
        answer.status = std::stoi(answer.head.substr(9, 3));
        wire.erase(0, end + 4);
      }
    }
    if (answer.status != 0) {
      const std::string length = header_value(answer.head, "content-length");
      if (length.empty()) {
        if (take_chunks(wire, answer.body)) break;
      } else if (wire.size() >= std::stoul(length)) {
        answer.body = wire.substr(0, std::stoul(length));
        pending_ = wire.substr(std::stoul(length));
        break;
      }
    }
    const Got got = receive();
    if (got == Got::kBytes) continue;
    answer.ending = got == Got::kClosed    ? Ending::kClosed
                    : got == Got::kTimeout ? Ending::kTimeout
                                           : Ending::kReset;
    if (!header_value(answer.head, "content-length").empty()) answer.body = wire;
    break;
  }
  answer.reads = reads_;
  return answer;
}

}  // namespace pd::test
