#include "host/gateway/listen_address.h"

#include <fmt/format.h>

#include <charconv>

namespace pd {

boost::system::result<boost::asio::ip::tcp::endpoint, std::string> parse_listen_address(
    const std::string& address) {
  if (address.starts_with("unix:")) {
    return fmt::format("cannot listen on {}: unix sockets are not supported yet; use ADDRESS:PORT",
                       address);
  }
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) return fmt::format("\"{}\" is not ADDRESS:PORT", address);
  std::string host = address.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  boost::system::error_code error;
  const auto ip = boost::asio::ip::make_address(host, error);
  std::uint16_t port = 0;
  const char* end = address.data() + address.size();
  const auto parsed = std::from_chars(address.data() + colon + 1, end, port);
  if (error || parsed.ptr != end) {
    return fmt::format("\"{}\" is not ADDRESS:PORT with an IP address and a port", address);
  }
  return boost::asio::ip::tcp::endpoint(ip, port);
}

std::string format_address(const boost::asio::ip::tcp::endpoint& endpoint) {
  const std::string host = endpoint.address().to_string();
  return endpoint.address().is_v6() ? fmt::format("[{}]:{}", host, endpoint.port())
                                    : fmt::format("{}:{}", host, endpoint.port());
}

}  // namespace pd
