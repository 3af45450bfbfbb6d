#pragma once
// The start line and fields of one HTTP/1.1 message, as views.
//
// Every view points into the buffer that the message was parsed from, and `fields` into the
// parser that parsed it: a head is valid until the buffer moves or the parser is reset. Plain
// values without locks; const access from several threads is fine.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace pd::http {

inline constexpr std::size_t kMaxFields = 128;

struct Field {
  std::string_view name;   // as sent; compare without regard to case
  std::string_view value;  // without surrounding white space; no control bytes but tab
};

// How the end of a body is found.
enum class Framing { kNone, kLength, kChunked, kUntilClose };

struct RequestHead {
  std::string_view method;            // a token, case as sent
  std::string_view target;            // as sent: "/path?query", or "*" for OPTIONS
  std::string_view path;              // target before the first '?'
  std::string_view query;             // target after the first '?', maybe empty
  int version = 11;                   // 10 or 11
  std::span<const Field> fields;      // in the order sent
  bool keep_alive = false;            // the client lets us reuse the connection
  bool expect_continue = false;       // it waits for "100 Continue" before it sends the body
  Framing framing = Framing::kNone;   // never kUntilClose. Any method may have a body
  std::uint64_t content_length = 0;   // bytes; only with Framing::kLength
  std::string_view content_encoding;  // empty when the header is absent

  // Value of the first field called `name` (any case), or nothing.
  std::optional<std::string_view> find(std::string_view name) const;
};

struct ResponseHead {
  int status = 0;                 // 100 to 599; a parser hands out final answers only (200 to 599)
  std::string_view reason;        // may be empty
  int version = 11;               // 10 or 11
  std::span<const Field> fields;  // in the order sent
  bool keep_alive = false;        // the engine lets us reuse the connection after this message
  Framing framing = Framing::kNone;
  std::uint64_t content_length = 0;  // bytes; only with Framing::kLength

  // Value of the first field called `name` (any case), or nothing.
  std::optional<std::string_view> find(std::string_view name) const;
};

// Value of the first field called `name` (any case), or nothing.
std::optional<std::string_view> find_field(std::span<const Field> fields, std::string_view name);

// ASCII comparison without regard to case, independent of the locale.
bool starts_with_ignoring_case(std::string_view text, std::string_view prefix);
inline bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && starts_with_ignoring_case(a, b);
}

// Takes the next element of a comma-separated list off `list`, trimmed; empty elements are
// skipped. Nothing when the list is used up.
std::optional<std::string_view> next_list_element(std::string_view& list);

// True for the bytes that RFC 9110 allows in a token (methods, field names).
bool is_token_byte(char c);

}  // namespace pd::http
