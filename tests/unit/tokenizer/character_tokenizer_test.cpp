#include "framework/tokenizer/character_tokenizer.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace pd {
namespace {

TEST(CharacterTokenizer, BytesAreThePromptItself) {
  const std::unique_ptr<const Tokenizer> tokenizer = std::make_unique<CharacterTokenizer>();
  const std::string prompt = "h\xC3\xA9llo \xE4\xB8\x96\xE7\x95\x8C";
  std::vector<std::byte> storage;
  const TokenizedPrompt tokenized = tokenizer->tokenize(prompt, storage);
  EXPECT_EQ(static_cast<const void*>(tokenized.bytes.data()), prompt.data());
  EXPECT_EQ(tokenized.bytes.size(), 13U);
  EXPECT_EQ(tokenized.tokens, 13U) << "bytes, not code points";
  EXPECT_TRUE(storage.empty());
}

TEST(CharacterTokenizer, EmptyPrompt) {
  std::vector<std::byte> storage;
  const TokenizedPrompt tokenized = CharacterTokenizer().tokenize("", storage);
  EXPECT_TRUE(tokenized.bytes.empty());
  EXPECT_EQ(tokenized.tokens, 0U);
}

TEST(CharacterTokenizer, NameIsThatOfTheConfiguration) {
  EXPECT_EQ(CharacterTokenizer().name(), "character");
}

}  // namespace
}  // namespace pd
