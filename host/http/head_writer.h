#pragma once
// Writes message heads and chunk framing. Everything is appended to a caller's string, so that one
// string per connection is reused; nothing else allocates. No value can break out of its line:
// functions that take text from outside return false and append nothing when it holds CR, LF, NUL
// or another control byte. Stateless, any thread.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace pd::http {

// "METHOD target HTTP/1.1" and the Host field. Refuses methods that are no token, targets with
// spaces or bytes outside printable ASCII, and an empty target.
[[nodiscard]] bool append_request_start(std::string& out, std::string_view method,
                                        std::string_view target, std::string_view host);

// "HTTP/1.1 status reason" with the standard reason of `status` (100 to 599; "Unknown" for codes
// without one).
void append_response_start(std::string& out, int status);

// "name: value". Refuses names that are no token.
bool append_field(std::string& out, std::string_view name, std::string_view value);

void append_content_length(std::string& out, std::uint64_t bytes);
void append_chunked(std::string& out);
void append_connection_close(std::string& out);

// The empty line.
void end_head(std::string& out);

// The standard reason phrase of a status, "Unknown" if there is none.
std::string_view reason_phrase(int status);

// Before the data of a chunk stands its head, behind it kChunkEnd; kLastChunk ends the body.
inline constexpr std::size_t kMaxChunkHead = 18;
inline constexpr std::string_view kChunkEnd = "\r\n";
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

// Writes the head of a chunk of `size` bytes to `out`, which has room for kMaxChunkHead, and
// returns its length. For size 0 it writes nothing and returns 0: an empty chunk would end the
// body.
std::size_t format_chunk_head(char* out, std::size_t size);

}  // namespace pd::http
