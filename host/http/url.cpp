#include "host/http/url.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "host/http/head.h"

namespace pd::http {
namespace {

using Result = boost::system::result<Url, UrlError>;
using Code = UrlErrorCode;

struct ErrorEntry {
  UrlErrorCode code;
  std::string_view name;
  std::string_view text;  // "{}" is replaced by the address
};

constexpr std::array kErrors{
    ErrorEntry{Code::kMissingScheme, "url_missing_scheme",
               "engine address '{}' has no scheme; write http://host:port"},
    ErrorEntry{Code::kTlsUnsupported, "url_tls_unsupported",
               "engine address '{}' asks for https; TLS to engines is not supported yet, use "
               "http://host:port"},
    ErrorEntry{Code::kUnknownScheme, "url_unknown_scheme",
               "engine address '{}' has an unknown scheme; only http:// is supported"},
    ErrorEntry{Code::kUserInfo, "url_user_info",
               "engine address '{}' holds a user name or password; write http://host:port"},
    ErrorEntry{
        Code::kPath, "url_path",
        "engine address '{}' has a path, query or fragment; write http://host:port, the path "
        "comes from each request"},
    ErrorEntry{Code::kBadHost, "url_bad_host",
               "engine address '{}' has no valid host; allowed are a name, an IPv4 address, or an "
               "IPv6 address in brackets such as http://[::1]:8000"},
    ErrorEntry{Code::kBadPort, "url_bad_port",
               "engine address '{}' has no valid port; allowed are 1 to 65535"},
};

constexpr bool entries_are_in_enum_order() {
  for (std::size_t i = 0; i < kErrors.size(); ++i) {
    if (static_cast<std::size_t>(kErrors[i].code) != i) return false;
  }
  return kErrors.size() == static_cast<std::size_t>(Code::kBadPort) + 1;
}
static_assert(entries_are_in_enum_order());

constexpr std::string_view kScheme = "http";
constexpr std::string_view kSchemeEnd = "://";
constexpr std::size_t kMaxHost = 253;

// User names and passwords are not repeated in texts that end up in logs.
std::string shown(std::string_view text) {
  const std::size_t at = text.rfind('@');
  std::string result(at == std::string_view::npos ? text : text.substr(at));
  std::replace_if(
      result.begin(), result.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return result;
}

UrlError error(Code code, std::string_view address) {
  const std::string_view text = kErrors[static_cast<std::size_t>(code)].text;
  const std::size_t place = text.find("{}");
  return {code, std::string(text.substr(0, place)) + shown(address) +
                    std::string(text.substr(place + 2))};
}

bool is_host_name(std::string_view host) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_';
  };
  return !host.empty() && host.size() <= kMaxHost &&
         std::all_of(host.begin(), host.end(), allowed) && host.front() != '.' &&
         host.front() != '-';
}

bool is_ipv6_address(const std::string& host) {
  in6_addr address;
  return inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (ec != std::errc() || end != text.data() + text.size() || port == 0) return std::nullopt;
  return port;
}

// Splits "host[:port]" or "[ipv6][:port]"; false when the brackets are unbalanced.
bool split_authority(std::string_view authority, Url& url, std::optional<std::string_view>& port) {
  std::size_t host_end = authority.find(':');
  if (authority.starts_with('[')) {
    const std::size_t bracket = authority.find(']');
    if (bracket == std::string_view::npos) return false;
    url.is_ipv6 = true;
    url.host = authority.substr(1, bracket - 1);
    authority.remove_prefix(bracket + 1);
    if (authority.empty()) return true;
    if (authority.front() != ':') return false;
    host_end = 0;
  } else {
    url.host = authority.substr(0, host_end);
  }
  if (host_end != std::string_view::npos) port = authority.substr(host_end + 1);
  return true;
}

Result parse_authority(std::string_view authority, std::string_view text) {
  Url url;
  std::optional<std::string_view> port;
  const bool split = split_authority(authority, url, port);
  if (!split || !(url.is_ipv6 ? is_ipv6_address(url.host) : is_host_name(url.host))) {
    return error(Code::kBadHost, text);
  }
  if (!port) return url;
  const auto number = parse_port(*port);
  if (!number) return error(Code::kBadPort, text);
  url.port = *number;
  return url;
}

}  // namespace

std::string Url::host_header() const {
  std::string value = is_ipv6 ? "[" + host + "]" : host;
  if (port != kDefaultPort) value += ":" + std::to_string(port);
  return value;
}

Result parse_url(std::string_view text) {
  const std::size_t scheme_end = text.find(kSchemeEnd);
  if (scheme_end == std::string_view::npos) return error(Code::kMissingScheme, text);
  const std::string_view scheme = text.substr(0, scheme_end);
  if (equals_ignoring_case(scheme, "https")) return error(Code::kTlsUnsupported, text);
  if (!equals_ignoring_case(scheme, kScheme)) return error(Code::kUnknownScheme, text);
  std::string_view authority = text.substr(scheme_end + kSchemeEnd.size());
  if (authority.find('@') != std::string_view::npos) return error(Code::kUserInfo, text);
  const std::size_t path = authority.find_first_of("/?#");
  if (path != std::string_view::npos) {
    if (authority.substr(path) != "/") return error(Code::kPath, text);
    authority = authority.substr(0, path);
  }
  return parse_authority(authority, text);
}

std::string_view code_name(UrlErrorCode code) {
  return kErrors[static_cast<std::size_t>(code)].name;
}

}  // namespace pd::http
