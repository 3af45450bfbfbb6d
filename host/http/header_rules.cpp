#include "host/http/header_rules.h"

#include <algorithm>
#include <array>

#include "host/http/head_writer.h"

namespace pd::http {
namespace {

using namespace std::string_view_literals;

constexpr std::array kNeverForwarded{
    "connection"sv,     "keep-alive"sv,        "te"sv,
    "trailer"sv,        "transfer-encoding"sv, "upgrade"sv,
    "http2-settings"sv, "content-length"sv,    "host"sv,
    "expect"sv,         "x-request-id"sv,
};
constexpr std::array kWrittenForClients{"prefill-target-pod"sv, "target-pod"sv};

template <std::size_t kSize>
bool contains(const std::array<std::string_view, kSize>& names, std::string_view name) {
  return std::any_of(names.begin(), names.end(),
                     [name](std::string_view other) { return equals_ignoring_case(other, name); });
}

bool listed_in_connection(std::string_view name, std::span<const Field> fields) {
  for (const Field& field : fields) {
    if (!equals_ignoring_case(field.name, "connection")) continue;
    std::string_view list = field.value;
    while (const auto option = next_list_element(list)) {
      if (equals_ignoring_case(*option, name)) return true;
    }
  }
  return false;
}

bool crosses(std::string_view name, std::span<const Field> fields) {
  if (name.find('_') != std::string_view::npos) return false;
  if (starts_with_ignoring_case(name, "proxy-") || starts_with_ignoring_case(name, "x-pd-")) {
    return false;
  }
  return !contains(kNeverForwarded, name) && !listed_in_connection(name, fields);
}

}  // namespace

bool goes_to_engine(std::string_view name, std::span<const Field> fields) {
  return crosses(name, fields) && !equals_ignoring_case(name, "accept-encoding");
}

bool goes_to_client(std::string_view name, std::span<const Field> fields) {
  return crosses(name, fields) && !contains(kWrittenForClients, name);
}

void append_forwarded(std::string& out, const RequestHead& head) {
  bool authorization_written = false;
  for (const Field& field : head.fields) {
    if (!goes_to_engine(field.name, head.fields)) continue;
    if (equals_ignoring_case(field.name, "authorization")) {
      if (authorization_written) continue;
      authorization_written = true;
    }
    append_field(out, field.name, field.value);
  }
  append_field(out, "Accept-Encoding", "identity");
}

void append_forwarded(std::string& out, const ResponseHead& head) {
  for (const Field& field : head.fields) {
    if (goes_to_client(field.name, head.fields)) append_field(out, field.name, field.value);
  }
}

}  // namespace pd::http
