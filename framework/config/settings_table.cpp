#include "framework/config/settings_table.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <type_traits>
#include <utility>

namespace pd {
namespace {

// ---- from a SettingValue to a member and back

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

template <class T>
void store(T& member, const SettingValue& value) {
  if constexpr (IsOptional<T>::value) {
    if (std::holds_alternative<std::monostate>(value)) {
      member.reset();
    } else {
      store(member.emplace(), value);
    }
  } else if constexpr (std::is_enum_v<T>) {
    member = static_cast<T>(std::get<ChoiceIndex>(value).index);
  } else if constexpr (std::is_same_v<T, std::uint32_t>) {
    member = static_cast<T>(std::get<std::int64_t>(value));
  } else {
    member = std::get<T>(value);
  }
}

template <class T>
SettingValue fetch(const T& member) {
  if constexpr (IsOptional<T>::value) {
    return member ? fetch(*member) : SettingValue{};
  } else if constexpr (std::is_enum_v<T>) {
    return ChoiceIndex{static_cast<std::size_t>(member)};
  } else if constexpr (std::is_same_v<T, std::uint32_t>) {
    return static_cast<std::int64_t>(member);
  } else {
    return member;
  }
}

template <auto Section, auto Member>
SettingRow row(const ValueSpec& spec, EnvironmentOverride environment = {}) {
  return {spec, environment,
          [](Settings& settings, const SettingValue& value) {
            store((settings.*Section).*Member, value);
          },
          [](const Settings& settings) { return fetch((settings.*Section).*Member); }};
}

template <auto Member>
PodRow pod_row(const ValueSpec& spec, bool required = false) {
  return {spec, required,
          [](PodSettings& pod, const SettingValue& value) { store(pod.*Member, value); },
          [](const PodSettings& pod) { return fetch(pod.*Member); }};
}

// ---- the kinds of declarations

using Text = std::string_view;
using Choices = std::span<const std::string_view>;

ValueSpec ranged(ValueKind kind, Text key, Text value, Text min, Text max, Text help) {
  ValueSpec spec;
  spec.key = key;
  spec.kind = kind;
  spec.default_text = value;
  spec.min = min;
  spec.max = max;
  spec.help = help;
  return spec;
}

ValueSpec integer(Text key, Text value, Text min, Text max, Text help) {
  return ranged(ValueKind::kInteger, key, value, min, max, help);
}

ValueSpec number(Text key, Text value, Text min, Text max, Text help) {
  return ranged(ValueKind::kFloat, key, value, min, max, help);
}

ValueSpec duration(Text key, Text value, Text min, Text max, Text help) {
  return ranged(ValueKind::kDuration, key, value, min, max, help);
}

ValueSpec size(Text key, Text value, Text min, Text max, Text help) {
  return ranged(ValueKind::kSize, key, value, min, max, help);
}

ValueSpec plain(ValueKind kind, Text key, Text value, Text help) {
  return ranged(kind, key, value, {}, {}, help);
}

ValueSpec choice(Text key, Text value, Choices choices, Text help) {
  ValueSpec spec = plain(ValueKind::kChoice, key, value, help);
  spec.choices = choices;
  return spec;
}

ValueSpec optional(ValueKind kind, Text key, Text absent, Text help) {
  ValueSpec spec = plain(kind, key, {}, help);
  spec.absent = absent;
  return spec;
}

ValueSpec optional_choice(Text key, Choices choices, Text absent, Text help) {
  ValueSpec spec = optional(ValueKind::kChoice, key, absent, help);
  spec.choices = choices;
  return spec;
}

// ---- choices, in the order of their enums in settings.h

constexpr std::array<Text, 1> kTokenizers{"character"};
constexpr std::array<Text, 2> kHandoffMissing{"recompute", "fail"};
constexpr std::array<Text, 5> kLogLevels{"trace", "debug", "info", "warn", "error"};
constexpr std::array<Text, 2> kLogFormats{"text", "json"};
constexpr std::array<Text, 3> kRoles{"prefill", "decode", "combined"};
constexpr std::array<Text, 1> kEngines{"vllm"};
constexpr std::array<Text, 2> kConnectors{"nixl", "shfs"};

// ---- the sections

using Rows = std::vector<SettingRow>;

void add_server(Rows& rows) {
  using S = ServerSettings;
  constexpr auto kServer = &Settings::server;
  rows.push_back(
      row<kServer, &S::listen>(plain(ValueKind::kListen, "server.listen", "0.0.0.0:8080",
                                     "Where clients connect. Port 0 lets the kernel choose one.")));
  rows.push_back(row<kServer, &S::admin>(
      plain(ValueKind::kListen, "server.admin", "127.0.0.1:9090",
            "Where health, metrics and the admin API answer. Keep it on loopback.")));
  rows.push_back(row<kServer, &S::threads>(
      integer("server.threads", "0", "0", "1024",
              "Worker threads. 0 = one for each CPU that the process may use (affinity and cgroup "
              "quota count).")));
}

void add_plugins(Rows& rows) {
  using S = PluginSettings;
  constexpr auto kPlugins = &Settings::plugins;
  rows.push_back(row<kPlugins, &S::directories>(
      plain(ValueKind::kPathList, "plugins.directories", "/usr/lib/pd/plugins",
            "Folders whose lib*.so are loaded. Relative paths start at the folder of this file.")));
  rows.push_back(row<kPlugins, &S::allow>(
      plain(ValueKind::kAllowList, "plugins.allow", {},
            "The plugins that may be loaded, by id, each optionally pinned to a sha256 and a file. "
            "Empty = all in the folders.")));
  rows.push_back(row<kPlugins, &S::staging>(
      optional(ValueKind::kPath, "plugins.staging", "private folder",
               "Where plugins are copied to before they are loaded; code must be allowed to run "
               "there (no noexec).")));
  rows.push_back(row<kPlugins, &S::max_size>(
      size("plugins.max_size", "64MiB", "4KiB", "4GiB", "Largest plugin file that is loaded.")));
}

void add_prefill(Rows& rows) {
  using S = PrefillSettings;
  constexpr auto kPrefill = &Settings::prefill;
  rows.push_back(
      row<kPrefill, &S::policy>(plain(ValueKind::kPolicyName, "prefill.policy", "prefix_cache",
                                      "The policy that scores prefill pods."),
                                {"AIBRIX_PREFILL_SCORE_POLICY"}));
  rows.push_back(row<kPrefill, &S::fallback>(
      plain(ValueKind::kPolicyName, "prefill.fallback", "least_request",
            "The policy that takes over when the first one is quarantined.")));
  rows.push_back(row<kPrefill, &S::min_spread>(
      integer("prefill.min_spread", "16", "1", "1000000",
              "When the busiest and the idlest prefill pod differ by more requests than this, the "
              "idlest is taken without scoring."),
      {"AIBRIX_PREFILL_LOAD_IMBALANCE_MIN_SPREAD"}));
  rows.push_back(row<kPrefill, &S::stddev_factor>(
      number("prefill.stddev_factor", "1.0", "0", "100",
             "Prefill pods with more requests than mean + factor * standard deviation count as "
             "overloaded."),
      {"AIBRIX_PREFIX_CACHE_STANDARD_DEVIATION_FACTOR"}));
}

void add_decode(Rows& rows) {
  using S = DecodeSettings;
  constexpr auto kDecode = &Settings::decode;
  rows.push_back(
      row<kDecode, &S::policy>(plain(ValueKind::kPolicyName, "decode.policy", "load_balancing",
                                     "The policy that scores decode pods."),
                               {"AIBRIX_DECODE_SCORE_POLICY", {}, true}));
  rows.push_back(row<kDecode, &S::fallback>(
      plain(ValueKind::kPolicyName, "decode.fallback", "load_balancing",
            "The policy that takes over when the first one is quarantined.")));
  rows.push_back(row<kDecode, &S::min_spread>(
      number("decode.min_spread", "16.0", "0", "1000000",
             "When the busiest and the idlest decode pod differ by at least this many requests, "
             "the idlest is taken without scoring."),
      {"AIBRIX_DECODE_LOAD_IMBALANCE_MIN_SPREAD"}));
  rows.push_back(row<kDecode, &S::throughput_min_spread>(
      number("decode.throughput_min_spread", "2048.0", "0", "1000000000",
             "The same rule for the spread of token throughput (tokens per second)."),
      {"AIBRIX_DECODE_THROUGHPUT_IMBALANCE_MIN_SPREAD"}));
  rows.push_back(row<kDecode, &S::score_ratio>(
      number(
          "decode.score_ratio", "1.5", "0", "1000000",
          "When the loads of decode pods (requests / drain rate) differ by more than this factor, "
          "the lowest is taken without scoring."),
      {"AIBRIX_DECODE_SCORE_RATIO_THRESHOLD"}));
}

void add_prefix_index(Rows& rows) {
  using S = PrefixIndexSettings;
  constexpr auto kIndex = &Settings::prefix_index;
  rows.push_back(row<kIndex, &S::block_size>(integer("prefix_index.block_size", "128", "1", "65536",
                                                     "Bytes of tokenizer output in one block."),
                                             {"AIBRIX_PREFIX_CACHE_BLOCK_SIZE"}));
  rows.push_back(row<kIndex, &S::capacity>(
      integer("prefix_index.capacity", "2000000", "1", "1000000000",
              "Blocks that are remembered; the least recently used one leaves first."),
      {"AIBRIX_PREFIX_CACHE_BLOCK_NUMBER"}));
  rows.push_back(
      row<kIndex, &S::ttl>(duration("prefix_index.ttl", "20m", "1s", "720h",
                                    "A block that is not used for this long is forgotten."),
                           {"AIBRIX_PREFIX_CACHE_EVICTION_DURATION_MINS", "m"}));
  rows.push_back(row<kIndex, &S::hash_seed>(
      optional(ValueKind::kSeed, "prefix_index.hash_seed", "random",
               "Seed of the block hashes. Give one to compare hashes of several processes. Write "
               "values above 9223372036854775807 in quotes."),
      {"AIBRIX_PREFIX_CACHE_HASH_SEED"}));
  rows.push_back(
      row<kIndex, &S::tokenizer>(choice("prefix_index.tokenizer", "character", kTokenizers,
                                        "How a prompt becomes the bytes that are hashed."),
                                 {"AIBRIX_PREFIX_CACHE_TOKENIZER_TYPE"}));
}

void add_routing(Rows& rows) {
  using S = RoutingSettings;
  constexpr auto kRouting = &Settings::routing;
  rows.push_back(row<kRouting, &S::handoff_missing>(
      choice("routing.handoff_missing", "recompute", kHandoffMissing,
             "A prefill answered without a hand-off: let decode compute the prompt again, or fail "
             "the request.")));
  rows.push_back(row<kRouting, &S::attempts>(
      integer("routing.attempts", "3", "1", "10",
              "Tries of one request, the first included, while nothing was sent to the client.")));
}

void add_limits(Rows& rows) {
  using S = LimitSettings;
  constexpr auto kLimits = &Settings::limits;
  rows.push_back(row<kLimits, &S::concurrent_requests>(integer(
      "limits.concurrent_requests", "4096", "1", "1000000", "Requests in work at the same time.")));
  rows.push_back(row<kLimits, &S::connections>(
      integer("limits.connections", "10000", "1", "1000000", "Open client connections.")));
  rows.push_back(row<kLimits, &S::body>(
      size("limits.body", "64MiB", "1KiB", "4GiB", "Largest request body.")));
  rows.push_back(row<kLimits, &S::header>(
      size("limits.header", "16KiB", "1KiB", "1MiB",
           "Largest head (first line and headers) of a request and of an engine's answer.")));
}

void add_timeouts(Rows& rows) {
  using S = TimeoutSettings;
  constexpr auto kTimeouts = &Settings::timeouts;
  rows.push_back(row<kTimeouts, &S::connect>(
      duration("timeouts.connect", "2s", "1ms", "24h", "Connecting to a pod.")));
  rows.push_back(row<kTimeouts, &S::prefill>(
      duration("timeouts.prefill", "2m", "1ms", "24h", "The prefill leg as a whole."),
      {"AIBRIX_PREFILL_REQUEST_TIMEOUT", "s"}));
  rows.push_back(row<kTimeouts, &S::first_byte>(
      duration("timeouts.first_byte", "2m", "1ms", "24h",
               "From the dispatch of decode to its first content.")));
  rows.push_back(row<kTimeouts, &S::between_bytes>(
      duration("timeouts.between_bytes", "5m", "1ms", "24h",
               "Between two pieces of decode's answer. Engines think: keep it long.")));
  rows.push_back(
      row<kTimeouts, &S::header>(duration("timeouts.header", "10s", "1ms", "24h",
                                          "Reading the head of a request, from its first byte.")));
  rows.push_back(row<kTimeouts, &S::body>(
      duration("timeouts.body", "1m", "1ms", "24h", "Reading the body of a request.")));
  rows.push_back(row<kTimeouts, &S::idle>(duration(
      "timeouts.idle", "1m", "1ms", "24h", "A kept-alive client connection without a request.")));
  rows.push_back(row<kTimeouts, &S::upstream_idle>(
      duration("timeouts.upstream_idle", "4s", "1ms", "24h",
               "A kept-alive connection to a pod. Keep it below the engine's own bound: uvicorn "
               "closes after 5 s.")));
  rows.push_back(row<kTimeouts, &S::write>(
      duration("timeouts.write", "30s", "1ms", "24h", "A client that takes no byte.")));
  rows.push_back(row<kTimeouts, &S::total>(
      duration("timeouts.total", "0", "0", "168h", "One request from end to end. \"0\" = off.")));
  rows.push_back(row<kTimeouts, &S::drain>(
      duration("timeouts.drain", "30s", "0", "24h",
               "Time that running requests get at a shutdown. \"0\" = cut at once.")));
}

void add_log(Rows& rows) {
  using S = LogSettings;
  constexpr auto kLog = &Settings::log;
  rows.push_back(row<kLog, &S::level>(
      choice("log.level", "info", kLogLevels, "The least severe messages that are written.")));
  rows.push_back(row<kLog, &S::format>(
      choice("log.format", "text", kLogFormats, "Lines for people, or one JSON object a line.")));
}

void add_decisions(Rows& rows) {
  using S = DecisionSettings;
  constexpr auto kDecisions = &Settings::decisions;
  rows.push_back(row<kDecisions, &S::keep>(
      integer("decisions.keep", "10000", "0", "10000000",
              "Latest decisions that can be looked up by request id. 0 = none.")));
  rows.push_back(row<kDecisions, &S::memory>(
      size("decisions.memory", "64MiB", "0", "64GiB",
           "Memory that kept decisions may take; the oldest leave first.")));
}

void add_fleet(Rows& rows) {
  using S = FleetSettings;
  constexpr auto kFleet = &Settings::fleet;
  rows.push_back(
      row<kFleet, &S::scrape>(duration("fleet.scrape", "250ms", "10ms", "1h",
                                       "Interval at which the metrics of each pod are read."),
                              {"AIBRIX_POD_METRIC_REFRESH_INTERVAL_MS", "ms"}));
  rows.push_back(row<kFleet, &S::scrape_timeout>(
      duration("fleet.scrape_timeout", "1s", "10ms", "1h", "Bound of one such read.")));
  rows.push_back(row<kFleet, &S::stale>(
      duration("fleet.stale", "5s", "20ms", "24h",
               "Age at which a sample counts as missing. More than fleet.scrape.")));
  rows.push_back(row<kFleet, &S::connector>(
      choice("fleet.connector", "nixl", kConnectors, "KV connector of the pods that name none."),
      {"AIBRIX_KV_CONNECTOR_TYPE", {}, true}));
}

Rows build_settings_table() {
  Rows rows;
  add_server(rows);
  add_plugins(rows);
  add_prefill(rows);
  add_decode(rows);
  add_prefix_index(rows);
  add_routing(rows);
  add_limits(rows);
  add_timeouts(rows);
  add_log(rows);
  add_decisions(rows);
  add_fleet(rows);
  return rows;
}

std::vector<PodRow> build_pod_table() {
  using P = PodSettings;
  return {
      pod_row<&P::name>(plain(ValueKind::kPodName, "name", {},
                              "Unique name; it shows up in logs, metrics and answer headers."),
                        true),
      pod_row<&P::url>(plain(ValueKind::kPodUrl, "url", {}, "Where the engine listens."), true),
      pod_row<&P::model>(
          plain(ValueKind::kText, "model", {}, "The model that it serves, as clients name it."),
          true),
      pod_row<&P::role>(choice("role", {}, kRoles, "Its half of the work; combined pods do both."),
                        true),
      pod_row<&P::roleset>(plain(ValueKind::kText, "roleset", "default",
                                 "Prefill and decode pods are paired within one roleset.")),
      pod_row<&P::engine>(choice("engine", "vllm", kEngines, "The engine that runs there.")),
      pod_row<&P::connector>(optional_choice("connector", kConnectors, "fleet.connector",
                                             "How the KV cache travels.")),
      pod_row<&P::labels>(
          plain(ValueKind::kLabels, "labels", {}, "Labels for policies, as in { zone = \"a\" }.")),
      pod_row<&P::metrics_url>(optional(ValueKind::kMetricsUrl, "metrics_url", "url + \"/metrics\"",
                                        "Where its metrics are read.")),
      pod_row<&P::group_index>(
          optional(ValueKind::kText, "group_index", "none",
                   "Its number where several pods form one replica; only number 0 answers "
                   "requests.")),
      pod_row<&P::replica_index>(optional(ValueKind::kText, "replica_index", "none",
                                          "Its replica; pods of one replica count once.")),
  };
}

constexpr std::array<PolicyOptionOverride, 2> kPolicyOptionOverrides{{
    {"AIBRIX_DECODE_LB_WEIGHT_RUNNING", "load_balancing", "weight_running"},
    {"AIBRIX_DECODE_LB_WEIGHT_THROUGHPUT", "load_balancing", "weight_throughput"},
}};

}  // namespace

std::span<const SettingRow> settings_table() {
  static const Rows kRows = build_settings_table();
  return kRows;
}

std::span<const PodRow> pod_table() {
  static const std::vector<PodRow> kRows = build_pod_table();
  return kRows;
}

std::span<const PolicyOptionOverride> policy_option_overrides() {
  return kPolicyOptionOverrides;
}

const SettingRow* find_setting(std::string_view key) {
  const auto rows = settings_table();
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&](const SettingRow& each) { return each.spec.key == key; });
  return found == rows.end() ? nullptr : &*found;
}

const PodRow* find_pod_key(std::string_view key) {
  const auto rows = pod_table();
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&](const PodRow& each) { return each.spec.key == key; });
  return found == rows.end() ? nullptr : &*found;
}

std::string_view section_of(std::string_view key) {
  return key.substr(0, key.find('.'));
}

Settings default_settings() {
  Settings settings;
  for (const SettingRow& each : settings_table()) {
    if (each.spec.default_text.empty() && !each.spec.absent.empty()) continue;
    const auto value = value_from_text(each.spec, each.spec.default_text);
    assert(value && "a default of the table breaks its own row");
    if (value) each.set(settings, *value);
  }
  return settings;
}

}  // namespace pd
