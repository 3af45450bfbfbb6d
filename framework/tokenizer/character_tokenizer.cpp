#include "framework/tokenizer/character_tokenizer.h"

namespace pd {

TokenizedPrompt CharacterTokenizer::tokenize(std::string_view prompt,
                                             std::vector<std::byte>& /*storage*/) const {
  return {std::as_bytes(std::span(prompt)), prompt.size()};
}

}  // namespace pd
