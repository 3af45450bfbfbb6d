// A request body with exactly the padding that RequestReader asks for: a sanitizer sees any byte
// read behind it.
#pragma once

#include <cstring>
#include <memory>
#include <string_view>

#include "framework/request/request_view.h"

namespace pd::test {

class PaddedBody {
 public:
  explicit PaddedBody(std::string_view text)
      : bytes_(new char[text.size() + kBodyPadding]), size_(text.size()) {
    if (!text.empty()) std::memcpy(bytes_.get(), text.data(), text.size());
    std::memset(bytes_.get() + size_, 0, kBodyPadding);
  }
  std::string_view view() const { return {bytes_.get(), size_}; }

 private:
  std::unique_ptr<char[]> bytes_;
  std::size_t size_;
};

}  // namespace pd::test
