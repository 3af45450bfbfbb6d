// What a client gets through pd-host is what an engine that does all the work itself would say.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <regex>
#include <set>
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
using ::testing::StartsWith;

constexpr const char* kChat = "/v1/chat/completions";
constexpr const char* kCompletions = "/v1/completions";

// The time stamp is the one thing that two runs of an engine may say differently.
string without_time(const string& body) {
  return std::regex_replace(body, std::regex(R"("created":[0-9]+)"), "\"created\":0");
}

string chat(std::string_view content, std::string_view more = R"("max_tokens":24)") {
  return string(R"({"model":"sim","messages":[{"role":"user","content":)")
      .append(content)
      .append("}],")
      .append(more)
      .append("}");
}

string completion(std::string_view prompt, std::string_view more = R"("max_tokens":24)") {
  return string(R"({"model":"sim","prompt":)").append(prompt).append(",").append(more).append("}");
}

class GatewayAnswersTest : public ::testing::Test {
 protected:
  ~GatewayAnswersTest() override { fleet_.expect_quiet(); }

  void expect_same(std::string_view target, const string& body, std::string_view handoff = "nixl") {
    const string headers = "X-Request-Id: one-and-the-same\r\n";
    const WireAnswer direct = fleet_.direct(target, body, headers);
    const WireAnswer routed = fleet_.post(target, body, headers);
    ASSERT_EQ(direct.status, 200) << direct.body;
    ASSERT_EQ(routed.status, 200) << routed.body;
    ASSERT_TRUE(routed.whole()) << routed.problem;
    EXPECT_EQ(without_time(routed.body), without_time(direct.body));
    EXPECT_EQ(routed.header("content-type"), direct.header("content-type"));
    EXPECT_EQ(routed.header("x-pd-handoff"), handoff);
  }

  Deployment fleet_;
};

TEST_F(GatewayAnswersTest, ChatIsTheEnginesOwnAnswer) {
  expect_same(kChat, chat(R"("What is a router?")"));
  expect_same(kChat, chat(R"("What is a router?")", R"("max_completion_tokens":24)"));
  expect_same(kChat, chat(R"("What is a router?")", R"("max_tokens":1)"));
}

TEST_F(GatewayAnswersTest, CompletionIsTheEnginesOwnAnswer) {
  expect_same(kCompletions, completion(R"("Once upon a time")"));
  expect_same(kCompletions, completion(R"("Once upon a time")", R"("temperature":0)"));
}

TEST_F(GatewayAnswersTest, StreamsAreTheEnginesOwnEvents) {
  constexpr auto kStream = R"("max_tokens":24,"stream":true)";
  constexpr auto kUsage =
      R"("max_tokens":24,"stream":true,"stream_options":{"include_usage":true})";
  expect_same(kChat, chat(R"("What is a router?")", kStream));
  expect_same(kChat, chat(R"("What is a router?")", kUsage));
  expect_same(kCompletions, completion(R"("Once upon a time")", kStream));
  expect_same(kCompletions, completion(R"("Once upon a time")", kUsage));
}

TEST_F(GatewayAnswersTest, AStreamEndsWithDone) {
  const auto answer = fleet_.post(kChat, chat(R"("hi")", R"("max_tokens":5,"stream":true)"));
  const auto events = event_data(answer.body);
  ASSERT_GE(events.size(), 3U) << answer.body;
  EXPECT_EQ(events.back(), "[DONE]");
  EXPECT_THAT(answer.header("content-type"), StartsWith("text/event-stream"));
}

TEST_F(GatewayAnswersTest, PromptsOfEveryForm) {
  for (const char* prompt :
       {R"("plain")", R"(["one string in a list"])", "[101,7592,2088,102,5,6,7,8]",
        "[[101,7592,2088,102,5,6]]", R"("\u00fc \ud83d\ude00 \n\t\"quoted\" \\ \/")",
        "\"gr\xc3\xbc\xc3\x9f dich \xf0\x9f\x98\x80\"",
        R"("data: [DONE]\n\ndata: {\"error\":{}}")"}) {
    SCOPED_TRACE(prompt);
    const auto direct = fleet_.direct(kCompletions, completion(prompt));
    if (direct.status == 200) {
      expect_same(kCompletions, completion(prompt));
      expect_same(kCompletions, completion(prompt, R"("max_tokens":9,"stream":true)"));
    } else {
      EXPECT_EQ(fleet_.post(kCompletions, completion(prompt)).status, direct.status);
    }
  }
}

TEST_F(GatewayAnswersTest, ASeveralPromptsBatchIsNotHandedOff) {
  const string body = completion(R"(["one","two"])");
  const auto direct = fleet_.direct(kCompletions, body, "X-Request-Id: batch\r\n");
  const auto routed = fleet_.post(kCompletions, body, "X-Request-Id: batch\r\n");
  EXPECT_EQ(routed.status, direct.status) << routed.body;
  EXPECT_EQ(without_time(routed.body), without_time(direct.body));
}

TEST_F(GatewayAnswersTest, MessagesOfEveryForm) {
  for (const char* content :
       {R"("plain")", R"([{"type":"text","text":"a part"},{"type":"text","text":" and another"}])",
        R"("\u00e9\u4e2d\u6587 \ud83d\ude80")", "\"\xe4\xb8\xad\xe6\x96\x87\"", R"("")"}) {
    SCOPED_TRACE(content);
    expect_same(kChat, chat(content));
    expect_same(kChat, chat(content, R"("max_tokens":9,"stream":true)"));
  }
  expect_same(
      kChat,
      R"({"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"hi"},)"
      R"({"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function",)"
      R"("function":{"name":"f","arguments":"{\"x\": 1.0}"}}]},)"
      R"({"role":"tool","tool_call_id":"c1","content":"7"}],"max_tokens":12,)"
      R"("tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object",)"
      R"("properties":{"x":{"type":"number"}}}}}],"model":"sim"})");
}

TEST_F(GatewayAnswersTest, AMebibyteOfPrompt) {
  string prompt = "\"";
  while (prompt.size() < (1U << 20U)) prompt += "All work and no play makes a dull prompt. ";
  expect_same(kCompletions, completion(prompt + '"'));
  expect_same(kChat, chat(prompt + '"', R"("max_tokens":9,"stream":true)"));
}

TEST_F(GatewayAnswersTest, ARequestBodyInChunks) {
  const string body = chat(R"("in pieces")");
  const auto direct = fleet_.direct(kChat, body, "X-Request-Id: chunks\r\n");
  WireClient client = fleet_.client();
  client.send(
      "POST /v1/chat/completions HTTP/1.1\r\nHost: gw.test\r\nX-Request-Id: chunks\r\n"
      "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n");
  std::size_t size = 1;
  for (std::size_t at = 0; at < body.size(); at += size++) {
    const string piece = body.substr(at, size);
    std::array<char, 16> line{};
    snprintf(line.data(), line.size(), "%zX\r\n", piece.size());
    ASSERT_TRUE(client.send(string(line.data()) + piece + "\r\n"));
  }
  client.send("0\r\n\r\n");
  const auto routed = client.read();
  ASSERT_EQ(routed.status, 200) << routed.body;
  EXPECT_EQ(without_time(routed.body), without_time(direct.body));
  client.send(http_request("GET", "/v1/models"));
  EXPECT_EQ(client.read().status, 200) << "the connection is not usable any more";
}

TEST_F(GatewayAnswersTest, TrailersOfARequestAreNoHeaders) {
  const string body = chat(R"("with a trailer")");
  std::array<char, 16> size{};
  snprintf(size.data(), size.size(), "%zx", body.size());
  WireClient client = fleet_.client();
  client.send(
      "POST /v1/chat/completions HTTP/1.1\r\nHost: gw.test\r\nContent-Type: application/json\r\n"
      "Transfer-Encoding: chunked\r\nTrailer: X-Auth-User\r\n\r\n" +
      string(size.data()) + "\r\n" + body + "\r\n0\r\nX-Auth-User: root\r\n\r\n");
  const auto answer = client.read();
  EXPECT_THAT(answer.status, AnyOf(200, 400)) << answer.body;
  for (const char* pod : {"p0", "p1", "d0", "d1"}) {
    for (const SeenRequest& seen : fleet_.seen_by(pod)) {
      EXPECT_EQ(seen.header("x-auth-user"), "") << pod;
      EXPECT_EQ(seen.header("trailer"), "") << pod;
    }
  }
}

TEST_F(GatewayAnswersTest, ExpectContinueIsAnsweredBeforeTheBody) {
  const string body = chat(R"("go on")");
  WireClient client = fleet_.client();
  client.send(
      "POST /v1/chat/completions HTTP/1.1\r\nHost: gw.test\r\nContent-Type: application/json\r\n"
      "Expect: 100-continue\r\nContent-Length: " +
      std::to_string(body.size()) + "\r\n\r\n");
  ASSERT_TRUE(client.read_until("100 Continue\r\n\r\n"));
  client.send(body);
  const auto answer = client.read();
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.interim, 1U);
}

TEST_F(GatewayAnswersTest, AQueryDoesNotMakeAPathUnknown) {
  expect_same("/v1/chat/completions?api-version=2024-10-21&x=%20", chat(R"("query")"));
  EXPECT_EQ(fleet_.get("/v1/models?limit=5").status, 200);
}

TEST_F(GatewayAnswersTest, AnswersToPipelinedRequestsComeInOrder) {
  const string one =
      http_request("POST", kChat, chat(R"("first")", R"("max_tokens":9,"stream":true)"),
                   "X-Request-Id: first\r\n");
  const string two =
      http_request("POST", kCompletions, completion(R"("second")"), "X-Request-Id: second\r\n");
  WireClient client = fleet_.client();
  client.send(one + two + http_request("GET", "/v1/models"));
  const auto first = client.read();
  EXPECT_EQ(first.status, 200) << first.body;
  EXPECT_EQ(first.header("x-request-id"), "first");
  EXPECT_EQ(last_event(first.body), "[DONE]");
  const auto second = client.read();
  EXPECT_EQ(second.status, 200) << second.body;
  EXPECT_EQ(second.header("x-request-id"), "second");
  const auto third = client.read();
  EXPECT_EQ(third.status, 200) << third.body;
  EXPECT_THAT(third.body, HasSubstr(R"("list")"));
}

TEST_F(GatewayAnswersTest, OneConnectionServesManyRequests) {
  WireClient client = fleet_.client();
  for (int i = 0; i < 20; ++i) {
    const bool stream = i % 2 == 0;
    client.send(
        http_request("POST", kChat,
                     chat("\"turn " + std::to_string(i) + "\"",
                          stream ? R"("max_tokens":5,"stream":true)" : R"("max_tokens":5)")));
    const auto answer = client.read();
    ASSERT_EQ(answer.status, 200) << answer.body;
    ASSERT_TRUE(answer.whole()) << answer.problem;
  }
}

TEST_F(GatewayAnswersTest, AClientThatClosesGetsItsAnswerAndTheEnd) {
  WireClient client = fleet_.client();
  client.send(http_request("POST", kChat, chat(R"("bye")"), "Connection: close\r\n"));
  const auto answer = client.read();
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.header("connection"), "close");
  EXPECT_TRUE(client.ends());
}

TEST_F(GatewayAnswersTest, AnOldClientGetsNoChunks) {
  for (const char* more : {R"("max_tokens":9)", R"("max_tokens":9,"stream":true)"}) {
    const string body = chat(R"("old client")", more);
    const auto direct = fleet_.direct(kChat, body, "X-Request-Id: old\r\n");
    WireClient client = fleet_.client();
    client.send(
        "POST /v1/chat/completions HTTP/1.0\r\nX-Request-Id: old\r\nContent-Type: "
        "application/json\r\nContent-Length: " +
        std::to_string(body.size()) + "\r\n\r\n" + body);
    const auto answer = client.read();
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(answer.count("transfer-encoding"), 0U) << answer.head();
    EXPECT_EQ(without_time(answer.body), without_time(direct.body));
    EXPECT_TRUE(answer.end == WireAnswer::End::kClosed || client.ends());
  }
}

TEST_F(GatewayAnswersTest, HeadersNameThePodsAndThePolicy) {
  for (const char* more : {R"("max_tokens":4)", R"("max_tokens":4,"stream":true)"}) {
    const auto answer = fleet_.post(kChat, chat(R"("who")", more));
    ASSERT_EQ(answer.status, 200) << answer.body;
    EXPECT_THAT(answer.header("x-pd-prefill-pod"), AnyOf("p0", "p1"));
    EXPECT_THAT(answer.header("x-pd-decode-pod"), AnyOf("d0", "d1"));
    EXPECT_EQ(answer.header("x-pd-policy"), "prefix_cache/load_balancing@1");
    EXPECT_EQ(answer.header("x-pd-handoff"), "nixl");
    EXPECT_EQ(answer.header("prefill-target-pod"), answer.header("x-pd-prefill-pod"));
    EXPECT_EQ(answer.header("target-pod"), answer.header("x-pd-decode-pod"));
    EXPECT_EQ(answer.count("x-request-id"), 1U);
    EXPECT_EQ(answer.count("content-type"), 1U);
    const string prefill = answer.header("x-pd-prefill-pod");
    EXPECT_EQ(fleet_.last_seen(prefill).header("x-request-id"), answer.header("x-request-id"));
  }
}

TEST_F(GatewayAnswersTest, KeepsASaneRequestIdOnBothLegs) {
  for (const string& id : {string("client-id.42_x"), string(128, 'a')}) {
    const auto answer = fleet_.post(kChat, chat(R"("id")"), "X-Request-ID: " + id + "\r\n");
    ASSERT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(answer.header("x-request-id"), id);
    for (const char* header : {"x-pd-prefill-pod", "x-pd-decode-pod"}) {
      EXPECT_EQ(fleet_.last_seen(answer.header(header)).header("x-request-id"), id);
    }
  }
}

TEST_F(GatewayAnswersTest, MintsARequestIdInPlaceOfABadOne) {
  std::set<string> minted;
  for (const string& line : {string(), "X-Request-Id: " + string(129, 'a') + "\r\n",
                             string("X-Request-Id: caf\xc3\xa9\r\n"), string("X-Request-Id: \r\n"),
                             string("X-Request-Id: a\tb\r\n")}) {
    const auto answer = fleet_.post(kChat, chat(R"("id")"), line);
    if (answer.status == 400) continue;  // a control character may be refused as a whole
    ASSERT_EQ(answer.status, 200) << answer.body;
    const string id = answer.header("x-request-id");
    EXPECT_FALSE(id.empty());
    EXPECT_LE(id.size(), 128U);
    EXPECT_THAT(id, Not(AnyOf(HasSubstr("caf"), HasSubstr(string(20, 'a')), HasSubstr("\t"))));
    EXPECT_TRUE(minted.insert(id).second) << id << " twice";
    for (const char* header : {"x-pd-prefill-pod", "x-pd-decode-pod"}) {
      EXPECT_EQ(fleet_.last_seen(answer.header(header)).header("x-request-id"), id);
    }
  }
  EXPECT_GE(minted.size(), 4U);
}

TEST_F(GatewayAnswersTest, PassesOnWhatIsForTheEngineAndNothingElse) {
  const auto answer = fleet_.post(
      kChat, chat(R"("headers")"),
      "Authorization: Bearer secret\r\ntraceparent: "
      "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n"
      "Connection: keep-alive, X-Hop\r\nX-Hop: 1\r\nTE: trailers\r\nKeep-Alive: timeout=5\r\n"
      "Proxy-Authorization: Basic eDp5\r\nX_Auth_User: root\r\nX-Custom: kept\r\n"
      "Accept-Encoding: gzip, br\r\n");
  ASSERT_EQ(answer.status, 200) << answer.body;
  for (const char* header : {"x-pd-prefill-pod", "x-pd-decode-pod"}) {
    const SeenRequest seen = fleet_.last_seen(answer.header(header));
    SCOPED_TRACE(seen.head);
    EXPECT_EQ(seen.header("authorization"), "Bearer secret");
    EXPECT_THAT(seen.header("traceparent"), StartsWith("00-0af7651916cd43dd8448eb211c80319c-"));
    EXPECT_EQ(seen.header("x-custom"), "kept");
    EXPECT_EQ(seen.head.find("uthorization: Bearer"), seen.head.rfind("uthorization: Bearer"));
    for (const char* name : {"x-hop", "te", "keep-alive", "proxy-authorization", "x_auth_user"}) {
      EXPECT_EQ(seen.header(name), "") << name;
    }
    EXPECT_THAT(seen.header("host"), Not("gw.test"));
  }
  EXPECT_EQ(fleet_.last_seen(answer.header("x-pd-prefill-pod")).header("accept-encoding"),
            "identity");
}

// The hand-off is put into the client's bytes; every other byte stays.
TEST_F(GatewayAnswersTest, DecodeGetsTheClientsBytesAndTheHandoff) {
  const string body =
      "{\"z\" : 12345678901234567890123, \"max_tokens\":6 ,\"model\"\t:\"sim\",\n"
      "  \"unknown\": {\"nested\": [1.0, 1e5, -0.0, \"\\u0041\\/\"], \"kv_transfer_params\": 1},\n"
      "  \"messages\": [ {\"content\":\"sp\\u00e4t\", \"role\":\"user\"} ], \"temperature\": 0.70}";
  const auto answer = fleet_.post(kChat, body);
  ASSERT_EQ(answer.status, 200) << answer.body;
  const string decode = fleet_.last_seen(answer.header("x-pd-decode-pod")).body;
  const std::size_t start = decode.rfind("\"kv_transfer_params\":{");
  ASSERT_NE(start, string::npos) << decode;
  const string spliced = decode.substr(start, decode.find('}', start) + 1 - start);
  EXPECT_THAT(spliced, HasSubstr("\"remote_engine_id\":\""));
  string rest = decode;
  rest.erase(start, spliced.size());
  const std::size_t comma = rest.find_last_of(',', start);
  const std::size_t after = rest.find_first_of(',', start);
  const bool matches = (comma != string::npos && string(rest).erase(comma, 1) == body) ||
                       (after != string::npos && string(rest).erase(after, 1) == body);
  EXPECT_TRUE(matches) << "client: " << body << "\ndecode: " << decode;
}

TEST_F(GatewayAnswersTest, PrefillGetsOneTokenToMakeAndTheSamePrompt) {
  const string messages = R"("messages":[{"role":"user","content":"sp\u00e4t \/"}])";
  const auto answer = fleet_.post(
      kChat, R"({"model":"sim",)" + messages +
                 R"(,"max_tokens":9,"max_completion_tokens":9,"min_tokens":3,"stop":["x"],)"
                 R"("stop_token_ids":[7],"ignore_eos":false,"n":1,"stream":true,)"
                 R"("stream_options":{"include_usage":true},"seed":12345678901234567890})");
  ASSERT_EQ(answer.status, 200) << answer.body;
  const string raw = fleet_.last_seen(answer.header("x-pd-prefill-pod")).body;
  const json::object body = json::parse(raw).as_object();
  EXPECT_EQ(body.at("max_tokens"), 1);
  EXPECT_EQ(body.at("max_completion_tokens"), 1);
  EXPECT_EQ(body.at("stream"), false);
  EXPECT_EQ(body.at("ignore_eos"), true);
  for (const char* gone : {"stream_options", "min_tokens", "stop", "stop_token_ids"}) {
    EXPECT_FALSE(body.contains(gone)) << gone;
  }
  EXPECT_EQ(body.at("kv_transfer_params"),
            json::parse(R"({"do_remote_decode":true,"do_remote_prefill":false,)"
                        R"("remote_engine_id":null,"remote_block_ids":null,"remote_host":null,)"
                        R"("remote_port":null})"));
  EXPECT_THAT(raw, HasSubstr(messages));
  EXPECT_THAT(raw, HasSubstr("12345678901234567890"));
  for (const auto& [key, value] : body) {
    const string quoted = "\"" + string(key) + "\":";
    EXPECT_EQ(raw.find(quoted), raw.rfind(quoted)) << key << " twice: " << raw;
  }
}

TEST_F(GatewayAnswersTest, CompletionsPrefillIsNotGivenChatKeys) {
  const auto answer = fleet_.post(kCompletions, completion(R"("hi")", R"("max_tokens":4)"));
  ASSERT_EQ(answer.status, 200) << answer.body;
  const string raw = fleet_.last_seen(answer.header("x-pd-prefill-pod")).body;
  EXPECT_EQ(json::parse(raw).at("max_tokens"), 1);
  EXPECT_THAT(raw, HasSubstr(R"("prompt":"hi")"));
}

class GatewayModelsTest : public ::testing::Test {
 protected:
  Deployment fleet_{{.pods = {{.name = "p0", .role = "prefill", .model = "lab/team-a/m-small:v2"},
                              {.name = "d0", .role = "decode", .model = "lab/team-a/m-small:v2"},
                              {.name = "p1", .role = "prefill", .model = "m-plain"},
                              {.name = "d1", .role = "decode", .model = "m-plain"}}}};
};

TEST_F(GatewayModelsTest, ListsTheFleetsModels) {
  const auto answer = fleet_.get("/v1/models");
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_THAT(answer.header("content-type"), StartsWith("application/json"));
  const json::value list = json::parse(answer.body);
  EXPECT_EQ(list.at("object"), "list");
  std::set<string> ids;
  for (const auto& model : list.at("data").as_array()) {
    EXPECT_EQ(model.at("object"), "model");
    EXPECT_TRUE(model.as_object().contains("owned_by"));
    EXPECT_TRUE(model.as_object().contains("created"));
    EXPECT_TRUE(ids.insert(string(model.at("id").as_string())).second);
  }
  EXPECT_EQ(ids, (std::set<string>{"lab/team-a/m-small:v2", "m-plain"}));
}

TEST_F(GatewayModelsTest, EveryListedModelCanBeFetched) {
  const auto plain = fleet_.get("/v1/models/m-plain");
  ASSERT_EQ(plain.status, 200) << plain.body;
  EXPECT_EQ(json::parse(plain.body).at("id"), "m-plain");
  const auto slashed = fleet_.get("/v1/models/lab/team-a/m-small:v2");
  ASSERT_EQ(slashed.status, 200) << slashed.body;
  EXPECT_EQ(json::parse(slashed.body).at("id"), "lab/team-a/m-small:v2");
  for (const char* path :
       {"/v1/models/lab%2Fteam-a%2Fm-small%3Av2", "/v1/models/lab%2fteam-a/m-small:v2"}) {
    const auto answer = fleet_.get(path);
    EXPECT_EQ(answer.status, 200) << path << answer.body;
    EXPECT_EQ(answer.body, slashed.body) << path;
  }
}

TEST_F(GatewayModelsTest, AnUnknownModelIsToldFromAnUnknownPath) {
  for (const char* path :
       {"/v1/models/lab/team-a/", "/v1/models/lab%252Fteam-a", "/v1/models/no-such-model"}) {
    const auto answer = fleet_.get(path);
    EXPECT_EQ(answer.status, 404) << path;
    EXPECT_EQ(error_of(answer).at("code"), "model_not_found") << path;
    EXPECT_THAT(error_text(answer), HasSubstr("m-plain")) << path;
    EXPECT_THAT(error_text(answer), HasSubstr("lab/team-a/m-small:v2")) << path;
  }
  const auto games = fleet_.get("/v1/models/../admin");
  EXPECT_EQ(games.status, 404) << games.body;
  error_of(games);
  const auto path = fleet_.get("/v1/modelz");
  EXPECT_EQ(path.status, 404);
  EXPECT_NE(error_of(path).at("code"), "model_not_found");
}

TEST_F(GatewayModelsTest, HeadHasNoBodyAndDeleteIsNotAllowed) {
  WireClient client = fleet_.client();
  for (const char* path : {"/v1/models/m-plain", "/v1/models"}) {
    client.send(http_request("HEAD", path));
    EXPECT_EQ(client.read_head_answer().status, 200) << path;
  }
  client.send(http_request("GET", "/v1/models/m-plain"));
  EXPECT_EQ(client.read().status, 200) << "HEAD left bytes behind";
  client.send(http_request("DELETE", "/v1/models/m-plain"));
  const auto refused = client.read();
  EXPECT_EQ(refused.status, 405);
  EXPECT_EQ(refused.header("allow"), "GET, HEAD");
  error_of(refused);
}

TEST_F(GatewayModelsTest, AModelWithSlashesIsServedAndShownEverywhere) {
  const auto answer =
      fleet_.post(kCompletions, R"({"model":"lab/team-a/m-small:v2","prompt":"x","max_tokens":4})",
                  "X-Request-Id: slashes\r\n");
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.header("x-pd-prefill-pod"), "p0");
  EXPECT_EQ(answer.header("x-pd-decode-pod"), "d0");
  EXPECT_THAT(fleet_.admin("/metrics").body, HasSubstr(R"(model="lab/team-a/m-small:v2")"));
  EXPECT_THAT(fleet_.admin("/pd/v1/fleet").body, HasSubstr(R"("model":"lab/team-a/m-small:v2")"));
  EXPECT_TRUE(eventually([&] {
    return fleet_.admin("/pd/v1/decisions/slashes").body.find("lab/team-a/m-small:v2") !=
           string::npos;
  }));
}

}  // namespace
}  // namespace pd::test
