#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pd::sim {

// The head of a request as far as an engine looks at it. Views into the parsed text.
struct RequestHead {
  std::string_view method;
  std::string_view path;
  std::string_view query;
  std::string_view request_id;
  std::uint64_t content_length = 0;
  bool chunked = false;
  bool keep_alive = true;
  bool upgrade = false;
  bool expects_continue = false;
};

// Reads a request head, its final empty line included. Strict, since a router is under test: what
// it answers for is an error text, empty when the head is good.
std::string_view parse_request_head(std::string_view text, RequestHead& head);

// Decodes a chunked body step by step.
class ChunkedBody {
 public:
  enum class Status : std::uint8_t { kMore, kDone, kBroken };
  // Reads on from the start of `text`; `consumed` says how much of it is used up.
  Status feed(std::string_view text, std::size_t& consumed);
  std::string& body() { return body_; }

 private:
  std::string body_;
  std::uint64_t left_ = 0;
  enum class Place : std::uint8_t { kSize, kData, kDataEnd, kTrailer } place_ = Place::kSize;
};

std::string_view reason_phrase(int status);
// One chunk of a chunked answer.
std::string chunk_frame(std::string_view payload);
void append_chunk(std::string& out, std::string_view payload);
// The value of `name` in a query string; nothing when it is not there.
std::optional<std::string_view> query_value(std::string_view query, std::string_view name);

}  // namespace pd::sim
