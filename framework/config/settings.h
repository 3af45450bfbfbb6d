// What pd.toml says, as plain structs.
//
// No defaults stand here: settings_table.cpp is the only place that knows them, and load_settings()
// fills every member. A Settings value is immutable once loaded; any thread may read it.
// Ranges are those of settings_table.cpp and already checked.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace pd {

/// A place in a configuration file; both count from 1, and 0 means "no such place".
struct ConfigPosition {
  std::uint32_t line = 0;
  std::uint32_t column = 0;

  friend auto operator<=>(const ConfigPosition&, const ConfigPosition&) = default;
};

struct ServerSettings {
  std::string listen;       ///< "ADDRESS:PORT", "[IPV6]:PORT" or "unix:/PATH"
  std::string admin;        ///< the same forms
  std::uint32_t threads{};  ///< 0 = ask worker_threads()
};

/// One entry of plugins.allow. The pins are optional.
struct PluginAllow {
  std::string id;                     ///< as the plugin's descriptor names itself
  std::optional<std::string> sha256;  ///< 64 lower-case hexadecimal digits
  std::optional<std::string> file;    ///< where it must lie; relative paths are already resolved

  friend bool operator==(const PluginAllow&, const PluginAllow&) = default;
};

struct PluginSettings {
  std::vector<std::string> directories;  ///< never empty; relative paths are already resolved
  std::vector<PluginAllow> allow;        ///< empty = every plugin of the directories
  std::optional<std::string> staging;    ///< absent = the host picks a private folder
  std::uint64_t max_size{};              ///< bytes of one plugin file
};

struct PrefillSettings {
  std::string policy;  ///< trimmed, lower case
  std::string fallback;
  std::uint32_t min_spread{};  ///< requests
  double stddev_factor{};
};

struct DecodeSettings {
  std::string policy;  ///< trimmed, lower case
  std::string fallback;
  double min_spread{};             ///< requests
  double throughput_min_spread{};  ///< tokens per second
  double score_ratio{};
};

enum class TokenizerKind : std::uint8_t { kCharacter };

struct PrefixIndexSettings {
  std::uint32_t block_size{};  ///< bytes of tokenizer output
  std::uint32_t capacity{};    ///< blocks
  std::chrono::milliseconds ttl{};
  std::optional<std::uint64_t> hash_seed;  ///< absent = a random one at start
  TokenizerKind tokenizer{};
};

/// What happens when a prefill answers without the hand-off that decode needs.
enum class HandoffMissing : std::uint8_t { kRecompute, kFail };

struct RoutingSettings {
  HandoffMissing handoff_missing{};
  std::uint32_t attempts{};  ///< tries of one request, the first included
};

struct LimitSettings {
  std::uint32_t concurrent_requests{};
  std::uint32_t connections{};
  std::uint64_t body{};    ///< bytes
  std::uint64_t header{};  ///< bytes
};

struct TimeoutSettings {
  std::chrono::milliseconds connect{};
  std::chrono::milliseconds prefill{};
  std::chrono::milliseconds first_byte{};
  std::chrono::milliseconds between_bytes{};
  std::chrono::milliseconds header{};
  std::chrono::milliseconds body{};
  std::chrono::milliseconds idle{};
  std::chrono::milliseconds upstream_idle{};
  std::chrono::milliseconds write{};
  std::chrono::milliseconds total{};  ///< 0 = no bound
  std::chrono::milliseconds drain{};
};

enum class LogLevel : std::uint8_t { kTrace, kDebug, kInfo, kWarn, kError };
enum class LogFormat : std::uint8_t { kText, kJson };

struct LogSettings {
  LogLevel level{};
  LogFormat format{};
};

struct DecisionSettings {
  std::uint32_t keep{};    ///< decisions; 0 = keep none
  std::uint64_t memory{};  ///< bytes
};

enum class ConfiguredRole : std::uint8_t { kPrefill, kDecode, kCombined };
enum class EngineKind : std::uint8_t { kVllm };
enum class ConnectorKind : std::uint8_t { kNixl, kShfs };

/// One [[fleet.pod]]. Names are unique within the fleet.
struct PodSettings {
  std::string name;
  std::string url;  ///< "http://HOST:PORT", without a final slash
  std::string model;
  ConfiguredRole role{};
  std::string roleset;
  EngineKind engine{};
  std::optional<ConnectorKind> connector;  ///< present after loading (fleet.connector fills it in)
  std::map<std::string, std::string> labels;
  std::optional<std::string> metrics_url;
  std::optional<std::string> group_index;
  std::optional<std::string> replica_index;
};

struct FleetSettings {
  std::chrono::milliseconds scrape{};
  std::chrono::milliseconds scrape_timeout{};
  std::chrono::milliseconds stale{};  ///< a sample of this age counts as missing
  ConnectorKind connector{};          ///< for pods that name none
  std::vector<PodSettings> pods;      ///< never empty
};

using PolicyOptionValue = std::variant<std::int64_t, double, bool, std::string>;

/// One option of a [policy.NAME] table. Its type and bounds are not checked yet: only the policy
/// knows them, and publishes them when its plugin is loaded.
struct PolicyOption {
  std::string key;
  PolicyOptionValue value;
  ConfigPosition position;  ///< of the value; line 0 when an environment variable gave it
  std::string variable;     ///< that variable, else empty
};

struct Settings {
  ServerSettings server;
  PluginSettings plugins;
  PrefillSettings prefill;
  DecodeSettings decode;
  /// Policy name (lower case) -> options in the order of the file.
  std::map<std::string, std::vector<PolicyOption>> policies;
  PrefixIndexSettings prefix_index;
  RoutingSettings routing;
  LimitSettings limits;
  TimeoutSettings timeouts;
  LogSettings log;
  DecisionSettings decisions;
  FleetSettings fleet;
};

}  // namespace pd
