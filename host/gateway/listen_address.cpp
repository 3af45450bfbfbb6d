#include "host/gateway/listen_address.h"

#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace pd {
namespace {

constexpr int kBacklog = 4096;
constexpr std::string_view kUnixScheme = "unix:";

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  int family() const { return storage.ss_family; }
};

std::string failure(const std::string& address, const std::string& key, std::string_view why) {
  return fmt::format("cannot listen on {} ({}): {}", address, key, why);
}

boost::system::result<SocketAddress, std::string> resolve(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) return std::string("it is not ADDRESS:PORT");
  std::string host = address.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), address.c_str() + colon + 1, &hints, &found);
  if (error != 0) return std::string(::gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  SocketAddress out;
  std::memcpy(&out.storage, found->ai_addr, found->ai_addrlen);
  out.size = found->ai_addrlen;
  return out;
}

// Sockets that share a port let another process of this user share it too, silently: look first
// whether somebody has it. 0, or errno.
int check_port_is_free(const SocketAddress& address) {
  const int fd = ::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  const bool bound = fd >= 0 && ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
                     ::bind(fd, address.get(), address.size) == 0;
  const int why = bound ? 0 : errno;
  if (fd >= 0) ::close(fd);
  return why;
}

// A bound and listening socket, or errno as a negative number.
int open_socket(const SocketAddress& address) {
  const int fd = ::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int on = 1;
  const bool tcp = address.family() != AF_UNIX;
  const bool options_set =
      fd >= 0 && (!tcp || (::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
                           ::setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) == 0));
  if (options_set && ::bind(fd, address.get(), address.size) == 0 && ::listen(fd, kBacklog) == 0) {
    return fd;
  }
  const int why = errno;
  if (fd >= 0) ::close(fd);
  return -why;
}

SocketAddress bound_address(int fd) {
  SocketAddress bound;
  bound.size = sizeof(bound.storage);
  ::getsockname(fd, bound.get(), &bound.size);
  return bound;
}

std::string format_address(const SocketAddress& address) {
  char host[NI_MAXHOST] = "";
  char port[NI_MAXSERV] = "";
  ::getnameinfo(address.get(), address.size, host, sizeof(host), port, sizeof(port),
                NI_NUMERICHOST | NI_NUMERICSERV);
  return address.family() == AF_INET6 ? fmt::format("[{}]:{}", host, port)
                                      : fmt::format("{}:{}", host, port);
}

bool somebody_listens(const SocketAddress& address) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool connected = ::connect(fd, address.get(), address.size) == 0;
  ::close(fd);
  return connected;
}

boost::system::result<Listeners, std::string> listen_on_unix(const std::string& address,
                                                             std::uint32_t count,
                                                             const std::string& key) {
  const std::string path = address.substr(kUnixScheme.size());
  SocketAddress where;
  auto* name = reinterpret_cast<sockaddr_un*>(&where.storage);
  name->sun_family = AF_UNIX;
  if (path.size() >= sizeof(name->sun_path)) return failure(address, key, "the path is too long");
  std::memcpy(name->sun_path, path.c_str(), path.size() + 1);
  where.size = sizeof(sockaddr_un);

  int fd = open_socket(where);
  if (fd == -EADDRINUSE && !somebody_listens(where)) {
    ::unlink(path.c_str());
    fd = open_socket(where);
  }
  if (fd < 0) return failure(address, key, std::strerror(-fd));
  Listeners listeners;
  listeners.protocol = ListenProtocol(AF_UNIX, 0);
  listeners.address = address;
  listeners.socket_file = path;
  listeners.sockets.push_back(fd);
  while (listeners.sockets.size() < count) listeners.sockets.push_back(::dup(fd));
  return listeners;
}

}  // namespace

boost::system::result<Listeners, std::string> listen_on(const std::string& address,
                                                        std::uint32_t count,
                                                        const std::string& key) {
  if (address.starts_with(kUnixScheme)) return listen_on_unix(address, count, key);
  auto where = resolve(address);
  if (!where) return failure(address, key, where.error());
  if (const int why = check_port_is_free(*where)) return failure(address, key, std::strerror(why));
  Listeners listeners;
  listeners.protocol = ListenProtocol(where->family(), IPPROTO_TCP);
  for (std::uint32_t i = 0; i < count; ++i) {
    const int fd = open_socket(*where);
    if (fd < 0) {
      for (const int opened : listeners.sockets) ::close(opened);
      return failure(address, key, std::strerror(-fd));
    }
    listeners.sockets.push_back(fd);
    // With port 0 the first socket gets a port, and the others join it there.
    *where = bound_address(fd);
  }
  listeners.address = format_address(*where);
  return listeners;
}

}  // namespace pd
