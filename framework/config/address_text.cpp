#include "framework/config/address_text.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace pd {
namespace {

constexpr std::size_t kLongestName = 253;        // of a DNS name, and of a Kubernetes object
constexpr std::size_t kLongestSocketPath = 107;  // sockaddr_un holds 108 with the final zero

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kLongestName &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return is_letter_or_digit(c) || c == '.' || c == '_' || c == '-';
         });
}

bool is_bracketed_ipv6(std::string_view text) {
  if (text.size() < 4 || text.front() != '[' || text.back() != ']') return false;
  const std::string_view inside = text.substr(1, text.size() - 2);
  return inside.find(':') != std::string_view::npos &&
         std::all_of(inside.begin(), inside.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') ||
                  c == ':' || c == '.';
         });
}

bool is_port(std::string_view text, std::uint16_t smallest) {
  std::uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, port);
  return error == std::errc{} && rest == end && port >= smallest;
}

bool is_host_and_port(std::string_view text, std::uint16_t smallest_port) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return false;
  const std::string_view host = text.substr(0, colon);
  return (is_name(host) || is_bracketed_ipv6(host)) &&
         is_port(text.substr(colon + 1), smallest_port);
}

}  // namespace

bool is_plain_text(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
  });
}

bool is_listen_address(std::string_view text) {
  constexpr std::string_view kUnix = "unix:";
  if (text.substr(0, kUnix.size()) == kUnix) {
    const std::string_view path = text.substr(kUnix.size());
    return path.size() > 1 && path.front() == '/' && path.size() <= kLongestSocketPath;
  }
  return is_host_and_port(text, 0);
}

bool is_plain_name(std::string_view text) {
  return is_name(text);
}

bool is_http_url(std::string_view text) {
  constexpr std::string_view kScheme = "http://";
  if (text.substr(0, kScheme.size()) != kScheme) return false;
  text.remove_prefix(kScheme.size());
  const std::size_t path_start = std::min(text.find('/'), text.size());
  const std::string_view path = text.substr(path_start);
  return is_host_and_port(text.substr(0, path_start), 1) &&
         std::all_of(path.begin(), path.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

bool is_pod_url(std::string_view text) {
  if (!text.empty() && text.back() == '/') text.remove_suffix(1);
  return is_http_url(text) && text.find('/', std::string_view("http://").size()) == text.npos;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  const std::size_t start = text.find_first_not_of(kBlanks);
  if (start == std::string_view::npos) return {};
  return text.substr(start, text.find_last_not_of(kBlanks) - start + 1);
}

std::string canonical_policy_name(std::string_view text) {
  std::string name(trimmed(text));
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return name;
}

}  // namespace pd
