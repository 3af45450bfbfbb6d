#include "framework/fleet/pod_spec.h"

#include <algorithm>
#include <string_view>

namespace pd {

bool serves_http(const PodSpec& spec) {
  return !spec.group_index || *spec.group_index == "0";
}

bool is_follower(const PodSpec& spec) {
  if (!spec.group_index) return false;
  std::string_view text = *spec.group_index;
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  const bool digits = !text.empty() && std::all_of(text.begin(), text.end(),
                                                   [](char c) { return c >= '0' && c <= '9'; });
  return digits && text.find_first_not_of('0') != std::string_view::npos;
}

const char* role_name(Role role) {
  switch (role) {
    case Role::kPrefill:
      return "prefill";
    case Role::kDecode:
      return "decode";
    case Role::kCombined:
      return "combined";
    case Role::kOther:
      break;
  }
  return "other";
}

}  // namespace pd
