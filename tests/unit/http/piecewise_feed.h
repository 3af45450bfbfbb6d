#pragma once
// Feeds one message to a parser in pieces, as a connection would, and writes down all that can be
// observed. Two ways of cutting the same bytes must give the same Observed.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "host/http/message_parser.h"

namespace pd::http {

struct Observed {
  ParseState state = ParseState::kNeedHead;
  std::string error;      // stable code, empty if none
  int status = 0;         // of the error
  std::string head;       // every property of the head, as text
  std::string payload;    // of the body
  std::size_t taken = 0;  // bytes up to the end of the message; 0 after an error

  bool operator==(const Observed&) const = default;
};

inline std::string framing_text(Framing framing, std::uint64_t length) {
  switch (framing) {
    case Framing::kNone:
      return "none";
    case Framing::kLength:
      return "length " + std::to_string(length);
    case Framing::kChunked:
      return "chunked";
    case Framing::kUntilClose:
      return "until close";
  }
  return "?";
}

inline std::string fields_text(std::span<const Field> fields) {
  std::string text;
  for (const Field& field : fields) {
    text.append("\n").append(field.name).append("=").append(field.value);
  }
  return text;
}

inline std::string head_text(const RequestHead& head) {
  std::string text(head.method);
  text.append("|").append(head.target).append("|").append(head.path).append("|");
  text.append(head.query).append("|").append(std::to_string(head.version)).append("|");
  text.append(framing_text(head.framing, head.content_length)).append("|");
  text.append(head.keep_alive ? "keep" : "close").append(head.expect_continue ? "|expect|" : "||");
  return text.append(head.content_encoding).append(fields_text(head.fields));
}

inline std::string head_text(const ResponseHead& head) {
  std::string text = std::to_string(head.status);
  text.append("|").append(head.reason).append("|").append(std::to_string(head.version));
  text.append("|").append(framing_text(head.framing, head.content_length));
  return text.append(head.keep_alive ? "|keep" : "|close").append(fields_text(head.fields));
}

// `cuts`: ascending offsets at which a new piece begins. `close`: the peer closes after the bytes.
// Each feed gets a block of memory of exactly its size, so that a sanitizer sees any overrun and
// views into an earlier block cannot survive unnoticed.
template <typename Parser>
Observed feed_in_pieces(Parser& parser, std::string_view wire, std::vector<std::size_t> cuts,
                        bool close = false) {
  Observed seen;
  std::vector<char> pending;
  std::size_t sent = 0;
  const auto note = [&](const FeedResult& fed) {
    seen.state = fed.state;
    if (!fed.error) return;
    seen.error = code_name(fed.error->code);
    seen.status = fed.error->status;
  };
  cuts.push_back(wire.size());
  for (const std::size_t cut : cuts) {
    pending.insert(pending.end(), wire.begin() + static_cast<std::ptrdiff_t>(sent),
                   wire.begin() + static_cast<std::ptrdiff_t>(cut));
    sent = cut;
    for (;;) {
      std::vector<char> block(pending.begin(), pending.end());
      const bool had_head = parser.state() != ParseState::kNeedHead;
      const FeedResult fed = parser.feed(block);
      note(fed);
      seen.payload.append(fed.payload.data(), fed.payload.size());
      if (!had_head && (fed.state == ParseState::kNeedBody || fed.state == ParseState::kDone)) {
        seen.head = head_text(parser.head());
      }
      seen.taken += fed.consumed;
      pending.assign(block.begin() + static_cast<std::ptrdiff_t>(fed.consumed), block.end());
      if (fed.consumed == 0 || fed.state == ParseState::kDone) break;
      if (fed.state == ParseState::kError) break;
    }
    if (seen.state == ParseState::kDone || seen.state == ParseState::kError) break;
  }
  if (close) note(parser.feed_eof());
  if (seen.state == ParseState::kError) seen.taken = 0;
  return seen;
}

template <typename Parser>
Observed feed_whole(Parser& parser, std::string_view wire, bool close = false) {
  return feed_in_pieces(parser, wire, {}, close);
}

}  // namespace pd::http
