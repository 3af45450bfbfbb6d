// The vLLM hand-off: both bodies, and what is taken out of a prefill's answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <fstream>
#include <iterator>

#include "host/engines/engine.h"
#include "tests/unit/request/padded_body.h"

namespace pd {
namespace {

namespace json = boost::json;
using test::PaddedBody;
using ::testing::HasSubstr;

constexpr const char* kAsked =
    R"({"do_remote_decode":true,"do_remote_prefill":false,"remote_engine_id":null,)"
    R"("remote_block_ids":null,"remote_host":null,"remote_port":null})";

std::string joined(const BodyPieces& pieces) {
  std::string out;
  for (const auto piece : pieces) out += piece;
  return out;
}

std::string recorded(const std::string& name) {
  std::ifstream file(std::string(PD_RECORDED_ANSWERS_DIR) + "/" + name, std::ios::binary);
  EXPECT_TRUE(file) << name;
  return {std::istreambuf_iterator<char>(file), {}};
}

class VllmTest : public ::testing::TestWithParam<const char*> {
 protected:
  VllmTest() : engine_(find_engine("vllm", GetParam())) {
    pod_.spec.name = "p1";
    pod_.spec.host = "10.1.2.3";
    pod_.spec.port = 8100;
    pod_.spec.connector = GetParam();
    pod_.address = "10.1.2.3:8100";
  }
  bool shfs() const { return std::string_view(GetParam()) == "shfs"; }

  struct Body {
    Body(Api api, const std::string& text) : bytes(text) {
      const auto read = RequestReader().read(api, bytes.view(), view);
      EXPECT_TRUE(read) << text << "\n" << (read ? "" : read.error().message);
    }
    PaddedBody bytes;
    RequestView view;
  };

  std::string prefill_of(const std::string& text, Api api = Api::kChatCompletions) const {
    const Body body(api, text);
    return joined(engine_->prefill_body(body.view));
  }
  std::string decode_of(const std::string& text, const Handoff& handoff,
                        Api api = Api::kChatCompletions) const {
    const Body body(api, text);
    return joined(engine_->decode_body(body.view, handoff));
  }

  boost::system::result<Handoff, HandoffFault> take(const std::string& answer) const {
    const PaddedBody padded(answer);
    return engine_->read_prefill_answer(padded.view(), pod_);
  }
  // kv_transfer_params as decode gets them; null where the answer has no whole hand-off.
  json::value taken(const std::string& answer) const {
    const auto handoff = take(answer);
    if (!handoff) {
      EXPECT_FALSE(handoff.error().message.empty());
      return nullptr;
    }
    const std::string body = decode_of(R"({"model":"m","messages":[{}]})", *handoff);
    const json::value parsed = json::parse(body);
    const auto* found = parsed.as_object().if_contains("kv_transfer_params");
    EXPECT_NE(found, nullptr) << body;
    return found == nullptr ? json::value() : *found;
  }
  static std::string answer_with(const std::string& parameters) {
    return R"({"id":"x","choices":[{"text":"a"}],"kv_transfer_params":)" + parameters +
           R"(,"metrics":null})";
  }
  static json::object whole() {
    return json::parse(
               R"({"do_remote_prefill":true,"do_remote_decode":false,"remote_block_ids":[[1,2]],)"
               R"("remote_engine_id":"e","remote_request_id":"r","remote_host":"10.9.9.9",)"
               R"("remote_port":5600,"tp_size":1})")
        .as_object();
  }
  static std::string answer_with(const json::object& parameters) {
    return answer_with(json::serialize(parameters));
  }

  const Engine* engine_;
  Pod pod_;
};

INSTANTIATE_TEST_SUITE_P(Connectors, VllmTest, ::testing::Values("nixl", "shfs"),
                         [](const auto& test_case) { return test_case.param; });

TEST_P(VllmTest, IsFoundByItsNames) {
  ASSERT_NE(engine_, nullptr);
  EXPECT_EQ(engine_->handoff_name(), GetParam());
  EXPECT_EQ(find_engine("vllm", "no such connector"), nullptr);
  EXPECT_EQ(find_engine("no such engine", GetParam()), nullptr);
}

// ---- Prefill body -----------------------------------------------------------------------------

TEST_P(VllmTest, PrefillOfAChatHasTheForcedFields) {
  const std::string text =
      R"({"model":"m","messages":[{"role":"user","content":"h\u00e9"}],"stream":true,)"
      R"("stream_options":{"include_usage":true},"max_tokens":64,"min_tokens":3,"n":1,)"
      R"("stop":["x"],"stop_token_ids":[5],"ignore_eos":false,"temperature":0.50,)"
      R"("tools":[{"b":1,"a":12345678901234567890}]})";
  json::object expected = json::parse(text).as_object();
  expected.erase("stream_options");
  expected.erase("min_tokens");
  expected.erase("stop");
  expected.erase("stop_token_ids");
  expected["stream"] = false;
  expected["max_tokens"] = 1;
  expected["max_completion_tokens"] = 1;
  expected["ignore_eos"] = true;
  expected["kv_transfer_params"] = json::parse(kAsked);
  const std::string out = prefill_of(text);
  EXPECT_EQ(json::parse(out), json::value(expected)) << out;
  EXPECT_THAT(out, HasSubstr(R"("messages":[{"role":"user","content":"h\u00e9"}])"));
  EXPECT_THAT(out, HasSubstr(R"("temperature":0.50)"));
  EXPECT_THAT(out, HasSubstr(R"("tools":[{"b":1,"a":12345678901234567890}])"));
}

TEST_P(VllmTest, Row148_PrefillOfASmallChatGetsThemToo) {
  json::object expected = json::parse(R"({"model":"m","messages":[{}]})").as_object();
  expected["stream"] = false;
  expected["max_tokens"] = 1;
  expected["max_completion_tokens"] = 1;
  expected["ignore_eos"] = true;
  expected["kv_transfer_params"] = json::parse(kAsked);
  json::object out = json::parse(prefill_of(R"({"model":"m","messages":[{}]})")).as_object();
  if (out.contains("n")) {
    EXPECT_EQ(out["n"], 1);
  }
  out.erase("n");
  EXPECT_EQ(json::value(out), json::value(expected));
}

TEST_P(VllmTest, PrefillOfACompletion) {
  const std::string text =
      R"({"model":"m","prompt":"p","max_tokens":64,"stream":true,"echo":false,"best_of":1})";
  json::object out = json::parse(prefill_of(text, Api::kCompletions)).as_object();
  EXPECT_EQ(out["max_tokens"], 1);
  EXPECT_FALSE(out.contains("max_completion_tokens"));
  EXPECT_EQ(out["stream"], false);
  EXPECT_EQ(out["ignore_eos"], true);
  EXPECT_EQ(out["echo"], false);
  EXPECT_EQ(out["prompt"], "p");
  EXPECT_EQ(out["kv_transfer_params"], json::parse(kAsked));
}

TEST_P(VllmTest, ACompletionWithMaxCompletionTokensHasItForced) {
  json::object out =
      json::parse(
          prefill_of(R"({"model":"m","prompt":"p","max_completion_tokens":9})", Api::kCompletions))
          .as_object();
  EXPECT_EQ(out["max_completion_tokens"], 1);
  EXPECT_EQ(out["max_tokens"], 1);
}

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

TEST_P(VllmTest, NullFieldsAreReplacedNotRepeated) {
  const std::string text =
      R"({"model":"m-small","messages":[{"role":"user","content":"Count to five."}],)"
      R"("max_tokens":null,"max_completion_tokens":null,"n":null,"stream":null,)"
      R"("stream_options":null,"stop":null,"tools":null,"seed":null,"kv_transfer_params":null})";
  const std::string out = prefill_of(text);
  for (const std::string key : {"\"max_tokens\"", "\"max_completion_tokens\"", "\"stream\"",
                                "\"kv_transfer_params\"", "\"ignore_eos\""}) {
    EXPECT_EQ(count(out, key), 1u) << key << "\n" << out;
  }
  EXPECT_EQ(count(out, "\"stream_options\""), 0u);
  json::object parsed = json::parse(out).as_object();
  EXPECT_EQ(parsed["max_tokens"], 1);
  EXPECT_EQ(parsed["max_completion_tokens"], 1);
  EXPECT_EQ(parsed["stream"], false);
  EXPECT_EQ(parsed["kv_transfer_params"], json::parse(kAsked));
  EXPECT_TRUE(parsed["tools"].is_null());
}

TEST_P(VllmTest, KeysSpelledWithEscapesAreForcedOnce) {
  const std::string out =
      prefill_of(R"({"model":"m","messages":[{}],"max_token\u0073":64,"\u0073tream":true})");
  json::object parsed = json::parse(out).as_object();
  EXPECT_EQ(parsed["max_tokens"], 1);
  EXPECT_EQ(parsed["stream"], false);
  const PaddedBody body(out);
  EXPECT_EQ(count(out, "token"), 2u) << out;  // max_tokens and max_completion_tokens
}

// ---- Decode body ------------------------------------------------------------------------------

TEST_P(VllmTest, DecodeIsTheClientsBodyAndOneObject) {
  const std::string text =
      " {\"model\" : \"m\",\n \"messages\":[{\"content\":\"\\u00e9\"}], \"x\":1.0e2 , "
      "\"stream\":true ,\"max_tokens\":null} \n";
  const auto handoff = take(recorded("chat.json"));
  ASSERT_TRUE(handoff);
  const std::string out = decode_of(text, *handoff);
  const std::size_t added = out.find("\"kv_transfer_params\"");
  ASSERT_NE(added, std::string::npos);
  // All bytes of the client are there: a prefix in front of the object and a suffix behind it.
  const std::size_t extra = out.size() - text.size();
  std::size_t same = 0;
  while (same < text.size() && out[same] == text[same]) ++same;
  EXPECT_EQ(out.substr(same + extra), text.substr(same)) << out;
  json::object expected = json::parse(text).as_object();
  expected["kv_transfer_params"] = json::parse(out).as_object()["kv_transfer_params"];
  EXPECT_EQ(json::parse(out), json::value(expected));
}

TEST_P(VllmTest, WithoutAHandoffDecodeIsTheClientsBodyItself) {
  for (const std::string text :
       {" {\"model\":\"m\" , \"messages\":[ {} ]}\n",
        R"({"model":"m","messages":[{}],"kv_transfer_params":null,"stream":true})"}) {
    const std::string out = decode_of(text, Handoff{});
    EXPECT_EQ(out, text);
  }
}

TEST_P(VllmTest, ANullHandoffOfTheClientIsReplacedInDecode) {
  const auto handoff = take(recorded("chat.json"));
  ASSERT_TRUE(handoff);
  const std::string out = decode_of(
      R"({"model":"m","kv_transfer_params":null,"messages":[{}],"max_tokens":null})", *handoff);
  EXPECT_EQ(count(out, "\"kv_transfer_params\""), 1u);
  json::object parsed = json::parse(out).as_object();
  EXPECT_TRUE(parsed["kv_transfer_params"].is_object());
  EXPECT_TRUE(parsed["max_tokens"].is_null());
}

TEST_P(VllmTest, BlanksInFrontOfTheBraceAreNoTrouble) {
  const auto handoff = take(recorded("chat.json"));
  ASSERT_TRUE(handoff);
  const std::string out = decode_of("{\"model\":\"m\",\"messages\":[{}]\n\n\t }", *handoff);
  EXPECT_TRUE(json::parse(out).as_object().contains("kv_transfer_params")) << out;
}

// ---- The prefill's answer ---------------------------------------------------------------------

TEST_P(VllmTest, RecordedHandoffsAreTakenWhole) {
  for (const std::string name :
       {"completions.json", "chat.json", "two_choices.json", "stop_token.json"}) {
    const std::string answer = recorded(name);
    json::object expected = json::parse(answer).as_object()["kv_transfer_params"].as_object();
    if (shfs()) expected["remote_host"] = "10.1.2.3";
    EXPECT_EQ(taken(answer), json::value(expected)) << name;
  }
}

TEST_P(VllmTest, RecordedAnswersWithoutAHandoffAreFaults) {
  for (const std::string name : {"ordinary.json", "stop_string.json"}) {
    const auto handoff = take(recorded(name));
    ASSERT_FALSE(handoff) << name;
    EXPECT_FALSE(handoff.error().engine_error) << name;
    EXPECT_FALSE(handoff.error().message.empty());
  }
}

TEST_P(VllmTest, RecordedErrorsAreEngineErrors) {
  const auto unknown = take(recorded("unknown_model.json"));
  ASSERT_FALSE(unknown);
  EXPECT_TRUE(unknown.error().engine_error);
  EXPECT_THAT(unknown.error().message, HasSubstr("does not exist"));
  const auto too_long = take(recorded("too_long.json"));
  ASSERT_FALSE(too_long);
  EXPECT_TRUE(too_long.error().engine_error);
  EXPECT_THAT(too_long.error().message, HasSubstr("maximum context length"));
}

TEST_P(VllmTest, ErrorsInOtherShapesAreEngineErrorsToo) {
  for (const std::string answer :
       {R"({"error":"boom"})", R"({"error":{"code":500}})", R"({"error":{"message":7}})",
        R"({"object":"error","error":{"message":"x"},"kv_transfer_params":null})"}) {
    const auto handoff = take(answer);
    ASSERT_FALSE(handoff) << answer;
    EXPECT_TRUE(handoff.error().engine_error) << answer;
    EXPECT_FALSE(handoff.error().message.empty());
  }
}

TEST_P(VllmTest, ANullErrorIsNoError) {
  EXPECT_TRUE(take(R"({"error":null,"kv_transfer_params":)" + json::serialize(whole()) + "}"));
}

TEST_P(VllmTest, WhatIsNotWholeIsAFault) {
  for (const std::string field : {"remote_engine_id", "remote_block_ids", "remote_request_id"}) {
    auto parameters = whole();
    parameters.erase(field);
    EXPECT_TRUE(taken(answer_with(parameters)).is_null()) << field << " absent";
    EXPECT_THAT(take(answer_with(parameters)).error().message, HasSubstr(field));
    for (const char* const bad : {"null", "\"\"", "[]", "{}", "false"}) {
      parameters[field] = json::parse(bad);
      EXPECT_TRUE(taken(answer_with(parameters)).is_null()) << field << " " << bad;
    }
  }
  for (const std::string parameters :
       {"null", "{}", "[]", "\"x\"", "7", "true", R"({"do_remote_prefill":true})"}) {
    EXPECT_TRUE(taken(answer_with(parameters)).is_null()) << parameters;
  }
}

TEST_P(VllmTest, BlockIdsMayBeNestedOrFlatNotEmpty) {
  const auto with_blocks = [&](const char* blocks) {
    auto parameters = whole();
    parameters["remote_block_ids"] = json::parse(blocks);
    return taken(answer_with(parameters));
  };
  for (const char* const blocks :
       {"[1]", "[1,2,3]", "[[1]]", "[[1,2],[3]]", "[0]", "[[0]]", "[\"block1\",\"block2\"]"}) {
    const json::value found = with_blocks(blocks);
    ASSERT_TRUE(found.is_object()) << blocks;
    EXPECT_EQ(found.at("remote_block_ids"), json::parse(blocks));
  }
  for (const char* const blocks : {"[]", "[[]]", "[[],[]]", "null", "7"}) {
    EXPECT_TRUE(with_blocks(blocks).is_null()) << blocks;
  }
}

TEST_P(VllmTest, Row129_TheHostIsFilledWhereItIsMissing) {
  const auto host_of = [&](const json::object& parameters) {
    return taken(answer_with(parameters)).at("remote_host");
  };
  auto parameters = whole();
  EXPECT_EQ(host_of(parameters), shfs() ? "10.1.2.3" : "10.9.9.9");
  parameters["remote_host"] = nullptr;
  EXPECT_EQ(host_of(parameters), "10.1.2.3");
  parameters.erase("remote_host");
  EXPECT_EQ(host_of(parameters), "10.1.2.3");
}

TEST_P(VllmTest, Row133_FlagsEngineAndBlocksStayAsTheyAre) {
  auto parameters = whole();
  parameters["remote_engine_id"] = "test-engine-123";
  parameters["remote_block_ids"] = json::parse(R"(["block1","block2"])");
  const json::value found = taken(answer_with(parameters));
  ASSERT_TRUE(found.is_object());
  EXPECT_EQ(found.at("remote_engine_id"), "test-engine-123");
  EXPECT_EQ(found.at("remote_block_ids").as_array().size(), 2u);
  EXPECT_EQ(found.at("do_remote_prefill"), true);
  EXPECT_EQ(found.at("do_remote_decode"), false);
}

TEST_P(VllmTest, UnknownFieldsAndBigNumbersPassByteForByte) {
  const std::string parameters =
      R"({"do_remote_prefill":true,"do_remote_decode":false,)"
      R"("remote_block_ids":[[18446744073709551615, 9007199254740993]],"remote_engine_id":"\u0065",)"
      R"("remote_request_id":"r\"}","future":{"a":[1.50,"]}"]},"remote_port":5600})";
  const auto handoff = take(answer_with(parameters));
  ASSERT_TRUE(handoff);
  const std::string out = decode_of(R"({"model":"m","messages":[{}]})", *handoff);
  EXPECT_THAT(out, HasSubstr("[[18446744073709551615, 9007199254740993]]"));
  EXPECT_THAT(out, HasSubstr(R"("future":{"a":[1.50,"]}"]})"));
  EXPECT_EQ(json::parse(out).at("kv_transfer_params").at("remote_host"), "10.1.2.3");
}

TEST_P(VllmTest, OnlyTheTopLevelCounts) {
  EXPECT_TRUE(
      taken(R"({"choices":[{"kv_transfer_params":)" + json::serialize(whole()) + "}]}").is_null());
  EXPECT_TRUE(taken(R"({"text":"\"kv_transfer_params\":{\"remote_engine_id\":\"e\"}"})").is_null());
  EXPECT_TRUE(taken(R"({"a":{"error":{"message":"no"}},"kv_transfer_params":)" +
                    json::serialize(whole()) + "}")
                  .is_object());
}

TEST_P(VllmTest, WhatIsNoJsonObjectIsAFault) {
  for (const std::string answer : {"", " ", "[]", "null", "7", "\"x\"", "{", "not json",
                                   "data: {}\n\n", "{\"a\":1}x", "\xFF\xFE"}) {
    const auto handoff = take(answer);
    ASSERT_FALSE(handoff) << answer;
    EXPECT_FALSE(handoff.error().message.empty());
  }
}

TEST_P(VllmTest, TruncatedAnswersAreFaultsAtEveryByte) {
  const std::string answer = recorded("completions.json");
  for (std::size_t size = 0; size < answer.size(); ++size) {
    EXPECT_FALSE(take(answer.substr(0, size))) << size;
  }
}

}  // namespace
}  // namespace pd
