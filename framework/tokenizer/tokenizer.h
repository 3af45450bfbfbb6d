// How a prompt becomes the bytes that are cut into blocks and hashed.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace pd {

struct TokenizedPrompt {
  std::span<const std::byte> bytes;  ///< a view of the prompt or of the storage
  std::size_t tokens = 0;
};

/// Immutable once built; any thread.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// As in the configuration and in logs.
  virtual std::string_view name() const = 0;

  /// `storage` is the caller's (reused, one per thread); it is written only by a tokenizer whose
  /// bytes are not the prompt's own. The result is valid until `prompt` or `storage` changes.
  virtual TokenizedPrompt tokenize(std::string_view prompt,
                                   std::vector<std::byte>& storage) const = 0;
};

}  // namespace pd
