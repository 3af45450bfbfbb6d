#pragma once
// The address of an engine as it stands in the configuration: "http://host:port".

#include <boost/system/result.hpp>
#include <cstdint>
#include <string>
#include <string_view>

namespace pd::http {

inline constexpr std::uint16_t kDefaultPort = 80;

struct Url {
  std::string host;  // a name, an IPv4 address, or an IPv6 address without brackets
  std::uint16_t port = kDefaultPort;  // 1 to 65535
  bool is_ipv6 = false;

  // Value of the Host header: IPv6 in brackets, the port unless it is 80.
  std::string host_header() const;

  bool operator==(const Url&) const = default;
};

enum class UrlErrorCode {
  kMissingScheme,
  kTlsUnsupported,
  kUnknownScheme,
  kUserInfo,
  kPath,
  kBadHost,
  kBadPort,
};

struct UrlError {
  UrlErrorCode code;
  std::string text;  // one line: the address, what is wrong with it, what is allowed
};

// Parses "http://host[:port][/]"; the scheme in any case, the port defaults to 80. Paths, queries,
// user names and https are refused with a text of their own. IPv6 stands in brackets.
// Stateless, any thread, throws nothing but std::bad_alloc.
boost::system::result<Url, UrlError> parse_url(std::string_view text);

// The stable identifier, for example "url_bad_port".
std::string_view code_name(UrlErrorCode code);

}  // namespace pd::http
