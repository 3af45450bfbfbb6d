// What a discovery source says of one pod. Text as given: an absent label differs from an empty
// one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace pd {

enum class Role : std::uint8_t { kPrefill = 1, kDecode = 2, kCombined = 3, kOther = 4 };

struct PodSpec {
  std::string name;
  std::string model;
  Role role = Role::kOther;
  std::optional<std::string> roleset;
  std::optional<std::string> engine;  // "vllm"
  std::string connector;              // of the engine: "nixl", "shfs"
  std::string host;                   // without brackets
  std::uint16_t port = 0;
  std::string metrics_path = "/metrics";
  std::optional<std::uint16_t> metrics_port;  // where it is not `port`
  std::optional<std::string> group_index;     // rank of a pod that spans nodes; "0" serves HTTP
  std::optional<std::string> replica_index;
  std::map<std::string, std::string> labels;

  bool operator==(const PodSpec&) const = default;
};

// Only the first pod of a group answers HTTP: no group index, or exactly "0".
bool serves_http(const PodSpec& spec);

// A pod of a group behind the first one (index above 0) counts nowhere, not even as an engine.
bool is_follower(const PodSpec& spec);

// "prefill", "decode", "combined", "other".
const char* role_name(Role role);

}  // namespace pd
