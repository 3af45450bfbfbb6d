#include "examples/pd-sim/answer_text.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <string>
#include <vector>

namespace pd::sim {
namespace {

constexpr std::uint32_t kBlockSize = 4;  // 16 bytes of text

std::string answer(std::uint64_t seed, std::uint32_t tokens) {
  std::string json;
  for (std::uint32_t i = 0; i < tokens; ++i) append_answer_token(json, seed, i);
  return json;
}

TEST(AnswerText, CountsATokenPerFourBytesRoundedUp) {
  EXPECT_EQ(prompt_of_text("", kBlockSize).tokens, 0U);
  EXPECT_EQ(prompt_of_text("abcd", kBlockSize).tokens, 1U);
  EXPECT_EQ(prompt_of_text("abcde", kBlockSize).tokens, 2U);
  EXPECT_EQ(prompt_of_token_ids(std::vector<std::int64_t>{1, 2, 3}, kBlockSize).tokens, 3U);
}

TEST(AnswerText, HashesOnlyFullBlocksAndChainsThem) {
  const std::string first(16, 'a');
  const auto one = prompt_of_text(first + "rest", kBlockSize);
  const auto two = prompt_of_text(first + std::string(16, 'b'), kBlockSize);
  const auto moved = prompt_of_text(std::string(16, 'b') + first, kBlockSize);
  ASSERT_EQ(one.block_hashes.size(), 1U);
  ASSERT_EQ(two.block_hashes.size(), 2U);
  EXPECT_EQ(one.block_hashes[0], two.block_hashes[0]);
  EXPECT_NE(moved.block_hashes[1], two.block_hashes[0])
      << "the same text behind another is another";
}

TEST(AnswerText, ThePromptHashDoesNotDependOnTheBlockSize) {
  EXPECT_EQ(prompt_of_text("one prompt", 1).hash, prompt_of_text("one prompt", 64).hash);
}

TEST(AnswerText, ALastByteChangesTheFirstToken) {
  const auto one = prompt_of_text(std::string(5000, 'x') + "a", kBlockSize);
  const auto other = prompt_of_text(std::string(5000, 'x') + "b", kBlockSize);
  EXPECT_NE(answer(one.hash, 1), answer(other.hash, 1));
}

TEST(AnswerText, TheSamePromptAnswersAlike) {
  EXPECT_EQ(answer(prompt_of_text("same", 4).hash, 100),
            answer(prompt_of_text("same", 16).hash, 100));
}

TEST(AnswerText, ChoicesDiffer) {
  EXPECT_EQ(choice_seed(42, 0), 42U);
  EXPECT_NE(answer(choice_seed(42, 1), 1), answer(choice_seed(42, 2), 1));
}

TEST(AnswerText, IsValidJsonWithMultiByteCharactersAndEscapes) {
  const std::string json = answer(prompt_of_text("any", kBlockSize).hash, 2000);
  boost::json::error_code error;
  const auto value = boost::json::parse("\"" + json + "\"", error);
  ASSERT_FALSE(error) << error.message();
  const std::string text(value.as_string());
  EXPECT_NE(text.find("\xf0\x9f\x99\x82"), std::string::npos);
  EXPECT_NE(text.find('"'), std::string::npos);
  EXPECT_NE(text.find('\n'), std::string::npos);
}

TEST(AnswerText, EscapesEverythingJsonForbids) {
  std::string text;
  for (int c = 1; c < 128; ++c) text += static_cast<char>(c);
  std::string json = "\"";
  append_json_escaped(json, text);
  json += '"';
  EXPECT_EQ(std::string(boost::json::parse(json).as_string()), text);
}

}  // namespace
}  // namespace pd::sim
