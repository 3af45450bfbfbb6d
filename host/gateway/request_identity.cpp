#include "host/gateway/request_identity.h"

#include <fmt/format.h>

#include <algorithm>

namespace pd {
namespace {

constexpr std::size_t kLongestId = 128;

bool is_sane(std::string_view id) {
  return !id.empty() && id.size() <= kLongestId &&
         std::all_of(id.begin(), id.end(), [](char c) { return c > ' ' && c < 0x7F; });
}

}  // namespace

std::string request_id_of(const http::RequestHead& head, std::uint64_t random) {
  const auto given = head.find("x-request-id");
  if (given && is_sane(*given)) return std::string(*given);
  return fmt::format("pd-{:016x}", random);
}

std::string session_of(const http::RequestHead& head) {
  for (const std::string_view name : {"x-pd-session", "x-session-id"}) {
    const auto value = head.find(name);
    if (value && !value->empty()) return std::string(*value);
  }
  return {};
}

}  // namespace pd
