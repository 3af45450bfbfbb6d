// Engines that fail in the middle of a hand-off: the client gets an answer or a true error, and no
// engine is left with blocks or harmed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <regex>
#include <string>

#include "tests/integration/deployment.h"
#include "tests/integration/event_stream.h"

namespace pd::test {
namespace {

namespace json = boost::json;
using std::string;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kChat = "/v1/chat/completions";
constexpr const char* kShortTimes =
    "[timeouts]\nprefill = \"400ms\"\nfirst_byte = \"400ms\"\nbetween_bytes = \"400ms\"\n";

string chat(std::string_view more = R"("max_tokens":12)") {
  return R"({"model":"sim","messages":[{"role":"user","content":"What is a router?"}],)" +
         string(more) + "}";
}
string streamed() {
  return chat(R"("max_tokens":12,"stream":true)");
}
string without_time(const string& body) {
  return std::regex_replace(body, std::regex(R"("created":[0-9]+)"), "\"created\":0");
}

class GatewayFaultsTest : public ::testing::Test {
 protected:
  explicit GatewayFaultsTest(const string& settings = {}, std::vector<FleetPod> pods = two_by_two())
      : fleet_({.pods = std::move(pods),
                .settings = settings,
                .sim_flags = {"--zero-latency", "--lease", "500ms"}}) {}
  ~GatewayFaultsTest() override { fleet_.expect_host_quiet(); }

  void fault_both(char role, std::string_view fault) {
    for (const char number : {'0', '1'}) fleet_.fault({role, number}, fault);
  }
  void expect_right(const WireAnswer& answer, const string& body) {
    ASSERT_EQ(answer.status, 200) << answer.body;
    ASSERT_TRUE(answer.whole()) << answer.problem;
    const auto direct = fleet_.direct(kChat, body, "X-Request-Id: right\r\n");
    EXPECT_EQ(without_time(answer.body), without_time(direct.body));
  }
  WireAnswer ask(const string& body) { return fleet_.post(kChat, body, "X-Request-Id: right\r\n"); }
  void expect_error(const WireAnswer& answer, int status, const string& leg) {
    EXPECT_EQ(answer.status, status) << answer.body;
    EXPECT_TRUE(answer.whole());
    EXPECT_THAT(error_text(answer), HasSubstr(leg));
  }
  // The message must name the leg and a pod of that role.
  void expect_leg_failed(const WireAnswer& answer, const string& leg) {
    expect_error(answer, 502, leg);
    EXPECT_THAT(error_text(answer),
                AnyOf(HasSubstr(leg.substr(0, 1) + "0"), HasSubstr(leg.substr(0, 1) + "1")));
  }
  // Whether a request of the kept ones needed more than one try.
  bool any_retried() {
    bool found = false;
    const auto kept = fleet_.admin_json("/pd/v1/decisions");
    for (const auto& decision : kept.at("decisions").as_array()) {
      found = found || decision.at("attempts").to_number<int>() > 1;
    }
    return found;
  }
  // Asks until the faulty pod was tried first at least once; every answer must be right.
  void expect_served_by(const char* header, const string& healthy) {
    bool retried = false;
    for (int i = 0; i < 60 && !(retried && i >= 6); ++i) {
      const string body = i % 2 == 0 ? chat() : streamed();
      const auto answer = ask(body);
      expect_right(answer, body);
      EXPECT_EQ(answer.header(header), healthy);
      retried = retried || any_retried();
    }
    EXPECT_TRUE(eventually([&] { return any_retried(); })) << "no request shows a second try";
  }

  Deployment fleet_;
};

TEST_F(GatewayFaultsTest, PrefillThatRefusesIsReplaced) {
  fleet_.fault("p0", R"({"kind":"refuse"})");
  expect_served_by("x-pd-prefill-pod", "p1");
  fleet_.expect_quiet();
}

TEST_F(GatewayFaultsTest, PrefillThatResetsIsReplaced) {
  fleet_.fault("p1", R"({"kind":"refuse","mode":"reset"})");
  expect_served_by("x-pd-prefill-pod", "p0");
  fleet_.expect_quiet();
}

TEST_F(GatewayFaultsTest, PrefillWith5xxIsReplaced) {
  fleet_.fault("p0", R"({"kind":"status","status":500})");
  expect_served_by("x-pd-prefill-pod", "p1");
  fleet_.expect_quiet();
}

TEST_F(GatewayFaultsTest, NoPrefillPodLeftIs502NamingLegAndPod) {
  fault_both('p', R"({"kind":"status","status":500})");
  expect_leg_failed(ask(chat()), "prefill");
  expect_leg_failed(ask(streamed()), "prefill");
  fault_both('p', "null");
  fault_both('p', R"({"kind":"refuse"})");
  expect_leg_failed(ask(chat()), "prefill");
  EXPECT_EQ(fleet_.sim("d0", "requests") + fleet_.sim("d1", "requests"), 0);
}

TEST_F(GatewayFaultsTest, AFailingPrefillPodsAnswerIsNotTakenForWhole) {
  for (const char* fault :
       {R"({"kind":"malformed_json"})", R"({"kind":"reset","after_bytes":50})",
        R"({"kind":"early_eof","after_bytes":50})", R"({"kind":"huge_headers"})"}) {
    SCOPED_TRACE(fault);
    fault_both('p', fault);
    const auto answer = ask(chat());
    if (answer.status == 200) {
      EXPECT_EQ(answer.header("x-pd-handoff"), "recomputed");
    } else {
      expect_leg_failed(answer, "prefill");
    }
    EXPECT_EQ(fleet_.sim_sum("engine_killed"), 0);
    fault_both('p', "null");
  }
}

TEST_F(GatewayFaultsTest, AnEngines4xxIsPassedOnByteForByte) {
  for (const char role : {'p', 'd'}) {
    for (const int status : {400, 404, 422, 429}) {
      SCOPED_TRACE(string(1, role) + std::to_string(status));
      const string body = R"({ "object":"error",  "message":"too \u0061 long", "code": 4 })";
      fault_both(role, R"({"kind":"status","status":)" + std::to_string(status) +
                           ",\"body\":" + json::serialize(json::string(body)) + "}");
      for (const string& request : {chat(), streamed()}) {
        const auto answer = ask(request);
        EXPECT_EQ(answer.status, status);
        EXPECT_EQ(answer.body, body);
        EXPECT_TRUE(answer.whole()) << answer.problem;
      }
      fault_both(role, "null");
    }
  }
  expect_right(ask(chat()), chat());
}

TEST_F(GatewayFaultsTest, DecodeThatRefusesIsReplacedWithTheSameHandoff) {
  fleet_.fault("d0", R"({"kind":"refuse"})");
  expect_served_by("x-pd-decode-pod", "d1");
  EXPECT_EQ(fleet_.sim_sum("handoffs_issued"), fleet_.sim_sum("handoffs_read"));
  EXPECT_EQ(fleet_.sim_sum("handoffs_refused"), 0);
  EXPECT_EQ(fleet_.sim_sum("handoffs_expired"), 0) << "a hand-off was thrown away";
  fleet_.expect_quiet();
}

TEST_F(GatewayFaultsTest, DecodeThatResetsIsReplacedWithTheSameHandoff) {
  fleet_.fault("d1", R"({"kind":"refuse","mode":"reset"})");
  expect_served_by("x-pd-decode-pod", "d0");
  EXPECT_EQ(fleet_.sim_sum("handoffs_issued"), fleet_.sim_sum("handoffs_read"));
  fleet_.expect_quiet();
}

TEST_F(GatewayFaultsTest, DecodeWith5xxIsReplaced) {
  fleet_.fault("d0", R"({"kind":"status","status":503})");
  expect_served_by("x-pd-decode-pod", "d1");
  EXPECT_EQ(fleet_.sim_sum("handoffs_refused"), 0);
}

TEST_F(GatewayFaultsTest, NoDecodePodLeftIs502NamingLegAndPod) {
  fault_both('d', R"({"kind":"status","status":500})");
  expect_leg_failed(ask(chat()), "decode");
  expect_leg_failed(ask(streamed()), "decode");
  fault_both('d', "null");
  fault_both('d', R"({"kind":"refuse"})");
  expect_leg_failed(ask(chat()), "decode");
}

TEST_F(GatewayFaultsTest, NoHandoffIsRecomputedAndShown) {
  fault_both('p', R"({"kind":"no_handoff"})");
  for (const string& body : {chat(), streamed()}) {
    const auto answer = ask(body);
    expect_right(answer, body);
    EXPECT_EQ(answer.header("x-pd-handoff"), "recomputed");
  }
  EXPECT_EQ(fleet_.metric(R"(pd_handoffs_total{kind="recomputed"})"), 2);
  fleet_.expect_quiet();
}

TEST_F(GatewayFaultsTest, APartialHandoffIsNeverForwarded) {
  for (const char* missing : {"remote_block_ids", "remote_engine_id", "remote_request_id"}) {
    SCOPED_TRACE(missing);
    fault_both('p', string(R"({"kind":"partial_handoff","missing":")") + missing + "\"}");
    for (const string& body : {chat(), streamed()}) {
      const auto answer = ask(body);
      expect_right(answer, body);
      EXPECT_EQ(answer.header("x-pd-handoff"), "recomputed");
    }
    EXPECT_EQ(fleet_.sim_sum("engine_killed"), 0);
    fault_both('p', "null");
  }
}

TEST_F(GatewayFaultsTest, ANullHostIsFilledIn) {
  fault_both('p', R"({"kind":"null_host"})");
  const auto answer = ask(chat());
  expect_right(answer, chat());
  EXPECT_EQ(answer.header("x-pd-handoff"), "nixl");
  const SeenRequest decode = fleet_.last_seen(answer.header("x-pd-decode-pod"));
  EXPECT_THAT(decode.body, HasSubstr(R"("remote_host":"127.0.0.1")"));
  fleet_.expect_quiet();
}

TEST_F(GatewayFaultsTest, AStopAtTheFirstTokenDoesNotCostTheHandoff) {
  fault_both('p', R"({"kind":"eos_first"})");
  for (const char* more : {R"("max_tokens":12)", R"("max_tokens":12,"stop":["#"," "])",
                           R"("max_tokens":12,"stop":" ","stop_token_ids":[0,1,2])"}) {
    const auto answer = ask(chat(more));
    ASSERT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(answer.header("x-pd-handoff"), "nixl");
  }
  fleet_.expect_quiet();
}

TEST_F(GatewayFaultsTest, SeveralChoicesTakeNoPrefillLeg) {
  const string body = chat(R"("max_tokens":6,"n":2)");
  const auto direct = fleet_.direct(kChat, body, "X-Request-Id: right\r\n");
  const auto answer = ask(body);
  EXPECT_EQ(answer.status, direct.status) << answer.body;
  EXPECT_EQ(without_time(answer.body), without_time(direct.body));
  EXPECT_EQ(answer.header("x-pd-handoff"), "none");
  EXPECT_EQ(fleet_.sim("p0", "requests") + fleet_.sim("p1", "requests"), 0);
  fleet_.expect_quiet();
}

TEST_F(GatewayFaultsTest, PiecesCutAnywhereArriveAsTheyAre) {
  fault_both('d', R"({"kind":"split","gap":"50us"})");
  expect_right(ask(streamed()), streamed());
  fault_both('d', "null");
  fault_both('d', R"({"kind":"slow_head"})");
  expect_right(ask(chat()), chat());
  fleet_.expect_quiet();
}

TEST_F(GatewayFaultsTest, AHalfAnswerIsNever200) {
  for (const char* fault :
       {R"({"kind":"early_eof","after_bytes":40})", R"({"kind":"reset","after_bytes":200})",
        R"({"kind":"huge_headers"})"}) {
    SCOPED_TRACE(fault);
    fault_both('d', fault);
    expect_leg_failed(ask(chat()), "decode");
    fault_both('d', "null");
  }
}

TEST_F(GatewayFaultsTest, AStreamThatBreaksOffEndsWithAnErrorEvent) {
  for (const char* fault :
       {R"({"kind":"early_eof","after_events":3})", R"({"kind":"reset","after_bytes":1200})"}) {
    SCOPED_TRACE(fault);
    fault_both('d', fault);
    const double before = fleet_.metric_sum("pd_answers_truncated_total");
    const auto answer = ask(streamed());
    ASSERT_EQ(answer.status, 200) << answer.body;
    EXPECT_THAT(answer.body, Not(HasSubstr("[DONE]")));
    const auto events = event_data(answer.body);
    ASSERT_FALSE(events.empty());
    EXPECT_THAT(events.back(), HasSubstr(R"("error")"));
    EXPECT_THAT(events.back(), HasSubstr(answer.header("x-pd-decode-pod")));
    EXPECT_TRUE(
        eventually([&] { return fleet_.metric_sum("pd_answers_truncated_total") == before + 1; }));
    fault_both('d', "null");
  }
}

class GatewayFailWithoutHandoffTest : public GatewayFaultsTest {
 protected:
  GatewayFailWithoutHandoffTest() : GatewayFaultsTest("[routing]\nhandoff_missing = \"fail\"\n") {}
};

TEST_F(GatewayFailWithoutHandoffTest, NoHandoffIs502) {
  for (const char* fault : {R"({"kind":"no_handoff"})", R"({"kind":"partial_handoff"})"}) {
    fault_both('p', fault);
    expect_leg_failed(ask(chat()), "prefill");
    fault_both('p', "null");
  }
  EXPECT_EQ(fleet_.sim("d0", "requests") + fleet_.sim("d1", "requests"), 0);
  expect_right(ask(chat()), chat());
}

class GatewayDeadlinesTest : public GatewayFaultsTest {
 protected:
  GatewayDeadlinesTest() : GatewayFaultsTest(kShortTimes) {}
};

TEST_F(GatewayDeadlinesTest, APrefillThatHangsIs504NamingTheStage) {
  for (const char* phase : {"before_head", "after_head"}) {
    fault_both('p', string(R"({"kind":"hang","phase":")") + phase + "\"}");
    expect_error(ask(chat()), 504, "prefill");
    expect_error(ask(streamed()), 504, "prefill");
    fault_both('p', "null");
  }
  EXPECT_EQ(fleet_.sim("d0", "requests") + fleet_.sim("d1", "requests"), 0);
}

TEST_F(GatewayDeadlinesTest, ADecodeWithoutAFirstByteIs504NamingTheStage) {
  fault_both('d', R"({"kind":"hang","phase":"before_head"})");
  expect_error(ask(chat()), 504, "first_byte");
  expect_error(ask(streamed()), 504, "first_byte");
}

TEST_F(GatewayDeadlinesTest, AnAnswerShorterThanItsLengthIsNever200) {
  for (const char role : {'p', 'd'}) {
    fault_both(role, R"({"kind":"wrong_content_length"})");
    const auto answer = ask(chat());
    EXPECT_THAT(answer.status, AnyOf(502, 504)) << answer.body;
    EXPECT_THAT(error_text(answer), HasSubstr(role == 'p' ? "prefill" : "between_bytes"));
    fault_both(role, "null");
  }
}

TEST_F(GatewayDeadlinesTest, AStreamThatStallsEndsWithAnErrorEvent) {
  fault_both('d', R"({"kind":"hang","phase":"mid_stream","after_events":2})");
  const auto answer = ask(streamed());
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_THAT(answer.body, Not(HasSubstr("[DONE]")));
  const auto events = event_data(answer.body);
  ASSERT_GE(events.size(), 2U) << answer.body;
  EXPECT_THAT(events.back(), HasSubstr(R"("error")"));
}

class GatewayRolesetsTest : public GatewayFaultsTest {
 protected:
  GatewayRolesetsTest()
      : GatewayFaultsTest({}, {{.name = "p0", .role = "prefill", .roleset = "a"},
                               {.name = "d0", .role = "decode", .roleset = "a"},
                               {.name = "p1", .role = "prefill", .roleset = "b"},
                               {.name = "d1", .role = "decode", .roleset = "b"}}) {}
};

TEST_F(GatewayRolesetsTest, AHandoffNeverLeavesItsRoleset) {
  for (int i = 0; i < 20; ++i) {
    const auto answer = ask(chat());
    expect_right(answer, chat());
    EXPECT_EQ(answer.header("x-pd-prefill-pod").substr(1),
              answer.header("x-pd-decode-pod").substr(1));
  }
  fleet_.fault("d0", R"({"kind":"refuse"})");
  for (int i = 0; i < 10; ++i) {
    const auto answer = ask(chat());
    if (answer.status == 200) {
      EXPECT_EQ(answer.header("x-pd-decode-pod"), "d1");
      EXPECT_EQ(answer.header("x-pd-prefill-pod"), "p1");
    } else {
      expect_leg_failed(answer, "decode");
    }
  }
  EXPECT_EQ(fleet_.sim_sum("handoffs_refused"), 0);
  EXPECT_EQ(fleet_.sim_sum("engine_killed"), 0);
}

}  // namespace
}  // namespace pd::test
