#include "framework/request/request_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <string_view>

#include "tests/unit/request/padded_body.h"

namespace pd {
namespace {

using test::PaddedBody;
using ::testing::HasSubstr;

constexpr Api kChat = Api::kChatCompletions;
constexpr Api kText = Api::kCompletions;

// A body that must be accepted, and what was read of it.
class Read {
 public:
  Read(Api api, std::string_view text) : body_(text) {
    const auto result = reader_.read(api, body_.view(), view_);
    EXPECT_TRUE(result) << text << "\n" << (result ? "" : result.error().message);
  }
  const RequestView* operator->() const { return &view_; }
  const RequestView& operator*() const { return view_; }
  std::string prompt() const {
    std::string out;
    view_.append_prompt(out);
    return out;
  }

 private:
  PaddedBody body_;
  RequestReader reader_;
  RequestView view_;
};

RequestError error_of(Api api, std::string_view text) {
  const PaddedBody body(text);
  RequestReader reader;
  RequestView view;
  const auto result = reader.read(api, body.view(), view);
  EXPECT_FALSE(result) << "accepted: " << text;
  return result ? RequestError{"accepted", {}, {}} : result.error();
}

std::string chat(std::string_view messages) {
  return R"({"model":"m","messages":)" + std::string(messages) + "}";
}
std::string chat_prompt(std::string_view messages) {
  return Read(kChat, chat(messages)).prompt();
}
std::string text_prompt(std::string_view prompt) {
  return Read(kText, R"({"model":"m","prompt":)" + std::string(prompt) + "}").prompt();
}

// ---- The prompt -------------------------------------------------------------------------------

TEST(PromptTest, ContentsOfMessagesAreJoinedWithOneSpace) {
  EXPECT_EQ(chat_prompt(R"([{"role":"user","content":"a"},{"role":"user","content":"b"}])"), "a b");
  EXPECT_EQ(chat_prompt(R"([{"content":"one"}])"), "one");
}

TEST(PromptTest, RolesNamesAndToolsAreNotPartOfIt) {
  EXPECT_EQ(chat_prompt(R"([{"role":"system","name":"n","content":"x","tool_calls":[{"a":1}]}])"),
            "x");
  EXPECT_EQ(Read(kChat, R"({"tools":[{"content":"t"}],"model":"m","system":"s",)"
                        R"("messages":[{"content":"x"}]})")
                .prompt(),
            "x");
}

TEST(PromptTest, NullIsItsFourLetters) {
  EXPECT_EQ(chat_prompt(R"([{"content":"a"},{"content":null},{"content":"b"}])"), "a null b");
}

TEST(PromptTest, ANumberIsItsJsonText) {
  EXPECT_EQ(chat_prompt(R"([{"content":42},{"content":-1.50e3}])"), "42 -1.50e3");
}

TEST(PromptTest, TrueAndFalseAreTheirJsonText) {
  EXPECT_EQ(chat_prompt(R"([{"content":true},{"content":false}])"), "true false");
}

TEST(PromptTest, AMessageWithoutContentAddsItsSpaceAlone) {
  EXPECT_EQ(chat_prompt(R"([{"content":"a"},{"role":"assistant"},{"content":"b"}])"), "a  b");
  EXPECT_EQ(chat_prompt(R"([{"role":"assistant"},{"content":"b"}])"), " b");
  EXPECT_EQ(chat_prompt(R"([{"content":"a"},{"role":"assistant"}])"), "a ");
}

TEST(PromptTest, EmptyContentAddsItsSpaceToo) {
  EXPECT_EQ(chat_prompt(R"([{"content":""},{"content":""},{"content":"b"}])"), "  b");
}

TEST(PromptTest, PartsAreTheirRawBytes) {
  const std::string parts =
      R"([ {"type":"text",  "text":"h\u00e9\n"} ,{"type":"image_url","image_url":{"url":"x"}}])";
  EXPECT_EQ(chat_prompt(R"([{"content":)" + parts + R"(},{"content":"b"}])"), parts + " b");
  EXPECT_EQ(chat_prompt(R"([{"content": {"a" : [1, 2]} }])"), R"({"a" : [1, 2]})");
}

TEST(PromptTest, BracketsInsideStringsDoNotEndAPart) {
  const std::string parts = R"([{"text":"]}\"]}"},"}]"])";
  EXPECT_EQ(chat_prompt(R"([{"content":)" + parts + R"(}])"), parts);
}

TEST(PromptTest, KeysMatchExactly) {
  EXPECT_EQ(chat_prompt(R"([{"Content":"no","content":"yes"}])"), "yes");
  EXPECT_EQ(chat_prompt(R"([{"CONTENT":"no"}])"), "");
}

TEST(PromptTest, AKeySpelledWithEscapesIsTheSameKey) {
  EXPECT_EQ(chat_prompt(R"([{"cont\u0065nt":"yes"}])"), "yes");
}

TEST(PromptTest, EscapesAreUndone) {
  EXPECT_EQ(chat_prompt(R"([{"content":"q\" b\\ s\/ \b\f\n\r\t \u0041 \u00e9 \u20ac"}])"),
            "q\" b\\ s/ \b\f\n\r\t A \xC3\xA9 \xE2\x82\xAC");
  EXPECT_EQ(chat_prompt(R"([{"content":"\u0000x"}])"), std::string("\0x", 2));
}

TEST(PromptTest, SurrogatePairsAreOneCharacter) {
  EXPECT_EQ(chat_prompt(R"([{"content":"\ud83d\ude00"}])"), "\xF0\x9F\x98\x80");
  EXPECT_EQ(chat_prompt(R"([{"content":"\uD83D\uDE00!"}])"), "\xF0\x9F\x98\x80!");
}

// A lone surrogate is accepted, and the same body gives the same prompt twice.
TEST(PromptTest, ALoneSurrogateIsReplacedInThePromptAlone) {
  const std::string replaced = "\xEF\xBF\xBD";
  EXPECT_EQ(chat_prompt(R"([{"content":"cut \ud83d"}])"), "cut " + replaced);
  EXPECT_EQ(chat_prompt(R"([{"content":"x \ude00 y"}])"), "x " + replaced + " y");
  EXPECT_EQ(chat_prompt(R"([{"content":"\ude00\ud83d"}])"), replaced + replaced);
  EXPECT_EQ(chat_prompt(R"([{"content":"\ud83d\u0041"}])"), replaced + "A");
  EXPECT_EQ(chat_prompt(R"([{"content":"\ud83d\ud83d\ude00"}])"), replaced + "\xF0\x9F\x98\x80");
  EXPECT_EQ(chat_prompt(R"([{"content":"\ud83d\n"}])"), replaced + "\n");
  EXPECT_EQ(text_prompt(R"("\udcf0 start")"), replaced + " start");
}

TEST(PromptTest, RawUtf8StaysAsItIs) {
  EXPECT_EQ(chat_prompt("[{\"content\":\"gr\xC3\xBC\xC3\x9F \xF0\x9F\x98\x80\"}]"),
            "gr\xC3\xBC\xC3\x9F \xF0\x9F\x98\x80");
}

TEST(PromptTest, CompletionsTakeAString) {
  EXPECT_EQ(text_prompt(R"("One two")"), "One two");
  EXPECT_EQ(text_prompt(R"("")"), "");
  EXPECT_EQ(text_prompt(R"("a\tb")"), "a\tb");
}

TEST(PromptTest, AppendingKeepsWhatIsThere) {
  const Read read(kText, R"({"model":"m","prompt":"b"})");
  std::string out = "a";
  read->append_prompt(out);
  EXPECT_EQ(out, "ab");
}

TEST(PromptTest, OneReaderReadsManyBodiesWithoutRemains) {
  RequestReader reader;
  RequestView view;
  const PaddedBody first(R"({"model":"long-name","stream":true,"n":3,"max_tokens":7,"priority":-2,)"
                         R"("cache_salt":"s","messages":[{"content":"a"},{"content":"b"}]})");
  ASSERT_TRUE(reader.read(kChat, first.view(), view));
  const PaddedBody second(R"({"model":"m","prompt":"p"})");
  ASSERT_TRUE(reader.read(kText, second.view(), view));
  EXPECT_EQ(view.model, "m");
  EXPECT_EQ(view.api, kText);
  EXPECT_FALSE(view.stream);
  EXPECT_EQ(view.choices, 1u);
  EXPECT_EQ(view.max_output_tokens, std::nullopt);
  EXPECT_EQ(view.priority, 0);
  EXPECT_EQ(view.cache_salt, "");
  EXPECT_EQ(view.members.size(), 2u);
  std::string out;
  view.append_prompt(out);
  EXPECT_EQ(out, "p");
}

// ---- What steers routing ----------------------------------------------------------------------

TEST(RequestViewTest, ReadsTheMembersThatSteerRouting) {
  const Read read(kChat, R"({"model":"org\/mödel","stream":true,"n":2,"max_tokens":5,)"
                         R"("max_completion_tokens":9,"priority":-3,"cache_salt":"s\u0041",)"
                         R"("messages":[{"content":"x"}]})");
  EXPECT_EQ(read->model, "org/mödel");
  EXPECT_TRUE(read->stream);
  EXPECT_EQ(read->choices, 2u);
  EXPECT_EQ(read->max_output_tokens, 9u);
  EXPECT_EQ(read->priority, -3);
  EXPECT_EQ(read->cache_salt, R"("s\u0041")");
  EXPECT_FALSE(read->can_hand_off());
}

TEST(RequestViewTest, MaxTokensCountsWhereItStandsAlone) {
  EXPECT_EQ(Read(kText, R"({"model":"m","prompt":"p","max_tokens":5})")->max_output_tokens, 5u);
}

TEST(RequestViewTest, BestOfIsAChoiceToo) {
  const Read read(kText, R"({"model":"m","prompt":"p","n":1,"best_of":4})");
  EXPECT_EQ(read->choices, 4u);
  EXPECT_FALSE(read->can_hand_off());
}

TEST(RequestViewTest, ABeamSearchIsNotHandedOff) {
  EXPECT_FALSE(Read(kText, R"({"model":"m","prompt":"p","use_beam_search":true})")->can_hand_off());
  EXPECT_TRUE(Read(kText, R"({"model":"m","prompt":"p","use_beam_search":false})")->can_hand_off());
}

TEST(RequestViewTest, MembersStandWhereTheyAre) {
  const std::string text =
      "  {\n \"model\" : \"m\" ,\t\"x\":[1, {\"model\":2}],\"messages\" : [{\"content\":\"a\"}] "
      "}\r\n";
  const Read read(kChat, text);
  ASSERT_EQ(read->members.size(), 3u);
  const auto piece = [&](std::uint32_t begin, std::uint32_t end) {
    return text.substr(begin, end - begin);
  };
  EXPECT_EQ(text[read->object_begin], '{');
  EXPECT_EQ(text.substr(read->object_end), "}\r\n");
  const auto& model = read->members[0];
  EXPECT_EQ(model.key, ControlKey::kModel);
  EXPECT_EQ(piece(model.key_begin, model.value_end), "\"model\" : \"m\"");
  EXPECT_EQ(piece(model.value_begin, model.value_end), "\"m\"");
  EXPECT_EQ(read->members[1].key, ControlKey::kNone);
  EXPECT_EQ(piece(read->members[1].key_begin, read->members[1].value_end),
            "\"x\":[1, {\"model\":2}]");
  EXPECT_EQ(piece(read->members[2].value_begin, read->members[2].value_end),
            "[{\"content\":\"a\"}]");
  EXPECT_EQ(read->find(ControlKey::kModel), &read->members[0]);
  EXPECT_EQ(read->find(ControlKey::kStream), nullptr);
}

TEST(RequestViewTest, EveryKindOfValueEndsWhereItEnds) {
  for (const std::string value :
       {"1", "-0.5e+10", "true", "false", "null", "\"\"", R"("a\"b\\")", "[]", "{}", "[ ]", "{ }",
        R"([[[1]],{"a":[{}]}])", R"({"a":"}","b":"{\"]"})", "12345678901234567890123456789"}) {
    for (const std::string blank : {"", " ", "\n\t \r"}) {
      const std::string text = "{\"x\":" + blank + value + blank +
                               ",\"model\":\"m\",\"prompt\":\"p\",\"y\":" + value + blank + "}";
      const Read read(kText, text);
      ASSERT_EQ(read->members.size(), 4u) << text;
      for (const std::size_t i : {std::size_t{0}, std::size_t{3}}) {
        const auto& member = read->members[i];
        EXPECT_EQ(text.substr(member.value_begin, member.value_end - member.value_begin), value);
      }
    }
  }
}

TEST(RequestViewTest, ControlKeysSpelledWithEscapesAreFound) {
  const Read read(kChat, R"({"m\u006fdel":"m","str\u0065am":true,"messages":[{"content":"x"}]})");
  EXPECT_EQ(read->model, "m");
  EXPECT_TRUE(read->stream);
  ASSERT_NE(read->find(ControlKey::kStream), nullptr);
}

// ---- null, report "null means not given" ------------------------------------------------------

TEST(NullFieldsTest, EveryOptionalFieldMayBeNull) {
  const Read read(kChat,
                  R"({"model":"m-small","messages":[{"role":"user","content":"Count to five."}],)"
                  R"("max_tokens":null,"max_completion_tokens":null,"n":null,"stream":null,)"
                  R"("stream_options":null,"stop":null,"tools":null,"tool_choice":null,)"
                  R"("functions":null,"function_call":null,"user":null,"seed":null,)"
                  R"("logit_bias":null,"response_format":null,"kv_transfer_params":null})");
  EXPECT_TRUE(read->can_hand_off());
  EXPECT_FALSE(read->stream);
  EXPECT_EQ(read->max_output_tokens, std::nullopt);
  EXPECT_EQ(read.prompt(), "Count to five.");
}

TEST(NullFieldsTest, NullMaxCompletionTokensLeavesMaxTokens) {
  const Read read(kChat, R"({"model":"m","messages":[{"content":"x"}],"max_tokens":7,)"
                         R"("max_completion_tokens":null})");
  EXPECT_EQ(read->max_output_tokens, 7u);
}

TEST(NullFieldsTest, StreamAsTextIsRefusedByName) {
  const auto error =
      error_of(kChat, R"({"model":"m","messages":[{"content":"hi"}],"stream":"true"})");
  EXPECT_EQ(error.param, "stream");
  EXPECT_THAT(error.message, HasSubstr("stream"));
}

TEST(NullFieldsTest, NAsFloatIsOneOrRefusedByName) {
  const PaddedBody body(
      R"({"model":"m-small","messages":[{"role":"user","content":"hi"}],"n":1.0,"max_tokens":4.0})");
  RequestReader reader;
  RequestView view;
  const auto result = reader.read(kChat, body.view(), view);
  if (result) {
    EXPECT_EQ(view.choices, 1u);
  } else {
    EXPECT_THAT(result.error().param, ::testing::AnyOf("n", "max_tokens"));
  }
}

// ---- Refusals ---------------------------------------------------------------------------------

struct Refused {
  const char* name;
  Api api;
  const char* body;
  const char* code;
  const char* param;
};

void PrintTo(const Refused& refused, std::ostream* out) {
  *out << refused.name;
}

class RefusalTest : public ::testing::TestWithParam<Refused> {};

TEST_P(RefusalTest, NamesCodeAndKey) {
  const auto error = error_of(GetParam().api, GetParam().body);
  if (*GetParam().code != '\0') {
    EXPECT_EQ(error.code, GetParam().code) << error.message;
  }
  EXPECT_EQ(error.param, GetParam().param) << error.message;
  EXPECT_GT(error.message.size(), 10u);
  if (*GetParam().param != '\0') {
    EXPECT_THAT(error.message, HasSubstr(GetParam().param));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, RefusalTest,
    ::testing::Values(
        Refused{"empty", kChat, "", "invalid_json", ""},
        Refused{"blank", kChat, " \n", "invalid_json", ""},
        Refused{"open", kChat, "{", "invalid_json", ""},
        Refused{"not_json", kChat, "{not json", "invalid_json", ""},
        Refused{"trailing_comma", kChat, R"({"model":"m","messages":[{}],})", "invalid_json", ""},
        Refused{"two_commas", kChat, R"({"model":"m",,"messages":[{}]})", "invalid_json", ""},
        Refused{"leading_comma", kChat, R"({,"model":"m","messages":[{}]})", "invalid_json", ""},
        Refused{"no_colon", kChat, R"({"model" "m","messages":[{}]})", "invalid_json", ""},
        Refused{"bare_key", kChat, R"({model:"m","messages":[{}]})", "invalid_json", ""},
        Refused{"single_quotes", kChat, R"({'model':'m','messages':[]})", "invalid_json", ""},
        Refused{"second_object", kChat, R"({"model":"m","messages":[{}]}{})", "invalid_json", ""},
        Refused{"garbage_behind", kChat, R"({"model":"m","messages":[{}]} x)", "invalid_json", ""},
        Refused{"comment", kChat, R"({"model":"m",/*c*/"messages":[{}]})", "invalid_json", ""},
        Refused{"raw_newline", kChat, "{\"model\":\"m\",\"messages\":[{\"content\":\"a\nb\"}]}",
                "invalid_json", ""},
        Refused{"bad_escape", kChat, R"({"model":"m","messages":[{"content":"\x41"}]})",
                "invalid_json", ""},
        Refused{"short_unicode", kChat, R"({"model":"m","messages":[{"content":"\u12"}]})",
                "invalid_json", ""},
        Refused{"bad_hex", kChat, R"({"model":"m","messages":[{"content":"\u12G4"}]})",
                "invalid_json", ""},
        Refused{"bad_utf8", kChat, "{\"model\":\"m\",\"messages\":[{\"content\":\"b \xFF\xFE\"}]}",
                "invalid_json", ""},
        Refused{"utf8_surrogate", kChat,
                "{\"model\":\"m\",\"messages\":[{\"content\":\"\xED\xA0\x80\"}]}", "invalid_json",
                ""},
        Refused{"overlong_utf8", kChat,
                "{\"model\":\"m\",\"messages\":[{\"content\":\"\xC0\xAF\"}]}", "invalid_json", ""},
        Refused{"nan", kChat, R"({"model":"m","messages":[{}],"temperature":NaN})", "invalid_json",
                ""},
        Refused{"leading_zero", kChat, R"({"model":"m","messages":[{}],"seed":012})",
                "invalid_json", ""},
        Refused{"plus", kChat, R"({"model":"m","messages":[{}],"seed":+1})", "invalid_json", ""},
        Refused{"half_number", kChat, R"({"model":"m","messages":[{}],"seed":1.})", "invalid_json",
                ""},
        Refused{"wrong_bracket", kChat, R"({"model":"m","messages":[}])", "invalid_json", ""},
        Refused{"nested_no_value", kChat, R"({"model":"m","messages":[{}],"x":{"a":}})",
                "invalid_json", ""},
        Refused{"nested_two_values", kChat, R"({"model":"m","messages":[{}],"x":[1 2]})",
                "invalid_json", ""},
        Refused{"nested_bad_word", kChat, R"({"model":"m","messages":[{}],"x":[tru]})",
                "invalid_json", ""},
        Refused{"nested_garbage", kChat, R"({"model":"m","messages":[{}],"x":{"a" 1}})",
                "invalid_json", ""},
        Refused{"array", kChat, "[1,2,3]", "", ""}, Refused{"null", kChat, "null", "", ""},
        Refused{"string", kChat, "\"x\"", "", ""}, Refused{"number", kChat, "7", "", ""},
        Refused{"no_model", kChat, R"({"messages":[{}]})", "", "model"},
        Refused{"null_model", kChat, R"({"model":null,"messages":[{}]})", "", "model"},
        Refused{"number_model", kChat, R"({"model":7,"messages":[{}]})", "", "model"},
        Refused{"no_messages", kChat, R"({"model":"m"})", "", "messages"},
        Refused{"text_messages", kChat, R"({"model":"m","messages":"x"})", "", "messages"},
        Refused{"null_messages", kChat, R"({"model":"m","messages":null})", "", "messages"},
        Refused{"object_messages", kChat, R"({"model":"m","messages":{}})", "", "messages"},
        Refused{"number_prompt", kText, R"({"model":"m","prompt":7})", "", "prompt"},
        Refused{"object_prompt", kText, R"({"model":"m","prompt":{}})", "", "prompt"},
        Refused{"number_stream", kChat, R"({"model":"m","messages":[{}],"stream":1})", "",
                "stream"},
        Refused{"text_n", kChat, R"({"model":"m","messages":[{}],"n":"2"})", "", "n"},
        Refused{"zero_n", kChat, R"({"model":"m","messages":[{}],"n":0})", "", "n"},
        Refused{"negative_n", kChat, R"({"model":"m","messages":[{}],"n":-1})", "", "n"},
        Refused{"huge_n", kChat, R"({"model":"m","messages":[{}],"n":99999999999999999999})", "",
                "n"},
        Refused{"text_max", kChat, R"({"model":"m","messages":[{}],"max_tokens":"5"})", "",
                "max_tokens"},
        Refused{"negative_max", kChat, R"({"model":"m","messages":[{}],"max_tokens":-5})", "",
                "max_tokens"},
        Refused{"bool_max", kChat, R"({"model":"m","messages":[{}],"max_completion_tokens":true})",
                "", "max_completion_tokens"}),
    [](const auto& test_case) { return test_case.param.name; });

TEST(RefusalTextTest, AnEmptyListOfMessagesIsRefused) {
  EXPECT_EQ(error_of(kChat, R"({"model":"m","messages":[]})").param, "messages");
}

TEST(RefusalTextTest, InvalidJsonTellsTheByte) {
  const std::string text = R"({"model":"m","messages":[{"content":"a"}],"x":tru})";
  const auto error = error_of(kChat, text);
  EXPECT_EQ(error.code, "invalid_json");
  EXPECT_THAT(error.message, ::testing::ContainsRegex("[0-9]+"));
}

TEST(RefusalTextTest, TypeErrorsTellTheByteOfTheValue) {
  const std::string text = R"({"model":"m","messages":[{}],"stream": "true"})";
  EXPECT_THAT(error_of(kChat, text).message, HasSubstr(std::to_string(text.find("\"true\""))));
}

// \u00XX for the first letter of `key`.
std::string first_letter_escaped(const std::string& key) {
  constexpr std::string_view kHex = "0123456789abcdef";
  const auto letter = static_cast<unsigned char>(key[0]);
  return std::string("\\u00") + kHex[letter >> 4U] + kHex[letter & 15U];
}

// Control keys may occur once; duplicates of any other key pass.
TEST(DuplicateKeyTest, ControlKeysMayOccurOnce) {
  for (const std::string key :
       {"model", "stream", "stream_options", "max_tokens", "max_completion_tokens", "min_tokens",
        "n", "stop", "stop_token_ids", "ignore_eos", "messages", "priority", "cache_salt"}) {
    std::string value = "1";
    if (key == "model" || key == "cache_salt") value = "\"m\"";
    if (key == "stream" || key == "ignore_eos") value = "true";
    if (key == "messages") value = "[{}]";
    if (key == "stop_token_ids") value = "[]";
    if (key == "stream_options") value = "{}";
    if (key == "stop") value = "\"s\"";
    std::string text = "{";
    if (key != "model") text += R"("model":"m",)";
    if (key != "messages") text += R"("messages":[{}],)";
    const std::string once = "\"" + key + "\":" + value;
    Read accepted(kChat, text + once + "}");
    const std::string twice = text + once + ",\"x\":1,";
    const auto error = error_of(kChat, twice + once + "}");
    EXPECT_EQ(error.code, "duplicate_key") << key;
    EXPECT_EQ(error.param, key);
    EXPECT_THAT(error.message, HasSubstr(std::to_string(twice.size()))) << key;
    std::string escaped = "\"" + key + "\":" + value;
    escaped.replace(1, 1, first_letter_escaped(key));
    EXPECT_EQ(error_of(kChat, twice + escaped + "}").code, "duplicate_key") << escaped;
  }
}

TEST(DuplicateKeyTest, OtherKeysMayRepeat) {
  const Read read(kChat, R"({"model":"m","x":1,"x":2,"messages":[{}],"x":3})");
  EXPECT_EQ(read->members.size(), 5u);
}

TEST(DuplicateKeyTest, NestedKeysAreNobodysBusiness) {
  const Read read(kChat, R"({"model":"m","messages":[{}],"x":{"stream":1,"stream":2,)"
                         R"("kv_transfer_params":{},"bootstrap_room":1}})");
  EXPECT_FALSE(read->stream);
}

TEST(ReservedKeyTest, FieldsOfTheHandOffAreRefused) {
  for (const std::string key : {"kv_transfer_params", "bootstrap_host", "bootstrap_port",
                                "bootstrap_room", "disaggregated_params", "disagg_prefill_resp"}) {
    for (const std::string value : {"{}", "1", "\"x\"", "[1]", "false"}) {
      const std::string text = R"({"model":"m","messages":[{}],")" + key + "\":" + value + "}";
      const auto error = error_of(kChat, text);
      EXPECT_EQ(error.code, "reserved_key") << text;
      EXPECT_EQ(error.param, key);
    }
  }
}

TEST(ReservedKeyTest, HoweverTheyAreSpelled) {
  for (const std::string key :
       {R"(kv\u005ftransfer_params)", R"(\u006b\u0076_transfer_params)", R"(\u0062ootstrap_host)",
        R"(kv_transfer_param\u0073)", R"(\u006B\u0076\u005F\u0074ransfer_params)"}) {
    const auto error = error_of(kChat, R"({"model":"m","messages":[{}],")" + key + R"(":{}})");
    EXPECT_EQ(error.code, "reserved_key") << key;
  }
}

TEST(ReservedKeyTest, NullIsNotAHandOff) {
  Read read(kChat, R"({"model":"m","messages":[{}],"kv_transfer_params":null})");
  ASSERT_NE(read->find(ControlKey::kKvTransferParams), nullptr);
}

// ---- Prompts that are lists -------------------------------------------------------------------

TEST(PromptListTest, SeveralPromptsAreRefusedOrNotHandedOff) {
  for (const std::string prompt : {R"(["a","b"])", "[[1,2],[3]]"}) {
    const PaddedBody body(R"({"model":"m","prompt":)" + prompt + "}");
    RequestReader reader;
    RequestView view;
    const auto result = reader.read(kText, body.view(), view);
    if (result) {
      EXPECT_FALSE(view.can_hand_off()) << prompt;
    } else {
      EXPECT_EQ(result.error().param, "prompt");
    }
  }
}

TEST(PromptListTest, TokenIdsAreCounted) {
  const PaddedBody body(R"({"model":"m","prompt":[ 1, 22 ,333]})");
  RequestReader reader;
  RequestView view;
  const auto result = reader.read(kText, body.view(), view);
  if (result) {
    EXPECT_EQ(view.prompt_token_ids, 3u);
    EXPECT_TRUE(view.can_hand_off());
  } else {
    EXPECT_EQ(result.error().param, "prompt");
  }
}

TEST(PromptListTest, MixedListsAreRefusedOrNotHandedOff) {
  for (const std::string prompt : {R"([1,"a"])", "[{}]", R"(["a",[1]])"}) {
    const PaddedBody body(R"({"model":"m","prompt":)" + prompt + "}");
    RequestReader reader;
    RequestView view;
    const auto result = reader.read(kText, body.view(), view);
    if (result) {
      EXPECT_FALSE(view.can_hand_off()) << prompt;
    } else {
      EXPECT_EQ(result.error().param, "prompt");
    }
  }
}

// ---- Size -------------------------------------------------------------------------------------

std::string body_with_members(std::size_t members) {
  std::string text = R"({"model":"m","prompt":"p")";
  for (std::size_t i = 2; i < members; ++i) text += ",\"k" + std::to_string(i) + "\":1";
  return text + "}";
}

TEST(SizeTest, OrdinaryNumbersOfMembersPass) {
  EXPECT_EQ(Read(kText, body_with_members(200))->members.size(), 200u);
}

TEST(SizeTest, TooManyMembersAreRefusedWithTheLimit) {
  const auto error = error_of(kText, body_with_members(100'000));
  EXPECT_THAT(error.message, ::testing::ContainsRegex("[0-9]+"));
}

TEST(SizeTest, AroundFiveHundredMembersNothingBreaks) {
  for (std::size_t members = 500; members <= 530; ++members) {
    const PaddedBody body(body_with_members(members));
    RequestReader reader;
    RequestView view;
    if (reader.read(kText, body.view(), view)) {
      EXPECT_EQ(view.members.size(), members);
    }
  }
}

TEST(SizeTest, DeepNestingIsTakenOrRefusedNeverACrash) {
  for (const std::size_t depth : {10u, 100u, 1000u, 1024u, 100'000u, 1'000'000u}) {
    for (const bool objects : {false, true}) {
      std::string value;
      for (std::size_t i = 0; i < depth; ++i) value += objects ? "{\"a\":" : "[";
      value += "1";
      value += std::string(depth, objects ? '}' : ']');
      const PaddedBody body(R"({"model":"m","messages":[{"content":)" + value + R"(}],"x":)" +
                            value + "}");
      RequestReader reader;
      RequestView view;
      const auto result = reader.read(kChat, body.view(), view);
      if (depth <= 100) {
        EXPECT_TRUE(result) << depth;
      }
      if (!result) {
        EXPECT_EQ(result.error().code, "invalid_json") << depth;
      }
    }
  }
}

TEST(SizeTest, LongStringsAndManyMessages) {
  const std::string word(1'000'000, 'x');
  EXPECT_EQ(chat_prompt("[{\"content\":\"" + word + "\"}]"), word);
  std::string messages = "[";
  std::string expected;
  for (int i = 0; i < 5000; ++i) {
    messages += std::string(i == 0 ? "" : ",") + R"({"role":"user","content":")" +
                std::to_string(i) + "\"}";
    expected += (i == 0 ? "" : " ") + std::to_string(i);
  }
  EXPECT_EQ(chat_prompt(messages + "]"), expected);
}

// ---- append_unescaped -------------------------------------------------------------------------

TEST(AppendUnescapedTest, TellsMalformedEscapes) {
  for (const std::string_view bad : {"\\", "a\\", "\\x", "\\u", "\\u1", "\\u12", "\\u123",
                                     "\\uzzzz", "\\ud83d\\", "\\ud83d\\u", "\\ud83d\\u12"}) {
    std::string out;
    EXPECT_FALSE(append_unescaped(bad, out)) << bad;
  }
}

TEST(AppendUnescapedTest, EncodesEveryLengthOfUtf8) {
  std::string out;
  ASSERT_TRUE(
      append_unescaped("\\u007f\\u0080\\u07ff\\u0800\\uffff\\ud800\\udc00\\udbff\\udfff", out));
  EXPECT_EQ(out, "\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF\xF0\x90\x80\x80\xF4\x8F\xBF\xBF");
}

}  // namespace
}  // namespace pd
