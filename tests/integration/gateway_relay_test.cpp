// Engines that answer from a script: what they write reaches the client as it is, and what they
// leave out is not made up.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/crc.hpp>
#include <boost/json.hpp>
#include <string>

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
using Framing = EngineScript::Framing;
using End = EngineScript::End;
using Step = EngineScript::Step;

constexpr const char* kChat = "/v1/chat/completions";
constexpr std::chrono::milliseconds kPause{50};

string streamed() {
  return R"({"model":"sim","messages":[{"role":"user","content":"hi"}],"stream":true})";
}
string plain() {
  return R"({"model":"sim","messages":[{"role":"user","content":"hi"}]})";
}

EngineScript stream_of(std::vector<string> pieces, End end = End::kClean) {
  EngineScript script;
  for (string& piece : pieces) script.steps.push_back({std::move(piece), kPause});
  script.end = end;
  return script;
}

string joined(const EngineScript& script) {
  string all;
  for (const Step& step : script.steps) all += step.send;
  return all;
}

// One gzip member with the text in a stored block.
string gzip(const string& text) {
  using namespace std::string_literals;
  const auto little = [](std::uint32_t value, int bytes) {
    string all;
    for (int i = 0; i < bytes; ++i) all += static_cast<char>(value >> (8 * i));
    return all;
  };
  boost::crc_32_type crc;
  crc.process_bytes(text.data(), text.size());
  const auto size = static_cast<std::uint32_t>(text.size());
  return "\x1f\x8b\x08\0\0\0\0\0\0\xff\x01"s + little(size, 2) + little(~size, 2) + text +
         little(crc.checksum(), 4) + little(size, 4);
}

// A prefill pod p0 and a decode pod d0, both scripted.
class GatewayRelayTest : public ::testing::Test {
 protected:
  explicit GatewayRelayTest(const string& connector = "nixl", const string& settings = {})
      : fleet_(
            {.pods =
                 {{.name = "p0",
                   .role = "prefill",
                   .connector = connector,
                   .port = prefill_.port()},
                  {.name = "d0", .role = "decode", .connector = connector, .port = decode_.port()}},
             .settings = settings}) {}
  ~GatewayRelayTest() override { fleet_.expect_host_quiet(); }

  WireAnswer ask(const string& body, const string& headers = {}) {
    return fleet_.post(kChat, body, headers);
  }
  // The bytes that the engine wrote and no others, as a whole answer.
  void expect_relayed(const EngineScript& script) {
    decode_.play(script);
    const auto answer = ask(streamed());
    ASSERT_EQ(answer.status, 200) << answer.body;
    EXPECT_TRUE(answer.whole()) << answer.problem;
    EXPECT_EQ(answer.body, joined(script));
  }
  // The engine's bytes, and behind them one error event that names the pod.
  void expect_error_event(const EngineScript& script, const std::vector<string>& whole_events) {
    decode_.play(script);
    const double before = fleet_.metric_sum("pd_answers_truncated_total");
    const auto answer = ask(streamed());
    ASSERT_EQ(answer.status, 200) << answer.body;
    EXPECT_THAT(answer.body, StartsWith(joined(script)));
    EXPECT_THAT(answer.body, Not(HasSubstr("[DONE]")));
    std::vector<json::value> errors;
    const auto events = event_data(answer.body);
    for (const string& data : events) {
      boost::system::error_code not_json;
      json::value event = json::parse(data, not_json);
      if (!not_json && event.is_object() && event.as_object().contains("error")) {
        errors.push_back(std::move(event));
      }
    }
    ASSERT_EQ(errors.size(), 1U) << answer.body;
    EXPECT_EQ(json::parse(events.back()), errors.front()) << "the error is not the last event";
    const json::value& error = errors.front().at("error");
    EXPECT_THAT(string(error.at("message").as_string()), HasSubstr("d0"));
    for (const char* key : {"type", "code", "param"}) {
      EXPECT_TRUE(error.as_object().contains(key)) << key;
    }
    for (std::size_t i = 0; i < whole_events.size(); ++i) EXPECT_EQ(events.at(i), whole_events[i]);
    EXPECT_TRUE(
        eventually([&] { return fleet_.metric_sum("pd_answers_truncated_total") > before; }));
  }

  ScriptedEngine prefill_{good_prefill()};
  ScriptedEngine decode_{stream_of({chat_event("Isar"), "data: [DONE]\n\n"})};
  Deployment fleet_;
};

string data_of(const string& event) {
  return event_data(event).at(0);
}

TEST_F(GatewayRelayTest, CleanEndMidwayIsNoWholeAnswer) {
  const string one = chat_event("Isar, ");
  const string two = chat_event("Lech, ");
  expect_error_event(stream_of({one, two}), {data_of(one), data_of(two)});
}

TEST_F(GatewayRelayTest, AClosedConnectionMidwayIsNoWholeAnswer) {
  const string one = chat_event("Isar, ");
  expect_error_event(stream_of({one, chat_event("Lech, ")}, End::kFin), {data_of(one)});
  EngineScript framed_by_close = stream_of({one});
  framed_by_close.framing = Framing::kClose;
  expect_error_event(framed_by_close, {data_of(one)});
}

TEST_F(GatewayRelayTest, ACutLineIsEndedBeforeTheErrorEvent) {
  const string one = chat_event("Isar, ");
  const string half = R"(data: {"id":"chatcmpl-t1","choices":[{"index":0,"delta":{"content":"Le)";
  expect_error_event(stream_of({one, half}, End::kReset), {data_of(one)});
  expect_error_event(stream_of({one, half}, End::kFin), {data_of(one)});
  expect_error_event(stream_of({one, half}, End::kClean), {data_of(one)});
  expect_error_event(stream_of({one, "data: {\"half\":1}\n"}, End::kFin), {data_of(one)});
  expect_error_event(stream_of({one, "da"}, End::kFin), {data_of(one)});
}

TEST_F(GatewayRelayTest, ACutCharacterDoesNotSpoilTheErrorEvent) {
  const string one = chat_event("Isar, ");
  expect_error_event(stream_of({one,
                                "data: {\"id\":\"chatcmpl-t1\",\"choices\":[{\"index\":0,"
                                "\"delta\":{\"content\":\"M\xc3"},
                               End::kFin),
                     {data_of(one)});
}

TEST_F(GatewayRelayTest, AFinishReasonMakesAnAnswerWholeWithoutDone) {
  expect_relayed(stream_of({chat_event("Isar, "), chat_event("Lech.", R"("stop")")}));
}

TEST_F(GatewayRelayTest, DoneEndsTheAnswerThoughTheEngineStaysOpen) {
  const auto script = stream_of({chat_event("Isar.", R"("stop")"), "data: [DONE]\n\n"}, End::kOpen);
  decode_.play(script);
  WireClient client = fleet_.client();
  client.send(http_request("POST", kChat, streamed()));
  ASSERT_TRUE(client.read_until("[DONE]"));
  const auto answer = client.read(std::chrono::seconds(1));
  EXPECT_TRUE(answer.whole()) << "the answer does not end within a second of [DONE]";
  EXPECT_EQ(answer.body, joined(script));
  EXPECT_TRUE(eventually([&] { return decode_.closed_by_peer() == 1; }))
      << "an answer that was not read to its end keeps its connection";
}

TEST_F(GatewayRelayTest, EveryLineEndOfTheStandardIsRelayed) {
  const auto event = [](const string& content, const string& end, const string& finish = "null") {
    const string lf = chat_event(content, finish);
    return lf.substr(0, lf.size() - 2) + end;
  };
  const string usage =
      R"(data: {"id":"chatcmpl-t1","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":5,"total_tokens":14}})";
  // The separators of Unicode are content; only LF, CRLF and CR end a line.
  const string odd =
      "Isar\xe2\x80\xa8Lech\xc2\x85"
      "Donau";
  for (const string& line : {string("\n"), string("\r\n"), string("\r")}) {
    const string end = line + line;
    expect_relayed(stream_of({event(odd, end), event(", Inn", line, R"("stop")"), line,
                              usage + end + "data: [DONE]" + end}));
    expect_relayed(stream_of(
        {event(odd, end), event(", Inn", end, R"("stop")"), usage + end, "data:[DONE]" + end}));
  }
  expect_relayed(stream_of({event(odd, "\r\n\r"), "\n" + event("Inn", "\r", R"("stop")"),
                            "\n\r\n" + usage + "\r\n\r\n", "data:[DONE]\r\n\r\n"}));
  expect_relayed(
      stream_of({"event: message\nid: 1\ndata: {\"id\":\"chatcmpl-t1\",\ndata: "
                 "\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Isar\"}}]}\n\n",
                 "data: [DONE]\n\n"}));
  expect_relayed(stream_of(
      {": keep-alive\n\n", chat_event("Isar", R"("stop")"), ":\n\n", "data: [DONE]\n\n"}));
}

TEST_F(GatewayRelayTest, DoneInsideContentIsContent) {
  expect_relayed(stream_of({chat_event(R"(data: [DONE]\n\n)"), chat_event("[DONE]"),
                            chat_event("more", R"("stop")"), "data: [DONE]\n\n"}));
}

TEST_F(GatewayRelayTest, EachPieceArrivesWhileTheEngineStillThinks) {
  const string first = chat_event("Isar");
  // The first event may be held until it is whole: it could be an error. Nothing after it may.
  const std::vector<std::vector<string>> scripts{
      {first}, {first, "data: {\"half"}, {first, ": alive\r\n\r"}, {": alive\n\n", first}};
  for (const auto& pieces : scripts) {
    decode_.play(stream_of(pieces, End::kOpen));
    WireClient client = fleet_.client();
    client.send(http_request("POST", kChat, streamed()));
    EXPECT_TRUE(client.read_until(pieces.back())) << pieces.back();
  }
  EXPECT_TRUE(eventually([&] { return decode_.closed_by_peer() == scripts.size(); }))
      << "the engine does not hear that its client left";
}

TEST_F(GatewayRelayTest, AnErrorAsTheFirstEventIsAStatus) {
  decode_.play(stream_of(
      {"data: {\"error\":{\"message\":\"engine overloaded\",\"type\":\"overloaded_error\","
       "\"code\":503}}\n\n",
       "data: [DONE]\n\n"}));
  const auto answer = ask(streamed());
  EXPECT_THAT(answer.status, AnyOf(502, 503)) << answer.body;
  EXPECT_THAT(error_text(answer), HasSubstr("engine overloaded"));
}

TEST_F(GatewayRelayTest, ALaterErrorEventIsRelayedAndCountedAsAFailure) {
  const std::vector<EngineScript> scripts{
      stream_of({"data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\","
                 "\"content\":\"\"},\"finish_reason\":null}]}\n\n",
                 "data: {\"error\":{\"message\":\"CUDA out of memory\",\"type\":\"internal_error\","
                 "\"code\":500}}\n\n",
                 "data: [DONE]\n\n"}),
      stream_of(
          {chat_event("Isar, "),
           "event: error\ndata: {\"error\":{\"message\":\"worker died\",\"code\":500}}\n\n"})};
  int number = 0;
  for (const EngineScript& script : scripts) {
    decode_.play(script);
    const string id = "failed-" + std::to_string(++number);
    const auto answer = ask(streamed(), "X-Request-Id: " + id + "\r\n");
    ASSERT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(answer.body, joined(script));
    EXPECT_TRUE(eventually([&] { return fleet_.admin("/pd/v1/decisions/" + id).status == 200; }));
    EXPECT_NE(fleet_.admin_json("/pd/v1/decisions/" + id).at("code"), "")
        << "recorded as a success";
  }
}

TEST_F(GatewayRelayTest, TheWordErrorInContentIsASuccess) {
  expect_relayed(stream_of({chat_event(R"({\"error\":{\"code\":500}} is an example)"),
                            chat_event("", R"("stop")"), "data: [DONE]\n\n"}));
  const auto script =
      stream_of({chat_event(R"({\"error\":1})"), chat_event("", R"("stop")"), "data: [DONE]\n\n"});
  decode_.play(script);
  ask(streamed(), "X-Request-Id: fine\r\n");
  EXPECT_TRUE(eventually([&] { return fleet_.admin("/pd/v1/decisions/fine").status == 200; }));
  EXPECT_EQ(fleet_.admin_json("/pd/v1/decisions/fine").at("code"), "");
}

TEST_F(GatewayRelayTest, AnErrorInThePrefillAnswerIsNotRecomputed) {
  prefill_.play(json_answer(200, R"({"error":{"message":"KV pool is gone","code":500}})"));
  const auto answer = ask(plain());
  EXPECT_EQ(answer.status, 502) << answer.body;
  EXPECT_THAT(error_text(answer), HasSubstr("KV pool is gone"));
  EXPECT_TRUE(decode_.posts().empty()) << "decode was started";
}

TEST_F(GatewayRelayTest, ACompressedPrefillAnswerIsReadOrNamed) {
  EngineScript script = good_prefill();
  const string body = gzip(script.steps[0].send);
  script = {.headers = {{"Content-Type", "application/json"}, {"Content-Encoding", "gzip"}},
            .steps = {{.send = body}}};
  prefill_.play(script);
  const auto answer = ask(streamed(), "Accept-Encoding: gzip, br\r\n");
  if (answer.status == 200) {
    EXPECT_EQ(answer.header("x-pd-handoff"), "nixl");
  } else {
    EXPECT_EQ(answer.status, 502) << answer.body;
    EXPECT_THAT(error_text(answer), HasSubstr("p0"));
    EXPECT_THAT(error_text(answer), HasSubstr("gzip"));
  }
  EXPECT_EQ(prefill_.posts().at(0).header("accept-encoding"), "identity");
}

TEST_F(GatewayRelayTest, ACompressedStreamStaysAsItIs) {
  const string packed =
      gzip(chat_event("Isar") + chat_event("Lech", R"("stop")") + "data: [DONE]\n\n");
  EngineScript script = stream_of({packed.substr(0, 40), packed.substr(40)});
  script.headers.emplace_back("Content-Encoding", "gzip");
  decode_.play(script);
  const auto answer = ask(streamed(), "Accept-Encoding: gzip, br\r\n");
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.header("content-encoding"), "gzip");
  EXPECT_TRUE(answer.whole()) << answer.problem;
  EXPECT_EQ(answer.body, packed);
}

TEST_F(GatewayRelayTest, ACompressed4xxKeepsItsHeader) {
  const string packed = gzip(R"({"error":{"message":"too long"}})");
  decode_.play({.status = 400,
                .headers = {{"Content-Type", "application/json"}, {"Content-Encoding", "gzip"}},
                .steps = {{.send = packed}}});
  const auto answer = ask(plain(), "Accept-Encoding: gzip\r\n");
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.header("content-encoding"), "gzip");
  EXPECT_EQ(answer.body, packed);
}

TEST_F(GatewayRelayTest, AShortPlainAnswerIs502) {
  const string body = R"({"id":"x","choices":[{"index":0,"message":{"content":"half)";
  for (const End end : {End::kFin, End::kReset}) {
    EngineScript script = json_answer(200, body);
    script.headers[1].second = std::to_string(body.size() + 30);
    script.end = end;
    decode_.play(script);
    const auto answer = ask(plain());
    EXPECT_EQ(answer.status, 502) << answer.body;
    EXPECT_THAT(error_text(answer), HasSubstr("decode"));
    EXPECT_THAT(error_text(answer), HasSubstr("d0"));
  }
  decode_.play({.headers = {{"Content-Type", "application/json"}},
                .steps = {{.send = body}},
                .end = End::kFin});
  EXPECT_EQ(ask(plain()).status, 502) << "chunked and cut";
}

TEST_F(GatewayRelayTest, AnAnswerThatIsNoHttpIs502) {
  EngineScript script{.headers = {{"Content-Length", "5"}, {"Content-Length", "7"}},
                      .framing = Framing::kPlain,
                      .steps = {{.send = "hello"}},
                      .end = End::kFin};
  decode_.play(script);
  EXPECT_EQ(ask(plain()).status, 502);
  script.headers = {{"Bad Header", "x"}};
  decode_.play(script);
  EXPECT_EQ(ask(plain()).status, 502);
}

TEST_F(GatewayRelayTest, TheHandoffIsRelayedUnchanged) {
  decode_.play(json_answer(200, "{}"));
  ASSERT_EQ(ask(plain()).status, 200);
  const string sent = decode_.posts().at(0).body;
  EXPECT_THAT(sent, HasSubstr(R"("remote_block_ids":[[176,175,166]])"));
  EXPECT_THAT(sent, HasSubstr(R"("unknown_number":12345678901234567890)"));
  EXPECT_THAT(sent, HasSubstr(R"("remote_host":"10.9.8.7")"));
  EXPECT_EQ(prefill_.posts().at(0).header("x-request-id"),
            decode_.posts().at(0).header("x-request-id"));
}

TEST_F(GatewayRelayTest, AHandoffThatIsNotWholeIsNeverForwarded) {
  decode_.play(json_answer(200, "{}"));
  const string whole = good_prefill().steps[0].send;
  const auto with = [&](const string& old, const string& now) {
    string body = whole;
    body.replace(body.find(old), old.size(), now);
    return body;
  };
  std::size_t asked = 0;
  for (const string& body :
       {with("[[176,175,166]]", "[]"), with("[[176,175,166]]", "[[]]"),
        with("[[176,175,166]]", "null"), with("\"e-1\"", "null"), with("\"e-1\"", "\"\""),
        with("\"r-1\"", "null"), with("\"r-1\"", "\"\""), with("\"r-1\"", "7"),
        string(R"({"kv_transfer_params":"text"})"), string(R"({"kv_transfer_params":[]})"),
        string(R"({"kv_transfer_params":{}})"), string("{}"), string("[]")}) {
    SCOPED_TRACE(body);
    prefill_.play(json_answer(200, body));
    const auto answer = ask(plain());
    if (answer.status == 200) {
      EXPECT_EQ(answer.header("x-pd-handoff"), "recomputed");
      ++asked;
      EXPECT_THAT(decode_.posts().back().body, Not(HasSubstr("do_remote_prefill\":true")));
    } else {
      EXPECT_EQ(answer.status, 502) << answer.body;
    }
  }
  EXPECT_EQ(decode_.posts().size(), asked);
}

TEST_F(GatewayRelayTest, AStaleConnectionIsReplacedOnce) {
  EngineScript prefill = good_prefill();
  prefill.drop_second_post = true;
  prefill_.play(prefill);
  EngineScript decode = json_answer(200, R"({"ok":true})");
  decode.drop_second_post = true;
  decode_.play(decode);
  for (int i = 0; i < 6; ++i) {
    const auto answer = ask(plain());
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(answer.body, R"({"ok":true})");
  }
}

TEST_F(GatewayRelayTest, AnEngineThatClosesAfterEachAnswerIsServed) {
  EngineScript prefill = good_prefill();
  prefill.end = End::kFin;
  prefill_.play(prefill);
  EngineScript decode = json_answer(200, R"({"ok":true})");
  decode.end = End::kFin;
  decode_.play(decode);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(ask(plain()).status, 200);
}

class GatewaySharedFileSystemTest : public GatewayRelayTest {
 protected:
  GatewaySharedFileSystemTest() : GatewayRelayTest("shfs") {}
};

TEST_F(GatewaySharedFileSystemTest, TheHostIsAlwaysThePrefillPods) {
  decode_.play(json_answer(200, "{}"));
  const auto answer = ask(plain());
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.header("x-pd-handoff"), "shfs");
  const json::value sent = json::parse(decode_.posts().at(0).body).at("kv_transfer_params");
  EXPECT_EQ(sent.at("remote_host"), "127.0.0.1");
  EXPECT_EQ(sent.at("remote_engine_id"), "e-1");
}

}  // namespace
}  // namespace pd::test
