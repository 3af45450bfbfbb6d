// One token per byte: the UTF-8 bytes of the prompt, unchanged and not copied.
#pragma once

#include "framework/tokenizer/tokenizer.h"

namespace pd {

class CharacterTokenizer final : public Tokenizer {
 public:
  std::string_view name() const override { return "character"; }

  /// The bytes are a view of `prompt`; `storage` is not touched.
  TokenizedPrompt tokenize(std::string_view prompt, std::vector<std::byte>& storage) const override;
};

}  // namespace pd
