// Each row of the error table: the status, the error object, and a connection that stays in step.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <regex>
#include <string>
#include <thread>
#include <vector>

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
constexpr const char* kGood =
    R"({"model":"sim","messages":[{"role":"user","content":"hi"}],"max_tokens":4})";

std::size_t status_lines(const string& wire) {
  static const std::regex kLine("HTTP/1\\.[01] [0-9]{3} ");
  return static_cast<std::size_t>(
      std::distance(std::sregex_iterator(wire.begin(), wire.end(), kLine), std::sregex_iterator()));
}

bool names_offset(const string& message, std::size_t offset) {
  static const std::regex kNumber("[0-9]+");
  for (auto at = std::sregex_iterator(message.begin(), message.end(), kNumber);
       at != std::sregex_iterator(); ++at) {
    const std::size_t found = std::stoul(at->str());
    if (found == offset || found == offset + 1) return true;  // counted from 0 or from 1
  }
  return false;
}

class GatewayErrorsTest : public ::testing::Test {
 protected:
  explicit GatewayErrorsTest(const string& settings = {}) : fleet_({.settings = settings}) {}
  ~GatewayErrorsTest() override { fleet_.expect_quiet(); }

  json::value expect_error(const WireAnswer& answer, int status) {
    EXPECT_EQ(answer.status, status) << answer.body;
    EXPECT_TRUE(answer.whole()) << answer.problem;
    EXPECT_FALSE(answer.header("x-request-id").empty()) << answer.head();
    return error_of(answer);
  }
  // 400 whose message names `what`; no engine hears of it.
  void expect_refused(std::string_view target, const string& body, std::string_view what) {
    SCOPED_TRACE(body.substr(0, 300));
    const auto before = fleet_.sim_sum("requests");
    const auto answer = fleet_.post(target, body);
    expect_error(answer, 400);
    EXPECT_THAT(error_text(answer), HasSubstr(string(what)));
    EXPECT_EQ(fleet_.sim_sum("requests"), before);
  }
  Deployment fleet_;
};

TEST_F(GatewayErrorsTest, MalformedJsonIsNamedWithItsByteOffset) {
  const string good = R"({"model":"sim","messages":[{"role":"user","content":"hi"})";
  const std::size_t end = good.size();
  struct Case {
    string body;
    std::size_t offset;
  };
  for (const Case& bad :
       {Case{good, end}, Case{good + "}", end}, Case{good + "]", end + 1},
        Case{good + "]}x", end + 2}, Case{good + "],}", end + 2},
        Case{good + R"(] "n":1})", end + 2}, Case{good + R"(],"x":01})", end + 6},
        Case{good + R"(],"x":tru})", end + 6}, Case{good + R"(],"x":"\q"})", end + 7},
        Case{good + "],\"x\":\"a\nb\"}", end + 8}, Case{"{'model':1}", 1}}) {
    SCOPED_TRACE(bad.body);
    const auto answer = fleet_.post(kChat, bad.body);
    expect_error(answer, 400);
    // A word or number that is cut short may be named by its start or by its end.
    bool named = false;
    for (std::size_t at = bad.offset; at < bad.offset + 4; ++at) {
      named = named || names_offset(error_text(answer), at);
    }
    EXPECT_TRUE(named) << error_text(answer) << " should name byte " << bad.offset;
  }
}

TEST_F(GatewayErrorsTest, ABodyThatIsNoObjectIsRefused) {
  for (const char* body : {"", " ", "[]", "\"text\"", "null", "7", "\xef\xbb\xbf"}) {
    SCOPED_TRACE(body);
    expect_error(fleet_.post(kChat, body), 400);
  }
  expect_error(fleet_.post(kChat, string(200000, '[')), 400);
  string deep = R"({"model":"sim","messages":[],"x":)";
  for (int i = 0; i < 100000; ++i) deep += R"({"a":)";
  expect_error(fleet_.post(kChat, deep), 400);
}

TEST_F(GatewayErrorsTest, AMissingModelIsNamed) {
  expect_refused(kChat, R"({"messages":[{"role":"user","content":"hi"}]})", "model");
  expect_refused(kCompletions, R"({"prompt":"hi"})", "model");
  const auto answer = fleet_.post(kChat, R"({"messages":[{"role":"user","content":"hi"}]})");
  EXPECT_EQ(error_of(answer).at("param"), "model") << answer.body;
}

TEST_F(GatewayErrorsTest, AnUnknownModelGetsTheListOfKnownOnes) {
  const auto answer =
      fleet_.post(kChat, R"({"model":"no-such","messages":[{"role":"user","content":"hi"}]})");
  EXPECT_EQ(expect_error(answer, 404).at("code"), "model_not_found");
  EXPECT_THAT(error_text(answer), HasSubstr("no-such"));
  EXPECT_THAT(error_text(answer), HasSubstr("sim"));
  EXPECT_EQ(
      fleet_.post(kChat, R"({"model":"SIM","messages":[{"role":"user","content":"hi"}]})").status,
      404);
}

TEST_F(GatewayErrorsTest, WrongTypesAreNamed) {
  const string chat = R"({"model":"sim","messages":[{"role":"user","content":"hi"}],)";
  expect_refused(kChat, R"({"model":5,"messages":[]})", "model");
  expect_refused(kChat, R"({"model":["sim"],"messages":[]})", "model");
  expect_refused(kChat, R"({"model":null,"messages":[]})", "model");
  expect_refused(kChat, chat + R"("stream":"true"})", "stream");
  expect_refused(kChat, chat + R"("stream":1})", "stream");
  expect_refused(kChat, chat + R"("n":"2"})", "n");
  expect_refused(kChat, chat + R"("n":1.5})", "n");
  expect_refused(kChat, chat + R"("max_tokens":"4"})", "max_tokens");
  expect_refused(kChat, R"({"model":"sim","messages":"hi"})", "messages");
  expect_refused(kCompletions, R"({"model":"sim","prompt":{"a":1}})", "prompt");
}

TEST_F(GatewayErrorsTest, DuplicatedControlKeysAreRefusedHoweverTheyAreSpelled) {
  const string chat = R"({"model":"sim","messages":[{"role":"user","content":"hi"}],)";
  expect_refused(kChat, chat + R"("model":"other"})", "model");
  expect_refused(kChat, chat + R"("stream":true,"stream":false})", "stream");
  expect_refused(kChat, chat + R"("stream":true,"str\u0065am":false})", "stream");
  expect_refused(kChat, chat + R"("n":1,"n":2})", "n");
  expect_refused(kChat, chat + R"("max_tokens":1,"max_tokens":2})", "max_tokens");
  expect_refused(kChat, chat + R"("messages":[]})", "messages");
  expect_refused(kCompletions, R"({"model":"sim","prompt":"a","prompt":"b"})", "prompt");
}

TEST_F(GatewayErrorsTest, ReservedKeysAreRefusedHoweverTheyAreSpelled) {
  const string chat = R"({"model":"sim","messages":[{"role":"user","content":"hi"}],)";
  for (const char* key : {"kv_transfer_params", "bootstrap_host", "bootstrap_port",
                          "bootstrap_room", "disaggregated_params"}) {
    expect_refused(kChat, chat + "\"" + key + R"(":{"do_remote_prefill":true}})", key);
    expect_refused(kChat, chat + "\"" + key + R"(":1})", key);
  }
  expect_refused(kChat, chat + R"("kv_transf\u0065r_params":{}})", "kv_transfer_params");
  expect_refused(kChat, chat + R"("\u006bv_transfer_params":{}})", "kv_transfer_params");
  expect_refused(kChat, chat + R"("boot\u0073trap_room":4})", "bootstrap_room");
  expect_refused(kChat, chat + R"("kv_transfer_params":null,"kv_transfer_params":{}})",
                 "kv_transfer_params");
}

TEST_F(GatewayErrorsTest, UnknownPathsGetJson) {
  for (const char* path : {"/", "/v1", "/v1/embeddings", "/v2/chat/completions", "/metrics",
                           "/pd/v1/fleet", "/v1/chat/completions/", "/v1//chat/completions"}) {
    SCOPED_TRACE(path);
    expect_error(fleet_.post(path, kGood), 404);
    expect_error(fleet_.get(path), 404);
  }
}

TEST_F(GatewayErrorsTest, AWrongMethodGetsTheAllowedOnes) {
  for (const char* path : {kChat, kCompletions}) {
    for (const char* method : {"GET", "PUT", "DELETE", "PATCH", "OPTIONS"}) {
      WireClient client = fleet_.client();
      client.send(http_request(method, path));
      const auto answer = client.read();
      expect_error(answer, 405);
      EXPECT_EQ(answer.header("allow"), "POST") << method << path;
    }
  }
  const auto models = fleet_.post("/v1/models", kGood);
  expect_error(models, 405);
  EXPECT_EQ(models.header("allow"), "GET, HEAD");
}

TEST_F(GatewayErrorsTest, ContentEncodingsAreNamedAndRefused) {
  for (const char* coding : {"gzip", "zstd", "br", "unknown", "gzip, br", "identity, gzip"}) {
    SCOPED_TRACE(coding);
    const auto answer = fleet_.post(kChat, "\x1f\x8b not looked at",
                                    string("Content-Encoding: ") + coding + "\r\n");
    expect_error(answer, 415);
    EXPECT_EQ(answer.header("accept-encoding"), "identity");
    EXPECT_THAT(error_text(answer), HasSubstr(coding));
  }
  EXPECT_EQ(fleet_.sim_sum("requests"), 0);
  EXPECT_EQ(fleet_.post(kChat, kGood, "Content-Encoding: identity\r\n").status, 200);
}

TEST_F(GatewayErrorsTest, AHeadThatIsTooLargeIs431) {
  const auto one = fleet_.post(kChat, kGood, "X-Long: " + string(20000, 'a') + "\r\n");
  expect_error(one, 431);
  string many;
  for (int i = 0; i < 2000; ++i) many += "X-" + std::to_string(i) + ": b\r\n";
  expect_error(fleet_.post(kChat, kGood, many), 431);
  const auto target = fleet_.get("/v1/models?" + string(20000, 'a'));
  EXPECT_THAT(target.status, AnyOf(414, 431));
  error_of(target);
}

TEST_F(GatewayErrorsTest, AHeadThatNeverEndsIs431WhileTheClientStillSends) {
  WireClient client = fleet_.client();
  client.send("GET /v1/models HTTP/1.1\r\nHost: gw.test\r\n");
  for (int i = 0; i < 256 && client.send("X-Header: " + string(1000, 'a') + "\r\n"); ++i) continue;
  const auto answer = client.read();
  expect_error(answer, 431);
  EXPECT_EQ(answer.header("connection"), "close");
}

// Half a surrogate pair is JSON. Either way is right, as long as it is the same for all.
TEST_F(GatewayErrorsTest, LoneSurrogatesAreTreatedAlike) {
  const string open = R"({"model":"sim","max_tokens":4,"messages":[{"role":"user","content":")";
  const std::vector<std::pair<const char*, string>> lone{
      {kChat, open + R"(cut emoji \ud83d"}]})"},
      {kChat, open + R"(x \ude00 y"}]})"},
      {kChat, open + R"(\ude00\ud83d"}]})"},
      {kCompletions, R"({"model":"sim","max_tokens":4,"prompt":"\udcf0 start"})"}};
  std::vector<int> statuses;
  for (const auto& [path, body] : lone) {
    const auto answer = fleet_.post(path, body);
    const auto direct = fleet_.direct(path, body);
    statuses.push_back(answer.status);
    if (answer.header("x-pd-prefill-pod").empty()) {
      EXPECT_EQ(answer.status, 400) << answer.body;
      EXPECT_TRUE(names_offset(error_text(answer), body.find("\\u"))) << answer.body;
      continue;
    }
    EXPECT_EQ(answer.status, direct.status) << answer.body;
    const auto seen = fleet_.seen_by(answer.header("x-pd-prefill-pod"));
    ASSERT_FALSE(seen.empty());
    EXPECT_THAT(seen.back().body, HasSubstr(body.substr(body.find("\\u"), 6)));
  }
  for (const int status : statuses) EXPECT_EQ(status, statuses.front());
  const auto good = fleet_.post(kChat, open + R"(fine \ud83d\ude00"}]})");
  ASSERT_EQ(good.status, 200) << good.body;
  for (const char* header : {"x-pd-prefill-pod", "x-pd-decode-pod"}) {
    EXPECT_THAT(fleet_.last_seen(good.header(header)).body, HasSubstr(R"(fine \ud83d\ude00)"));
  }
}

TEST_F(GatewayErrorsTest, BytesThatAreNoUtf8AreRefusedBeforeAnyEngine) {
  const string open = R"({"model":"sim","max_tokens":4,"messages":[{"role":"user","content":")";
  for (const char* bad : {"\xff\xfe", "end \xf0\x9f", "\xed\xa0\x80", "\xc0\xaf", "\x80"}) {
    expect_refused(kChat, open + bad + "\"}]}", "");
  }
}

TEST_F(GatewayErrorsTest, NullMeansNotGiven) {
  const string chat = R"({"model":"sim","messages":[{"role":"user","content":"Count to five."}],)";
  const std::vector<std::pair<const char*, string>> bodies{
      {kChat, chat + R"("max_tokens":null,"max_completion_tokens":null,"n":null,"stream":null,)"
                     R"("stream_options":null,"stop":null,"tools":null,"tool_choice":null,)"
                     R"("functions":null,"function_call":null,"user":null,"seed":null,)"
                     R"("logit_bias":null,"response_format":null,"kv_transfer_params":null})"},
      {kCompletions,
       R"({"model":"sim","prompt":"One two","max_tokens":null,"n":null,"echo":null,"suffix":null})"},
      {kChat, chat + R"("stream":true,"stream_options":null,"max_tokens":12})"}};
  for (const auto& [path, body] : bodies) {
    SCOPED_TRACE(body);
    const auto answer = fleet_.post(path, body);
    ASSERT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(answer.header("x-pd-handoff"), "nixl");
    const string prefill = fleet_.last_seen(answer.header("x-pd-prefill-pod")).body;
    for (const char* key : {"max_tokens", "stream", "kv_transfer_params"}) {
      const string quoted = string("\"") + key + "\":";
      EXPECT_NE(prefill.find(quoted), string::npos) << prefill;
      EXPECT_EQ(prefill.find(quoted), prefill.rfind(quoted)) << prefill;
    }
    const json::value parsed = json::parse(prefill);
    EXPECT_EQ(parsed.at("max_tokens"), 1);
    EXPECT_EQ(parsed.at("stream"), false);
    EXPECT_FALSE(parsed.as_object().contains("stream_options"));
    if (const json::value* cap = parsed.as_object().if_contains("max_completion_tokens")) {
      EXPECT_EQ(*cap, 1);
    }
    const string decode = fleet_.last_seen(answer.header("x-pd-decode-pod")).body;
    for (const char* kept : {"\"max_tokens\":null", "\"n\":null", "\"stream_options\":null"}) {
      if (body.find(kept) != string::npos) {
        EXPECT_THAT(decode, HasSubstr(kept));
      }
    }
    EXPECT_EQ(decode.find("\"kv_transfer_params\""), decode.rfind("\"kv_transfer_params\""));
  }
  const auto number = fleet_.post(kChat, chat + R"("n":1.0,"max_tokens":4.0})");
  if (number.status == 200) {
    EXPECT_EQ(number.header("x-pd-handoff"), "nixl");
  } else {
    expect_error(number, 400);
  }
}

TEST_F(GatewayErrorsTest, AnOfferOfH2cIsAnHttp11Request) {
  const string offer =
      "POST /v1/chat/completions HTTP/1.1\r\nHost: gw.test\r\n"
      "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
      "HTTP2-Settings: AAEAAEAAAAIAAAAAAAMAAABkAAQBAAAAAAUAAEAA\r\n"
      "Content-Type: application/json\r\n";
  const string body = kGood;
  std::array<char, 16> size{};
  snprintf(size.data(), size.size(), "%zx", body.size());
  for (const string& framed : {"Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body,
                               "Transfer-Encoding: chunked\r\n\r\n" + string(size.data()) + "\r\n" +
                                   body + "\r\n0\r\n\r\n"}) {
    WireClient client = fleet_.client();
    client.send(offer + framed);
    const auto answer = client.read();
    ASSERT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(answer.interim, 0U);
    client.send(http_request("GET", "/v1/models"));
    EXPECT_EQ(client.read().status, 200);
    for (const char* header : {"x-pd-prefill-pod", "x-pd-decode-pod"}) {
      const SeenRequest seen = fleet_.last_seen(answer.header(header));
      EXPECT_EQ(seen.header("upgrade"), "");
      EXPECT_EQ(seen.header("http2-settings"), "");
      EXPECT_THAT(seen.header("connection"), Not(HasSubstr("pgrade")));
      EXPECT_THAT(seen.body, HasSubstr(R"("content":"hi")"));
    }
  }
  const auto socket = fleet_.get("/v1/realtime", "Connection: Upgrade\r\nUpgrade: websocket\r\n");
  EXPECT_THAT(socket.status, AnyOf(404, 426, 501));
  error_of(socket);
}

// Requests whose length two parsers could read differently.
struct Violation {
  const char* name;
  string bytes;
};

string with_head(const string& lines, const string& body = kGood) {
  return "POST /v1/chat/completions HTTP/1.1\r\nHost: gw.test\r\nContent-Type: "
         "application/json\r\n" +
         lines + "\r\n" + body;
}

std::vector<Violation> violations() {
  const string length = "Content-Length: " + std::to_string(string(kGood).size()) + "\r\n";
  const string chunked = "Transfer-Encoding: chunked\r\n";
  using namespace std::string_literals;
  return {
      {"length and chunked", with_head(length + chunked, "0\r\n\r\n")},
      {"chunked and length", with_head(chunked + length, "0\r\n\r\n")},
      {"two lengths", with_head(length + "Content-Length: 5\r\n")},
      {"signed length", with_head("Content-Length: +78\r\n")},
      {"negative length", with_head("Content-Length: -1\r\n")},
      {"empty length", with_head("Content-Length: \r\n")},
      {"hexadecimal length", with_head("Content-Length: 0x4e\r\n")},
      {"length overflow", with_head("Content-Length: 99999999999999999999999\r\n")},
      {"length list", with_head("Content-Length: 78, 79\r\n")},
      {"identity", with_head("Transfer-Encoding: identity\r\n")},
      {"xchunked", with_head("Transfer-Encoding: xchunked\r\n")},
      {"chunked, identity", with_head("Transfer-Encoding: chunked, identity\r\n")},
      {"gzip, chunked", with_head("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n")},
      {"chunked twice", with_head(chunked + chunked, "0\r\n\r\n")},
      {"tab chunked", with_head("Transfer-Encoding: \x0b"
                                "chunked\r\n",
                                "0\r\n\r\n")},
      {"space before colon", with_head("Content-Length : 78\r\n")},
      {"space before the name", with_head(" Content-Length: 78\r\n")},
      {"folded line", with_head(length + "X-Folded: a\r\n b\r\n")},
      {"bare line feed", "GET /v1/models HTTP/1.1\nHost: gw.test\n\n"},
      {"bare carriage return", with_head(length + "X-A: a\rX-B: b\r\n")},
      {"nul in a value", with_head(length + "X-A: a\0b\r\n"s)},
      {"no name", with_head(length + ": value\r\n")},
      {"no colon", with_head(length + "no colon\r\n")},
      {"no Host", "GET /v1/models HTTP/1.1\r\n\r\n"},
      {"two Hosts", "GET /v1/models HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"},
      {"absolute form", "GET http://gw.test/v1/models HTTP/1.1\r\nHost: gw.test\r\n\r\n"},
      {"chunked in 1.0",
       "POST /v1/chat/completions HTTP/1.0\r\nHost: gw.test\r\n" + chunked + "\r\n0\r\n\r\n"},
      {"a body on GET",
       "GET /v1/models HTTP/1.1\r\nHost: gw.test\r\nContent-Length: 5\r\n\r\nhello"},
      {"no target", "GET HTTP/1.1\r\nHost: gw.test\r\n\r\n"},
      {"two blanks", "GET  /v1/models HTTP/1.1\r\nHost: gw.test\r\n\r\n"},
      {"blank in the target", "GET /v1/mo dels HTTP/1.1\r\nHost: gw.test\r\n\r\n"},
      {"bad chunk size", with_head(chunked, "zz\r\nhello\r\n0\r\n\r\n")},
      {"signed chunk size", with_head(chunked, "+5\r\nhello\r\n0\r\n\r\n")},
      {"0x chunk size", with_head(chunked, "0x5\r\nhello\r\n0\r\n\r\n")},
      {"chunk size overflow", with_head(chunked, "fffffffffffffffff\r\nhello\r\n0\r\n\r\n")},
      {"no line end behind a chunk", with_head(chunked, "5\r\nhelloXX0\r\n\r\n")},
      {"line feed behind a chunk size", with_head(chunked, "5\nhello\r\n0\r\n\r\n")},
      {"not HTTP", "\x16\x03\x01\x02\x01\x01\xfc\x03\x03hello\r\n\r\n"},
  };
}

TEST_F(GatewayErrorsTest, DoubtfulFramingIs400AndTheEnd) {
  for (const Violation& violation : violations()) {
    SCOPED_TRACE(violation.name);
    WireClient client = fleet_.client();
    client.send(violation.bytes + http_request("GET", "/v1/models"));
    const auto answer = client.read();
    EXPECT_EQ(answer.status, 400) << answer.body;
    EXPECT_EQ(answer.header("connection"), "close");
    error_of(answer);
    EXPECT_EQ(status_lines(client.read_to_end(std::chrono::seconds(5))), 0U)
        << "what followed was read as a request";
  }
  EXPECT_EQ(fleet_.sim_sum("requests"), 0);
  EXPECT_EQ(fleet_.sim_sum("bad_framing"), 0);
}

TEST_F(GatewayErrorsTest, EqualLengthsMayBeOneButNeverASecondRequest) {
  const string length = std::to_string(string(kGood).size());
  for (const string& lines :
       {"Content-Length: " + length + ", " + length + "\r\n",
        "Content-Length: " + length + "\r\nContent-Length: " + length + "\r\n"}) {
    WireClient client = fleet_.client();
    client.send(with_head(lines));
    EXPECT_THAT(client.read().status, AnyOf(200, 400));
  }
  EXPECT_EQ(fleet_.sim_sum("bad_framing"), 0);
}

TEST_F(GatewayErrorsTest, UnknownVersionsAreRefused) {
  for (const char* bytes :
       {"GET /v1/models HTTP/2.0\r\nHost: gw.test\r\n\r\n",
        "GET /v1/models HTTP/1.2\r\nHost: gw.test\r\n\r\n", "GET /v1/models\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET /v1/models http/1.1\r\nHost: gw.test\r\n\r\n"}) {
    SCOPED_TRACE(bytes);
    WireClient client = fleet_.client();
    client.send(bytes);
    const auto answer = client.read();
    EXPECT_THAT(answer.status, AnyOf(400, 505)) << answer.body;
    EXPECT_TRUE(client.ends());
  }
}

// A refusal that is decided from the head must not leave the body behind as the next request.
class GatewayDesyncTest : public GatewayErrorsTest, public ::testing::WithParamInterface<bool> {
 protected:
  GatewayDesyncTest() : GatewayErrorsTest("[limits]\nbody = \"1KiB\"\n") {}

  void expect_in_step(const string& head_lines, const string& start, int status) {
    SCOPED_TRACE(start + head_lines);
    const string inner = "GET /v1/models HTTP/1.1\r\nHost: gw.test\r\n\r\n";
    const string body =
        R"({"model":"no-such","messages":[{"role":"user","content":")" + inner + "\"}]}";
    const string head = start + "\r\nHost: gw.test\r\nContent-Type: application/json\r\n" +
                        head_lines + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n";
    const string second = "GET /v1/models HTTP/1.1\r\nHost: gw.test\r\nConnection: close\r\n\r\n";
    WireClient client = fleet_.client();
    client.send(head);
    string wire;
    if (GetParam()) wire = client.read_to_end(std::chrono::milliseconds(300));
    client.send(body + second);
    wire += client.read_to_end();
    AnswerParser first;
    ASSERT_TRUE(first.feed(wire)) << wire;
    EXPECT_EQ(first.answer().status, status) << wire;
    const string rest = first.rest();
    if (first.answer().header("connection") == "close") {
      EXPECT_EQ(rest, "");
    } else {
      AnswerParser next;
      ASSERT_TRUE(next.feed(rest)) << wire;
      EXPECT_EQ(next.answer().status, 200) << wire;
      EXPECT_EQ(next.rest(), "");
    }
    EXPECT_LE(status_lines(wire), 2U) << wire;
  }
};

TEST_P(GatewayDesyncTest, ARefusedRequestTakesItsBodyAlong) {
  expect_in_step("", "POST /no/such/path HTTP/1.1", 404);
  expect_in_step("", "PUT /v1/chat/completions HTTP/1.1", 405);
  expect_in_step("", "POST /v1/models HTTP/1.1", 405);
  expect_in_step("Content-Encoding: gzip\r\n", "POST /v1/chat/completions HTTP/1.1", 415);
  // A line end inside a JSON string: refused for its body, which has been read then.
  expect_in_step("", "POST /v1/chat/completions HTTP/1.1", 400);
}

TEST_P(GatewayDesyncTest, ATooLongBodyIsNeverTheNextRequest) {
  const string inner = http_request("GET", "/v1/models");
  string body;
  while (body.size() < 8192) body += inner;
  WireClient client = fleet_.client();
  client.send("POST /v1/chat/completions HTTP/1.1\r\nHost: gw.test\r\nContent-Length: " +
              std::to_string(body.size()) + "\r\n\r\n");
  string wire;
  if (GetParam()) wire = client.read_to_end(std::chrono::milliseconds(300));
  client.send(body + "GET /v1/models HTTP/1.1\r\nHost: gw.test\r\nConnection: close\r\n\r\n");
  wire += client.read_to_end();
  EXPECT_THAT(wire, StartsWith("HTTP/1.1 413"));
  EXPECT_LE(status_lines(wire), 2U);
}

INSTANTIATE_TEST_SUITE_P(BodyAtOnceOrLater, GatewayDesyncTest, ::testing::Bool());

class GatewaySmallLimitsTest : public GatewayErrorsTest {
 protected:
  GatewaySmallLimitsTest()
      : GatewayErrorsTest(
            "[limits]\nbody = \"1MiB\"\nconcurrent_requests = 1\n[timeouts]\n"
            "header = \"300ms\"\nbody = \"300ms\"\nidle = \"300ms\"\n") {}
};

TEST_F(GatewaySmallLimitsTest, ATooLargeBodyIs413ToAClientThatIsStillSending) {
  WireClient client = fleet_.client();
  client.send(
      "POST /v1/chat/completions HTTP/1.1\r\nHost: gw.test\r\n"
      "Content-Type: application/json\r\nContent-Length: 16777216\r\n\r\n");
  const string piece(65536, ' ');
  for (int i = 0; i < 256 && client.send(piece); ++i) continue;
  const auto answer = client.read();
  expect_error(answer, 413);
  EXPECT_THAT(error_text(answer), HasSubstr("1048576"));
}

TEST_F(GatewaySmallLimitsTest, ATooLargeChunkedBodyIs413) {
  WireClient client = fleet_.client();
  client.send(
      "POST /v1/chat/completions HTTP/1.1\r\nHost: gw.test\r\n"
      "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n");
  const string piece = "10000\r\n" + string(65536, ' ') + "\r\n";
  for (int i = 0; i < 64 && client.send(piece); ++i) continue;
  expect_error(client.read(), 413);
}

TEST_F(GatewaySmallLimitsTest, ABodyAtTheLimitIsTaken) {
  string body = kGood;
  body.resize(1U << 20U, ' ');
  EXPECT_EQ(fleet_.post(kChat, body).status, 200);
  expect_error(fleet_.post(kChat, body + " "), 413);
}

TEST_F(GatewaySmallLimitsTest, AHeadThatStallsIs408) {
  WireClient client = fleet_.client();
  client.send("POST /v1/chat/completions HTTP/1.1\r\nHost: gw");
  const auto answer = client.read();
  expect_error(answer, 408);
  EXPECT_EQ(answer.header("connection"), "close");
  EXPECT_TRUE(client.ends());
}

TEST_F(GatewaySmallLimitsTest, AHeadThatDripsIs408AsWell) {
  WireClient client = fleet_.client();
  client.send("GET /v1/models HTTP/1.1\r\nX-Slow: ");
  const auto begin = std::chrono::steady_clock::now();
  while (client.send("a") && std::chrono::steady_clock::now() - begin < std::chrono::seconds(5)) {
    if (client.await_bytes(std::chrono::milliseconds(20))) break;
  }
  expect_error(client.read(), 408);
}

TEST_F(GatewaySmallLimitsTest, ABodyThatStallsIs408) {
  WireClient client = fleet_.client();
  client.send(
      "POST /v1/chat/completions HTTP/1.1\r\nHost: gw.test\r\n"
      "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"model\"");
  const auto answer = client.read();
  expect_error(answer, 408);
  EXPECT_TRUE(client.ends());
}

TEST_F(GatewaySmallLimitsTest, AnIdleConnectionEndsWithoutAWord) {
  WireClient client = fleet_.client();
  EXPECT_TRUE(client.ends());
}

TEST_F(GatewaySmallLimitsTest, OverTheLimitOfConcurrentRequestsIs429) {
  fleet_.timing(R"({"prefill_base":"600s"})");
  WireClient first = fleet_.client();
  first.send(http_request("POST", kChat, kGood));
  ASSERT_TRUE(eventually([&] { return fleet_.metric("pd_requests_in_progress") == 1; }));
  const auto second = fleet_.post(kChat, kGood);
  expect_error(second, 429);
  EXPECT_GE(std::stoi("0" + second.header("retry-after")), 1) << second.head();
  EXPECT_EQ(fleet_.get("/v1/models").status, 200) << "a list costs no engine";
  first.close();
  ASSERT_TRUE(eventually([&] { return fleet_.metric("pd_requests_in_progress") == 0; }));
  fleet_.timing(R"({"prefill_base":"0"})");
  EXPECT_EQ(fleet_.post(kChat, kGood).status, 200);
}

class GatewayMissingPodsTest : public ::testing::Test {
 protected:
  void expect_unavailable(const std::vector<FleetPod>& pods, std::vector<string> names) {
    const Deployment fleet({.pods = pods});
    const auto answer = fleet.post(kChat, kGood);
    EXPECT_EQ(answer.status, 503) << answer.body;
    EXPECT_GE(std::stoi("0" + answer.header("retry-after")), 1) << answer.head();
    for (const string& name : names) EXPECT_THAT(error_text(answer), HasSubstr(name));
    fleet.expect_quiet();
  }
};

TEST_F(GatewayMissingPodsTest, NamesTheRoleThatIsMissing) {
  expect_unavailable({{.name = "p0", .role = "prefill"}}, {"sim", "decode"});
  expect_unavailable({{.name = "d0", .role = "decode"}}, {"sim", "prefill"});
}

TEST_F(GatewayMissingPodsTest, NamesTheRolesetsWhenNoneIsWhole) {
  expect_unavailable({{.name = "p0", .role = "prefill", .roleset = "left"},
                      {.name = "d0", .role = "decode", .roleset = "right"}},
                     {"sim", "left", "right"});
}

}  // namespace
}  // namespace pd::test
