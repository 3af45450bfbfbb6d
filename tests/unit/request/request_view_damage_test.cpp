// Damaged bodies: whatever comes, the reader answers with a view that keeps its promises or with an
// error. Run with a sanitizer, this also shows that nothing behind the body is read.
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <chrono>
#include <random>
#include <string>
#include <vector>

#include "framework/request/request_view.h"
#include "tests/unit/request/padded_body.h"

namespace pd {
namespace {

using test::PaddedBody;

const std::vector<std::string>& seeds() {
  static const std::vector<std::string> bodies = {
      R"({"model":"m","messages":[{"role":"user","content":"h\u00e9llo \ud83d\ude00 \"q\""},)"
      R"({"role":"assistant"},{"content":null},{"content":[{"type":"text","text":"p]"}]},)"
      R"({"content":1.5e3}],"stream":true,"stream_options":{"include_usage":true},"n":1,)"
      R"("max_tokens":12,"max_completion_tokens":null,"stop":["a","b"],"priority":-4,)"
      R"("cache_salt":"s","tools":[{"x":{"y":[1,2,{"z":[]}]}}]})",
      "{ \"model\" : \"m\" ,\r\n\t\"prompt\" : \"gr\xC3\xBC\xC3\x9F\\n\" , \"x\" : [ ] , \"y\":{ } "
      "}",
      R"({"model":"m","prompt":[1,2,3],"best_of":2,"use_beam_search":false})"};
  return bodies;
}

// Reads, and checks what a view promises when there is one.
bool read_and_check(Api api, const std::string& text) {
  const PaddedBody body(text);
  RequestReader reader;
  RequestView view;
  const auto result = reader.read(api, body.view(), view);
  if (!result) {
    EXPECT_FALSE(result.error().code.empty()) << text;
    EXPECT_FALSE(result.error().message.empty()) << text;
    return false;
  }
  EXPECT_EQ(view.body.data(), body.view().data());
  EXPECT_EQ(text[view.object_begin], '{');
  EXPECT_EQ(text[view.object_end], '}');
  std::uint32_t last = view.object_begin;
  for (const auto& member : view.members) {
    EXPECT_LT(last, member.key_begin + 1u);
    EXPECT_LT(member.key_begin, member.value_begin);
    EXPECT_LT(member.value_begin, member.value_end);
    EXPECT_LE(member.value_end, view.object_end);
    last = member.value_end;
  }
  std::string prompt;
  view.append_prompt(prompt);
  EXPECT_LE(prompt.size(), 3 * text.size() + 1);
  return true;
}

bool is_json_object(const std::string& text) {
  boost::system::error_code error;
  boost::json::parse_options options;
  options.max_depth = 2000;
  const auto value = boost::json::parse(text, error, {}, options);
  return !error && value.is_object();
}

TEST(DamagedBodyTest, TruncatedAtEveryByte) {
  for (const auto& body : seeds()) {
    const Api api =
        body.find("messages") != std::string::npos ? Api::kChatCompletions : Api::kCompletions;
    EXPECT_TRUE(read_and_check(api, body)) << body;
    for (std::size_t size = 0; size < body.size(); ++size) {
      EXPECT_FALSE(read_and_check(api, body.substr(0, size))) << body.substr(0, size);
    }
  }
}

TEST(DamagedBodyTest, EveryByteReplacedByEveryStructuralByte) {
  for (const auto& body : seeds()) {
    for (std::size_t at = 0; at < body.size(); ++at) {
      for (const char c : std::string_view("{}[],:\"\\ 0-tn\x01\x80\xFF\0", 17)) {
        std::string damaged = body;
        damaged[at] = c;
        // An accepted body is JSON; another parser agrees, but for lone surrogates, which it
        // refuses.
        if (read_and_check(Api::kChatCompletions, damaged) &&
            damaged.find("\\u") == std::string::npos) {
          EXPECT_TRUE(is_json_object(damaged)) << damaged;
        }
        if (read_and_check(Api::kCompletions, damaged) &&
            damaged.find("\\u") == std::string::npos) {
          EXPECT_TRUE(is_json_object(damaged)) << damaged;
        }
      }
    }
  }
}

TEST(DamagedBodyTest, RandomMutations) {
  std::mt19937_64 random(20260912);
  const std::vector<std::string> pieces = {"{",
                                           "}",
                                           "[",
                                           "]",
                                           ",",
                                           ":",
                                           "\"",
                                           "\\",
                                           "\\u",
                                           "\\ud83d",
                                           "null",
                                           "true",
                                           "1e999",
                                           "-",
                                           "\"model\":\"m\"",
                                           "\"kv_transfer_params\":{}",
                                           "\"stream\":",
                                           "[[[[[[",
                                           "}}}}",
                                           " ",
                                           "\n",
                                           "\xF0\x9F",
                                           std::string(1, '\0')};
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  int accepted = 0;
  for (int round = 0; round < 100'000 && std::chrono::steady_clock::now() < end; ++round) {
    std::string text = seeds()[random() % seeds().size()];
    for (std::uint64_t edits = 1 + random() % 4; edits > 0; --edits) {
      const std::size_t at = random() % (text.size() + 1);
      switch (random() % 4) {
        case 0:
          text.insert(at, pieces[random() % pieces.size()]);
          break;
        case 1:
          text.erase(at, random() % 8);
          break;
        case 2:
          text.insert(at, text.substr(random() % text.size(), random() % 40));
          break;
        default:
          if (at < text.size()) text[at] = static_cast<char>(random());
      }
      if (text.empty()) text = "{";
    }
    const Api api = random() % 2 == 0 ? Api::kChatCompletions : Api::kCompletions;
    if (!read_and_check(api, text)) continue;
    ++accepted;
    if (text.find("\\u") == std::string::npos) {
      EXPECT_TRUE(is_json_object(text)) << text;
    }
  }
  EXPECT_GT(accepted, 0);
}

}  // namespace
}  // namespace pd
