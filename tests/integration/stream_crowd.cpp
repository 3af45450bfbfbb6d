#include "tests/integration/stream_crowd.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace pd::test {
namespace {

class Crowd {
 public:
  Crowd(std::uint16_t port, const std::vector<CrowdMember>& members)
      : members_(members), clients_(members.size()), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    for (std::size_t i = 0; i < members.size(); ++i) join(port, i);
  }
  ~Crowd() {
    for (const Client& client : clients_) {
      if (client.fd >= 0) ::close(client.fd);
    }
    ::close(epoll_);
  }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

  void run(std::chrono::milliseconds patience) {
    std::array<epoll_event, 256> ready{};
    while (open_ > 0) {
      const int count = epoll_wait(epoll_, ready.data(), static_cast<int>(ready.size()),
                                   static_cast<int>(patience.count()));
      if (count <= 0) return;
      for (int i = 0; i < count; ++i) {
        const epoll_event& event = ready[static_cast<std::size_t>(i)];
        if ((event.events & EPOLLOUT) != 0) write(event.data.u64);
        if ((event.events & ~static_cast<unsigned>(EPOLLOUT)) != 0) read(event.data.u64);
      }
    }
  }
  std::vector<WireAnswer> answers() const {
    std::vector<WireAnswer> all;
    for (const Client& client : clients_) all.push_back(client.parser.answer());
    return all;
  }

 private:
  struct Client {
    int fd = -1;
    std::size_t sent = 0;
    std::size_t got = 0;
    AnswerParser parser;
  };

  void join(std::uint16_t port, std::size_t index) {
    Client& client = clients_[index];
    client.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    ASSERT_GE(client.fd, 0) << "no socket for member " << index;
    const int on = 1;
    setsockopt(client.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connect(client.fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    epoll_event interest{};
    interest.events = EPOLLOUT | EPOLLIN;
    interest.data.u64 = index;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, client.fd, &interest);
    ++open_;
  }
  void write(std::size_t index) {
    Client& client = clients_[index];
    if (client.fd < 0) return;
    const std::string& request = members_[index].request;
    const ssize_t sent =
        ::send(client.fd, request.data() + client.sent, request.size() - client.sent, MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN) return leave(index, WireAnswer::End::kReset);
    client.sent += sent > 0 ? static_cast<std::size_t>(sent) : 0;
    if (client.sent < request.size()) return;
    epoll_event interest{};
    interest.events = EPOLLIN;
    interest.data.u64 = index;
    epoll_ctl(epoll_, EPOLL_CTL_MOD, client.fd, &interest);
  }
  void read(std::size_t index) {
    Client& client = clients_[index];
    if (client.fd < 0) return;
    std::array<char, 16384> bytes{};
    const ssize_t got = recv(client.fd, bytes.data(), bytes.size(), 0);
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) {
      return leave(index, got == 0 ? WireAnswer::End::kClosed : WireAnswer::End::kReset);
    }
    client.got += static_cast<std::size_t>(got);
    const bool whole = client.parser.feed({bytes.data(), static_cast<std::size_t>(got)});
    const std::size_t enough = members_[index].leave_after;
    if (whole || (enough > 0 && client.got >= enough)) leave(index, WireAnswer::End::kClosed);
  }
  void leave(std::size_t index, WireAnswer::End how) {
    Client& client = clients_[index];
    client.parser.end(how);
    ::close(client.fd);
    client.fd = -1;
    --open_;
  }

  const std::vector<CrowdMember>& members_;
  std::vector<Client> clients_;
  int epoll_;
  std::size_t open_ = 0;
};

}  // namespace

std::vector<WireAnswer> run_crowd(std::uint16_t port, const std::vector<CrowdMember>& members,
                                  std::chrono::milliseconds patience) {
  Crowd crowd(port, members);
  crowd.run(patience);
  return crowd.answers();
}

}  // namespace pd::test
