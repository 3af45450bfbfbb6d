// Start, stop, and what an operator can ask for meanwhile.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <csignal>
#include <cstdlib>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "tests/integration/deployment.h"
#include "tests/integration/event_stream.h"
#include "tests/integration/scripted_engine.h"

namespace pd::test {
namespace {

namespace json = boost::json;
using std::string;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kChat = "/v1/chat/completions";
constexpr int kBadConfig = 3;
constexpr int kNoPlugin = 4;
constexpr int kRequestsCut = 6;

string chat(std::string_view more = R"("max_tokens":8)") {
  return R"({"model":"sim","messages":[{"role":"user","content":"hi"}],)" + string(more) + "}";
}

std::vector<FleetPod> nowhere() {
  return {{.name = "p0", .role = "prefill", .port = 1},
          {.name = "d0", .role = "decode", .port = 1}};
}

string replaced(string text, const string& old, const string& now) {
  const std::size_t at = text.find(old);
  EXPECT_NE(at, string::npos) << old;
  return at == string::npos ? text : text.replace(at, old.size(), now);
}

class HostCommandsTest : public ::testing::Test {
 protected:
  ProgramResult run(std::vector<string> words, const string& config) {
    words.insert(words.end(), {"--config", folder_.write("pd.toml", config)});
    return run_host(words);
  }
  ScratchFolder folder_;
};

TEST_F(HostCommandsTest, DoesNotStartWithoutPluginsAndNamesTheFolder) {
  const string empty = (folder_.path() / "empty").string();
  std::filesystem::create_directory(empty);
  for (const string& directory : {empty, (folder_.path() / "missing").string()}) {
    const auto result =
        run({"serve"}, replaced(host_config(nowhere()), PD_PLUGIN_DIRECTORY, directory));
    EXPECT_EQ(result.status, kNoPlugin) << result.errors;
    EXPECT_THAT(result.errors, HasSubstr(directory));
  }
}

TEST_F(HostCommandsTest, AnUnknownPolicyNameListsTheValidOnes) {
  const string prefill = host_config(nowhere(), "[prefill]\npolicy = \"prefix_cach\"\n");
  const string decode = host_config(nowhere(), "[decode]\npolicy = \"roundrobin\"\n");
  const string fallback = host_config(nowhere(), "[decode]\nfallback = \"prefix_cache\"\n");
  for (const char* word : {"serve", "check"}) {
    for (const string& config : {prefill, decode, fallback}) {
      const auto result = run({word}, config);
      EXPECT_EQ(result.status, kNoPlugin) << result.errors;
      EXPECT_THAT(result.errors, HasSubstr("least_request"));
      EXPECT_THAT(result.errors, HasSubstr("conductor"));
    }
    EXPECT_THAT(run({word}, prefill).errors, HasSubstr("prefix_cache"));
    EXPECT_THAT(run({word}, decode).errors, HasSubstr("load_balancing"));
  }
}

TEST_F(HostCommandsTest, ABadFileIsNamedWithItsLine) {
  const string good = host_config(nowhere());
  const auto lines = static_cast<int>(std::ranges::count(good, '\n'));
  const std::vector<std::pair<string, string>> bad{
      {"x = = 1\n", ""},
      {"[limits]\nboddy = \"1MiB\"\n", "limits.boddy"},
      {"[timeouts]\nidle = 5\n", "timeouts.idle"},
      {"[limits]\nconcurrent_requests = 4.0\n", "limits.concurrent_requests"},
      {"[policy.load_balancing]\nweight_runing = 1.0\n", "weight_runing"}};
  for (const auto& [tail, named] : bad) {
    SCOPED_TRACE(tail);
    const auto tail_lines = static_cast<int>(std::ranges::count(tail, '\n'));
    for (const char* word : {"serve", "check"}) {
      const auto result = run({word}, good + tail);
      EXPECT_THAT(result.status, AnyOf(kBadConfig, kNoPlugin)) << result.errors;
      EXPECT_THAT(result.errors, HasSubstr("pd.toml:" + std::to_string(lines + tail_lines)));
      EXPECT_THAT(result.errors, HasSubstr(named));
    }
  }
  EXPECT_EQ(run({"check"}, "").status, kBadConfig);
  EXPECT_EQ(run_host({"check", "--config", (folder_.path() / "none.toml").string()}).status,
            kBadConfig);
}

TEST_F(HostCommandsTest, WrongWordsAreStatus2) {
  for (const std::vector<string>& words :
       {std::vector<string>{"serve"}, {"bogus"}, {"check", "--config"}, {"plugin"}}) {
    EXPECT_EQ(run_host(words).status, 2) << words.front();
  }
}

TEST_F(HostCommandsTest, CheckShowsEachValueAndItsSource) {
  const string config = host_config(nowhere(), "[limits]\nbody = \"2MiB\"\n");
  const auto table = run({"check"}, config);
  EXPECT_EQ(table.status, 0) << table.errors;
  std::istringstream lines(table.output);
  std::map<string, string> rows;
  for (string line; std::getline(lines, line);) rows[line.substr(0, line.find(' '))] = line;
  EXPECT_THAT(rows["limits.body"], HasSubstr("2MiB"));
  EXPECT_THAT(rows["limits.body"], HasSubstr("pd.toml:"));
  EXPECT_THAT(rows["limits.header"], HasSubstr("16KiB"));
  EXPECT_THAT(rows["limits.header"], HasSubstr("default"));

  setenv("AIBRIX_DECODE_SCORE_POLICY", "least_request", 1);
  const auto result = run({"check", "--json"}, config);
  unsetenv("AIBRIX_DECODE_SCORE_POLICY");
  EXPECT_EQ(result.status, 0) << result.errors;
  const json::value whole = json::parse(result.output);
  const json::value& settings = whole.at("settings");
  EXPECT_EQ(settings.at("limits.body").at("value"), "2MiB");
  EXPECT_EQ(settings.at("limits.body").at("source"), "file");
  EXPECT_GT(settings.at("limits.body").at("line").to_number<int>(), 0);
  EXPECT_EQ(settings.at("limits.header").at("source"), "default");
  EXPECT_EQ(settings.at("decode.policy").at("value"), "least_request");
  EXPECT_THAT(string(settings.at("decode.policy").at("source").as_string()), HasSubstr("env"));
  EXPECT_EQ(whole.at("pods").as_array().size(), 2U);
}

TEST_F(HostCommandsTest, InspectTellsAGoodPluginFromABadFile) {
  const string good = PD_PLUGIN_DIRECTORY "/libpd_prefill_prefix_cache.so";
  const string bad = folder_.write("libnot.so", "this is text\n");
  const auto table = run_host({"plugin", "inspect", good});
  EXPECT_EQ(table.status, 0) << table.errors;
  EXPECT_THAT(table.output, HasSubstr("pd.prefill_prefix_cache"));
  EXPECT_THAT(table.output, HasSubstr("prefix_cache"));

  const auto machine = run_host({"plugin", "inspect", "--json", good});
  EXPECT_EQ(machine.status, 0) << machine.errors;
  const json::value plugin = json::parse(machine.output);
  EXPECT_EQ(plugin.at("id"), "pd.prefill_prefix_cache");
  EXPECT_EQ(plugin.at("sha256").as_string().size(), 64U);
  EXPECT_EQ(plugin.at("policies").at(0).at("kind"), "prefill");
  EXPECT_EQ(plugin.at("policies").at(0).at("name"), "prefix_cache");
  EXPECT_TRUE(plugin.at("error").is_null());

  for (const string& file : {bad, (folder_.path() / "missing.so").string()}) {
    const auto refused = run_host({"plugin", "inspect", file});
    EXPECT_EQ(refused.status, kNoPlugin);
    EXPECT_THAT(refused.output + refused.errors, HasSubstr("refused"));
    const auto as_json = run_host({"plugin", "inspect", "--json", file});
    EXPECT_EQ(as_json.status, kNoPlugin);
    const json::value told = json::parse(as_json.output);
    EXPECT_FALSE(told.at("error").at("message").as_string().empty());
    EXPECT_FALSE(told.at("error").at("code").as_string().empty());
  }
}

TEST_F(HostCommandsTest, APortInUseIsStatus5) {
  const ScriptedEngine stranger(good_prefill());
  const HostProcess other(host_config(nowhere()));
  for (const std::uint16_t taken : {stranger.port(), other.gateway(), other.admin()}) {
    const auto result =
        run({"serve"}, replaced(host_config(nowhere()), "listen = \"127.0.0.1:0\"",
                                "listen = \"127.0.0.1:" + std::to_string(taken) + "\""));
    EXPECT_EQ(result.status, 5) << result.errors;
    EXPECT_THAT(result.errors, HasSubstr(std::to_string(taken)));
  }
}

class HostShutdownTest : public ::testing::Test {
 protected:
  // A stream that has begun and goes on for about `tokens` times 10 ms.
  WireClient begin_stream(Deployment& fleet, int tokens) {
    fleet.timing(R"({"decode_base":"10ms"})");
    WireClient client = fleet.client();
    client.send(http_request(
        "POST", kChat, chat(R"("max_tokens":)" + std::to_string(tokens) + R"(,"stream":true)")));
    EXPECT_TRUE(client.read_until("\"content\":\" "));
    return client;
  }
};

TEST_F(HostShutdownTest, AStreamInProgressEndsWholeAndNothingNewBegins) {
  Deployment fleet;
  WireClient idle = fleet.client();
  idle.send(http_request("GET", "/v1/models"));
  ASSERT_EQ(idle.read().status, 200);
  WireClient client = begin_stream(fleet, 150);
  fleet.host().program().signal(SIGTERM);
  EXPECT_TRUE(eventually([&] { return !WireClient(fleet.host().gateway()).connected(); }))
      << "new connections are still taken";
  EXPECT_EQ(fleet.admin("/readyz").status, 503);
  if (idle.send(http_request("POST", kChat, chat()))) {
    const auto late = idle.read();
    if (late.status != 0) {
      EXPECT_EQ(late.status, 503) << late.body;
    }
  }
  const auto answer = client.read();
  EXPECT_TRUE(answer.whole()) << answer.problem;
  EXPECT_EQ(last_event(answer.body), "[DONE]");
  EXPECT_EQ(fleet.host().program().wait(), 0) << fleet.host().program().errors();
  fleet.host().expect_ended();
}

TEST_F(HostShutdownTest, TheSecondSignalCutsAtOnce) {
  Deployment fleet;
  WireClient client = begin_stream(fleet, 1000000);
  fleet.host().program().signal(SIGTERM);
  EXPECT_TRUE(eventually([&] { return !WireClient(fleet.host().gateway()).connected(); }));
  EXPECT_EQ(fleet.host().program().wait(std::chrono::milliseconds(0)), std::nullopt);
  fleet.host().program().signal(SIGINT);
  EXPECT_EQ(fleet.host().program().wait(std::chrono::seconds(5)), kRequestsCut);
  fleet.host().expect_ended();
  const auto answer = client.read();
  EXPECT_THAT(answer.body, Not(HasSubstr("[DONE]")));
  const auto events = event_data(answer.body);
  EXPECT_TRUE(!answer.whole() ||
              (!events.empty() && events.back().find("\"error\"") != string::npos))
      << "half an answer looks whole";
}

TEST_F(HostShutdownTest, TheDrainDeadlineCuts) {
  Deployment fleet({.settings = "[timeouts]\ndrain = \"300ms\"\n"});
  WireClient client = begin_stream(fleet, 1000000);
  fleet.host().program().signal(SIGTERM);
  EXPECT_EQ(fleet.host().program().wait(std::chrono::seconds(10)), kRequestsCut);
  fleet.host().expect_ended();
  const auto answer = client.read();
  EXPECT_THAT(answer.body, Not(HasSubstr("[DONE]")));
  const auto events = event_data(answer.body);
  EXPECT_TRUE(!answer.whole() ||
              (!events.empty() && events.back().find("\"error\"") != string::npos))
      << "half an answer looks whole";
}

TEST_F(HostShutdownTest, AnIdleHostStopsAtOnceThoughConnectionsAreOpen) {
  Deployment fleet;
  WireClient idle = fleet.client();
  idle.send(http_request("GET", "/v1/models"));
  ASSERT_EQ(idle.read().status, 200);
  const WireClient silent = fleet.client();
  fleet.host().program().signal(SIGINT);
  EXPECT_EQ(fleet.host().program().wait(std::chrono::seconds(5)), 0);
  fleet.host().expect_ended();
  EXPECT_TRUE(idle.ends());
}

class HostAdminTest : public ::testing::Test {
 protected:
  std::set<string> series() const {
    std::set<string> names;
    std::istringstream page(fleet_.admin("/metrics").body);
    for (string line; std::getline(page, line);) {
      if (!line.starts_with('#')) names.insert(line.substr(0, line.rfind(' ')));
    }
    return names;
  }
  Deployment fleet_;
};

TEST_F(HostAdminTest, HealthAndReadiness) {
  EXPECT_EQ(fleet_.admin("/healthz").status, 200);
  EXPECT_TRUE(eventually([&] { return fleet_.admin("/readyz").status == 200; }));
  EXPECT_EQ(fleet_.admin("/nothing").status, 404);
  const Deployment half({.pods = {{.name = "p0", .role = "prefill"}}});
  const auto answer = half.admin("/readyz");
  EXPECT_EQ(answer.status, 503);
  EXPECT_THAT(answer.body, HasSubstr("decode"));
  EXPECT_EQ(half.admin("/healthz").status, 200);
}

TEST_F(HostAdminTest, TheMetricsPageIsWhatPrometheusReads) {
  ASSERT_EQ(fleet_.post(kChat, chat()).status, 200);
  const auto answer = fleet_.admin("/metrics");
  EXPECT_THAT(answer.header("content-type"), StartsWith("text/plain"));
  static const std::regex kSample(
      "([a-zA-Z_:][a-zA-Z0-9_:]*)"
      "(\\{([a-zA-Z_][a-zA-Z0-9_]*=\"([^\"\\\\\\n]|\\\\[\\\\n\"])*\",?)*\\})?"
      " ([-+]?([0-9.]+([eE][-+]?[0-9]+)?|Inf)|NaN)");
  std::set<string> helped;
  std::set<string> typed;
  std::set<string> seen;
  EXPECT_TRUE(answer.body.ends_with('\n'));
  std::istringstream page(answer.body);
  for (string line; std::getline(page, line);) {
    std::istringstream words(line);
    string hash;
    string keyword;
    string name;
    words >> hash >> keyword >> name;
    if (hash == "#") {
      EXPECT_TRUE((keyword == "HELP" ? helped : typed).insert(name).second) << line;
      string rest;
      EXPECT_TRUE(static_cast<bool>(words >> rest)) << "empty: " << line;
      continue;
    }
    std::smatch match;
    ASSERT_TRUE(std::regex_match(line, match, kSample)) << line;
    EXPECT_TRUE(seen.insert(line.substr(0, line.rfind(' '))).second) << "twice: " << line;
    string family = match[1];
    for (const char* suffix : {"_bucket", "_sum", "_count"}) {
      const string stem = family.ends_with(suffix) ? family.substr(0, family.rfind('_')) : family;
      if (typed.contains(stem)) family = stem;
    }
    EXPECT_TRUE(helped.contains(family)) << "no HELP above " << line;
    EXPECT_TRUE(typed.contains(family)) << "no TYPE above " << line;
    EXPECT_THAT(family, StartsWith("pd_"));
  }
  EXPECT_EQ(helped, typed);
}

TEST_F(HostAdminTest, AClientCannotCreateASeries) {
  const auto ask_oddly = [&](int number) {
    const string odd = "odd-" + std::to_string(number);
    fleet_.post(kChat, replaced(chat(), "\"sim\"", "\"" + odd + "\""));
    fleet_.post("/v1/" + odd, chat());
    fleet_.get("/" + odd + "?" + odd);
    fleet_.get("/v1/models/" + odd);
    fleet_.post(kChat, "{", "X-Request-Id: " + odd + "\r\nX-Session-Id: " + odd + "\r\n");
    WireClient client = fleet_.client();
    client.send(http_request("ODD" + std::to_string(number), kChat));
    client.read();
    fleet_.admin("/pd/v1/" + odd);
  };
  ASSERT_EQ(fleet_.post(kChat, chat()).status, 200);
  ask_oddly(0);
  const auto before = series();
  for (int i = 1; i < 20; ++i) ask_oddly(i);
  EXPECT_EQ(series(), before);
  for (const string& name : before) EXPECT_THAT(name, Not(HasSubstr("odd-")));
}

TEST_F(HostAdminTest, TheFleetIsShown) {
  const auto fleet = fleet_.admin_json("/pd/v1/fleet");
  std::set<string> names;
  for (const auto& pod : fleet.at("pods").as_array()) {
    names.insert(string(pod.at("name").as_string()));
    for (const char* key : {"model", "role", "roleset", "engine", "connector", "address", "health",
                            "load", "labels"}) {
      EXPECT_TRUE(pod.as_object().contains(key)) << key;
    }
  }
  EXPECT_EQ(names, (std::set<string>{"d0", "d1", "p0", "p1"}));
  EXPECT_TRUE(eventually([&] {
    const auto now = fleet_.admin_json("/pd/v1/fleet");
    return now.at("pods").at(0).at("load").at("running").is_number();
  })) << "no scrape shows";
}

TEST_F(HostAdminTest, PoliciesAndPluginsAreShown) {
  const auto policies = fleet_.admin_json("/pd/v1/policies");
  EXPECT_EQ(policies.at("prefill").at("name"), "prefix_cache");
  EXPECT_EQ(policies.at("decode").at("name"), "load_balancing");
  const auto plugins = fleet_.admin_json("/pd/v1/plugins");
  std::set<string> ids;
  for (const auto& plugin : plugins.at("plugins").as_array()) {
    ids.insert(string(plugin.at("id").as_string()));
    EXPECT_EQ(plugin.at("sha256").as_string().size(), 64U);
    EXPECT_TRUE(std::filesystem::exists(string(plugin.at("file").as_string())));
  }
  EXPECT_TRUE(ids.contains("pd.prefill_prefix_cache"));
  EXPECT_TRUE(ids.contains("pd.decode_load_balancing"));
}

TEST_F(HostAdminTest, ADecisionCanBeLookedUpByRequestId) {
  const auto answer = fleet_.post(kChat, chat(), "X-Request-Id: look-me-up\r\n");
  ASSERT_EQ(answer.status, 200) << answer.body;
  ASSERT_TRUE(
      eventually([&] { return fleet_.admin("/pd/v1/decisions/look-me-up").status == 200; }));
  const auto record = fleet_.admin_json("/pd/v1/decisions/look-me-up");
  EXPECT_EQ(record.at("id"), "look-me-up");
  EXPECT_EQ(record.at("model"), "sim");
  EXPECT_EQ(record.at("status"), 200);
  const auto& decision = record.at("decisions").at(0);
  EXPECT_EQ(decision.at("prefill").as_string(), answer.header("x-pd-prefill-pod"));
  EXPECT_EQ(decision.at("decode").as_string(), answer.header("x-pd-decode-pod"));
  EXPECT_FALSE(decision.at("stage").as_string().empty());
  EXPECT_TRUE(decision.at("error").is_null());
  for (const char* pod : {"p0", "p1"}) {
    EXPECT_TRUE(decision.at("prefill_scores").as_object().contains(pod)) << pod;
  }
  for (const char* pod : {"d0", "d1"}) {
    EXPECT_TRUE(decision.at("decode_scores").as_object().contains(pod)) << pod;
  }
  for (const char* key : {"ties", "match_percent", "max_prefill_score", "max_decode_score", "final",
                          "dropped", "fallback_used"}) {
    EXPECT_TRUE(decision.as_object().contains(key)) << key;
  }
  std::set<string> candidates;
  for (const auto& pod : decision.at("case").at("pods").as_array()) {
    candidates.insert(string(pod.at("name").as_string()));
    EXPECT_TRUE(pod.as_object().contains("metrics"));
    EXPECT_TRUE(pod.as_object().contains("inflight"));
  }
  EXPECT_EQ(candidates, (std::set<string>{"d0", "d1", "p0", "p1"}));
  EXPECT_THAT(fleet_.admin("/pd/v1/decisions").body, HasSubstr("look-me-up"));
  EXPECT_EQ(fleet_.admin("/pd/v1/decisions/never-asked").status, 404);
}

TEST_F(HostAdminTest, DecisionsAndLogsHoldNoPrompt) {
  ASSERT_EQ(fleet_
                .post(kChat, replaced(chat(), "\"hi\"", "\"a secret prompt\""),
                      "X-Request-Id: secret\r\n")
                .status,
            200);
  ASSERT_TRUE(eventually([&] { return fleet_.admin("/pd/v1/decisions/secret").status == 200; }));
  EXPECT_THAT(fleet_.admin("/pd/v1/decisions/secret").body, Not(HasSubstr("a secret prompt")));
  EXPECT_TRUE(eventually([&] {
    return fleet_.host().program().errors().find("secret") != string::npos;
  })) << "no log line of the request";
  EXPECT_THAT(fleet_.host().program().errors(), Not(HasSubstr("a secret prompt")));
}

}  // namespace
}  // namespace pd::test
