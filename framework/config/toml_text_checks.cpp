#include "framework/config/toml_text_checks.h"

#include <algorithm>
#include <cstdint>

namespace pd {
namespace {

// No setting has a key of more than four parts.
constexpr int kMostDotsInLine = 64;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool is_continuation(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
}

// Length of the well-formed sequence at `at`, or 0.
std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4 || !is_continuation(text, at + 1)) return 0;
  if (first < 0xE0) return 2;
  const auto second = static_cast<unsigned char>(text[at + 1]);
  if (!is_continuation(text, at + 2)) return 0;
  if (first < 0xF0) {
    const bool overlong = first == 0xE0 && second < 0xA0;
    const bool surrogate = first == 0xED && second > 0x9F;
    return overlong || surrogate ? 0 : 3;
  }
  const bool overlong = first == 0xF0 && second < 0x90;
  const bool too_large = first == 0xF4 && second > 0x8F;
  return overlong || too_large || !is_continuation(text, at + 3) ? 0 : 4;
}

bool looks_like_utf16(std::string_view text) {
  if (text.size() < 2) return false;
  const std::string_view mark = text.substr(0, 2);
  return mark == "\xFF\xFE" || mark == "\xFE\xFF" || text[0] == '\0' || text[1] == '\0';
}

bool is_ascii(char c) {
  return static_cast<unsigned char>(c) < 0x80;
}

/// Walks over the text and knows what is string, comment or neither. Up to the first mistake in the
/// TOML it agrees with the parser; what comes behind one, the parser never sees.
class CharacterScan {
 public:
  CharacterScan(std::string_view text, const std::string& file) : text_(text), file_(file) {
    if (text_.substr(0, kByteOrderMark.size()) == kByteOrderMark) {
      text_.remove_prefix(kByteOrderMark.size());
    }
  }

  std::optional<ConfigError> run() {
    while (at_ < text_.size() && !error_) {
      switch (inside_) {
        case Inside::kNothing:
          step_outside();
          break;
        case Inside::kComment:
          step_comment();
          break;
        default:
          step_string();
      }
    }
    return std::move(error_);
  }

 private:
  enum class Inside : std::uint8_t { kNothing, kComment, kString, kLongString };

  void step_outside() {
    const char c = text_[at_];
    if (!is_ascii(c)) {
      refuse_character(at_);
    } else if (c == '"' || c == '\'') {
      quote_ = c;
      const bool is_long = quotes_here() >= 3;
      inside_ = is_long ? Inside::kLongString : Inside::kString;
      advance(is_long ? 3 : 1);
    } else {
      if (c == '#') inside_ = Inside::kComment;
      if (c == '.' && ++dots_ > kMostDotsInLine) {
        error_ = config_errors::too_deep({file_, {position_.line, 1}, {}});
      }
      advance(1);
    }
  }

  void step_comment() {
    if (text_[at_] == '\n') inside_ = Inside::kNothing;
    advance(1);
  }

  void step_string() {
    const char c = text_[at_];
    if (c == '\\' && quote_ == '"') {
      step_escape();
    } else if (c == quote_) {
      step_quote();
    } else {
      // Only a long string goes on in the next line.
      if (c == '\n' && inside_ == Inside::kString) inside_ = Inside::kNothing;
      advance(1);
    }
  }

  void step_escape() {
    if (at_ + 1 < text_.size() && !is_ascii(text_[at_ + 1])) {
      refuse_character(at_ + 1);
      return;
    }
    advance(1);
    const bool ends_here = at_ < text_.size() && text_[at_] == '\n' && inside_ == Inside::kString;
    if (at_ < text_.size() && !ends_here) advance(1);
  }

  void step_quote() {
    const std::size_t quotes = quotes_here();
    if (inside_ == Inside::kString) {
      inside_ = Inside::kNothing;
      advance(1);
    } else if (quotes < 3) {
      advance(quotes);
    } else {
      // Two quotes may stand right before the three that close.
      inside_ = Inside::kNothing;
      advance(std::min<std::size_t>(quotes, 5));
    }
  }

  std::size_t quotes_here() const {
    const std::size_t end = std::min(text_.find_first_not_of(quote_, at_), text_.size());
    return end - at_;
  }

  void refuse_character(std::size_t where) {
    const std::size_t length = std::max<std::size_t>(1, utf8_length(text_, where));
    error_ = config_errors::stray_character({file_, position_, {}}, text_.substr(where, length));
  }

  void advance(std::size_t bytes) {
    for (; bytes > 0; --bytes, ++at_) {
      if (text_[at_] == '\n') {
        position_ = {position_.line + 1, 1};
        dots_ = 0;
      } else if (!is_continuation(text_, at_)) {
        ++position_.column;
      }
    }
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
  ConfigPosition position_{1, 1};
  Inside inside_ = Inside::kNothing;
  char quote_ = 0;
  int dots_ = 0;
  std::optional<ConfigError> error_;
};

}  // namespace

std::optional<ConfigError> check_encoding(std::string_view text, const std::string& file) {
  ConfigPosition position{1, 1};
  if (looks_like_utf16(text)) return config_errors::not_utf8_but_utf16({file, position, {}});
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    if (length == 0) return config_errors::not_utf8({file, position, {}});
    if (text[at] == '\n') {
      position = {position.line + 1, 1};
    } else {
      ++position.column;
    }
    at += length;
  }
  return std::nullopt;
}

std::optional<ConfigError> check_characters(std::string_view text, const std::string& file) {
  return CharacterScan(text, file).run();
}

}  // namespace pd
