#include "host/engines/body_splice.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <map>
#include <random>

#include "tests/unit/request/padded_body.h"

namespace pd {
namespace {

namespace json = boost::json;
using test::PaddedBody;

std::string joined(const BodyPieces& pieces) {
  std::string out;
  for (const auto piece : pieces) out += piece;
  EXPECT_EQ(out.size(), size_of(pieces));
  return out;
}

// A read body, for editors to work on.
struct Body {
  explicit Body(const std::string& text) : bytes(text) {
    const auto read = RequestReader().read(Api::kChatCompletions, bytes.view(), view);
    EXPECT_TRUE(read) << text << "\n" << (read ? "" : read.error().message);
  }
  PaddedBody bytes;
  RequestView view;
};

TEST(BodyEditorTest, WithoutEditsTheBodyIsItself) {
  for (const std::string text : {R"({"model":"m","messages":[{}]})",
                                 " \n{ \"model\" : \"m\" , \"messages\" : [ {} ] }\r\n"}) {
    const Body body(text);
    EXPECT_EQ(joined(BodyEditor(body.view).pieces()), text);
  }
}

TEST(BodyEditorTest, SetReplacesInPlace) {
  const Body body(R"({"model":"m", "max_tokens" : 12 ,"messages":[{}]})");
  BodyEditor editor(body.view);
  editor.set(ControlKey::kMaxTokens, "\"max_tokens\":", "1");
  const std::string out = joined(editor.pieces());
  EXPECT_EQ(json::parse(out), json::parse(R"({"model":"m","max_tokens":1,"messages":[{}]})"));
  EXPECT_LT(out.find("max_tokens"), out.find("messages"));
}

TEST(BodyEditorTest, SetAppendsWhatIsMissing) {
  const Body body("{\"model\":\"m\",\"messages\":[{}] }\n");
  BodyEditor editor(body.view);
  editor.set(ControlKey::kStream, "\"stream\":", "false");
  const std::string out = joined(editor.pieces());
  EXPECT_EQ(json::parse(out), json::parse(R"({"model":"m","messages":[{}],"stream":false})"));
  EXPECT_EQ(out.substr(0, 28), "{\"model\":\"m\",\"messages\":[{}]");
}

TEST(BodyEditorTest, ReplaceLeavesAloneWhatIsMissing) {
  const Body body(R"({"model":"m","messages":[{}]})");
  BodyEditor editor(body.view);
  editor.replace(ControlKey::kN, "1");
  EXPECT_EQ(joined(editor.pieces()), R"({"model":"m","messages":[{}]})");
}

TEST(BodyEditorTest, RemoveTakesTheCommaWithIt) {
  for (const std::string text :
       {R"({"min_tokens":1,"model":"m","messages":[{}]})",
        R"({"model":"m","min_tokens":1,"messages":[{}]})",
        R"({"model":"m","messages":[{}],"min_tokens":1})",
        "{ \"model\" : \"m\" , \"messages\" : [ {} ] , \"min_tokens\" : 1 }"}) {
    const Body body(text);
    BodyEditor editor(body.view);
    editor.remove(ControlKey::kMinTokens);
    EXPECT_EQ(json::parse(joined(editor.pieces())), json::parse(R"({"model":"m","messages":[{}]})"))
        << joined(editor.pieces());
  }
}

TEST(BodyEditorTest, EverythingMayGo) {
  const Body body(R"({"model":"m","messages":[{}]})");
  BodyEditor editor(body.view);
  editor.remove(ControlKey::kModel);
  editor.remove(ControlKey::kMessages);
  EXPECT_EQ(json::parse(joined(editor.pieces())), json::parse("{}"));
  editor.set(ControlKey::kStream, "\"stream\":", "true");
  EXPECT_EQ(json::parse(joined(editor.pieces())), json::parse(R"({"stream":true})"));
}

TEST(BodyEditorTest, TheLastEditOfAKeyCounts) {
  const Body body(R"({"model":"m","n":4,"messages":[{}]})");
  BodyEditor editor(body.view);
  editor.remove(ControlKey::kN);
  editor.set(ControlKey::kN, "\"n\":", "1");
  editor.set(ControlKey::kStream, "\"stream\":", "true");
  editor.remove(ControlKey::kStream);
  EXPECT_EQ(json::parse(joined(editor.pieces())),
            json::parse(R"({"model":"m","n":1,"messages":[{}]})"));
}

// ---- Random bodies and edits ------------------------------------------------------------------

struct Editable {
  ControlKey key;
  const char* name;
  std::vector<std::string> values;
};

const std::vector<Editable>& editables() {
  static const std::vector<Editable> keys = {
      {ControlKey::kStream, "stream", {"true", "false", "null"}},
      {ControlKey::kStreamOptions, "stream_options", {"null", "{ \"include_usage\" : true }"}},
      {ControlKey::kMaxTokens, "max_tokens", {"null", "1", "4096"}},
      {ControlKey::kMaxCompletionTokens, "max_completion_tokens", {"null", "77"}},
      {ControlKey::kMinTokens, "min_tokens", {"3", "null"}},
      {ControlKey::kN, "n", {"1", "2", "null"}},
      {ControlKey::kStop, "stop", {"\"a,\\\"}\"", "[ \"x\" , \"]\" ]", "null"}},
      {ControlKey::kStopTokenIds, "stop_token_ids", {"[1,2]", "[ ]"}},
      {ControlKey::kIgnoreEos, "ignore_eos", {"true", "false"}},
      {ControlKey::kKvTransferParams, "kv_transfer_params", {"null"}}};
  return keys;
}

class RandomBody {
 public:
  explicit RandomBody(std::uint64_t seed) : random_(seed) {}

  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

  std::string blank() {
    static const char* const kBlanks[] = {"", "", "", " ", "\n", "\t ", "\r\n  "};
    return kBlanks[below(7)];
  }

  std::string string() {
    static const char* const kPieces[] = {"a",
                                          "\xC3\xBC",
                                          "\\n",
                                          "\\\"",
                                          "\\\\",
                                          "{",
                                          "}",
                                          ",",
                                          ":",
                                          "[",
                                          "]",
                                          "\\u00e9",
                                          "\\ud83d\\ude00",
                                          "\xF0\x9F\x98\x80",
                                          " ",
                                          "stream",
                                          "/"};
    std::string out = "\"";
    for (std::uint64_t n = below(8); n > 0; --n) out += kPieces[below(17)];
    return out + "\"";
  }

  std::string value(int depth) {
    switch (below(depth > 0 ? 7 : 5)) {
      case 0:
        return "null";
      case 1:
        return below(2) == 0 ? "true" : "false";
      case 2:
        return "-" + std::to_string(below(1000)) + ".5e3";
      case 3:
        return std::to_string(random_() >> 2U);
      case 4:
        return string();
      case 5: {
        std::string out = "[" + blank();
        for (std::uint64_t n = below(4), i = 0; i < n; ++i) {
          out += (i == 0 ? "" : ",") + blank() + value(depth - 1) + blank();
        }
        return out + "]";
      }
      default: {
        std::string out = "{" + blank();
        for (std::uint64_t n = below(4), i = 0; i < n; ++i) {
          out += (i == 0 ? "" : ",") + blank() + "\"" +
                 (i == 0 ? "stream" : "k" + std::to_string(i)) + "\"" + blank() + ":" + blank() +
                 value(depth - 1) + blank();
        }
        return out + "}";
      }
    }
  }

  // Members as raw text, in order; names are unique.
  std::vector<std::pair<std::string, std::string>> members() {
    std::vector<std::pair<std::string, std::string>> out = {
        {"model", "\"m\""}, {"messages", "[{\"content\":" + value(3) + "}]"}};
    for (const auto& editable : editables()) {
      if (below(2) == 0)
        out.emplace_back(editable.name, editable.values[below(editable.values.size())]);
    }
    for (std::uint64_t n = below(4), i = 0; i < n; ++i) {
      out.emplace_back("other\xC3\xA9" + std::to_string(i), value(3));
    }
    std::shuffle(out.begin(), out.end(), random_);
    return out;
  }

 private:
  std::mt19937_64 random_;
};

TEST(BodyEditorTest, RandomEditsGiveWhatTheyWouldGiveOnTheParsedBody) {
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    RandomBody random(seed);
    const auto members = random.members();
    std::string text = random.blank() + "{";
    std::vector<std::string> raw;
    for (std::size_t i = 0; i < members.size(); ++i) {
      const auto& [name, value] = members[i];
      raw.push_back("\"" + name + "\"" + random.blank() + ":" + random.blank() + value);
      text += (i == 0 ? "" : ",") + random.blank() + raw.back() + random.blank();
    }
    text += random.blank() + "}" + random.blank();

    const Body body(text);
    if (HasFailure()) return;
    BodyEditor editor(body.view);
    json::object expected = json::parse(text).as_object();
    std::map<std::string, bool> touched;
    for (std::uint64_t edits = random.below(7); edits > 0; --edits) {
      const auto& editable = editables()[random.below(editables().size())];
      const std::string_view value = editable.values[random.below(editable.values.size())];
      const bool there = body.view.find(editable.key) != nullptr;
      static std::map<std::string, std::string> quoted;
      const std::string& key = quoted[editable.name] = "\"" + std::string(editable.name) + "\":";
      // What the edits of one key come to depends on the last alone: begin with the client's value.
      touched[editable.name] = true;
      const auto original = json::parse(text).as_object();
      expected.erase(editable.name);
      switch (random.below(3)) {
        case 0:
          editor.set(editable.key, key, value);
          expected[editable.name] = json::parse(value);
          break;
        case 1:
          editor.replace(editable.key, value);
          if (there) expected[editable.name] = json::parse(value);
          break;
        default:
          editor.remove(editable.key);
      }
    }
    const std::string out = joined(editor.pieces());
    boost::system::error_code error;
    const json::value parsed = json::parse(out, error);
    ASSERT_FALSE(error) << seed << "\n" << text << "\n" << out;
    ASSERT_EQ(parsed, json::value(expected)) << seed << "\n" << text << "\n" << out;

    // No key twice: as many members as the object has.
    const Body again(out);
    ASSERT_EQ(again.view.members.size(), expected.size()) << seed << "\n" << out;

    // What was not touched is there byte for byte, in the client's order.
    std::size_t at = 0;
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (touched.count(members[i].first) != 0) continue;
      const std::size_t found = out.find(raw[i], at);
      ASSERT_NE(found, std::string::npos) << seed << "\n" << raw[i] << "\n" << out;
      at = found + raw[i].size();
    }
    // What was touched and is still there stands where it stood.
    std::vector<std::string> before, after;
    for (const auto& [name, value] : members) {
      if (expected.contains(name)) before.push_back(name);
    }
    for (const auto& member : again.view.members) {
      const std::string name = out.substr(
          member.key_begin + 1, out.find('"', member.key_begin + 1) - member.key_begin - 1);
      if (std::find(before.begin(), before.end(), name) != before.end()) after.push_back(name);
    }
    ASSERT_EQ(after, before) << seed << "\n" << text << "\n" << out;
  }
}

}  // namespace
}  // namespace pd
