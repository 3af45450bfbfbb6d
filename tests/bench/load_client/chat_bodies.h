// Chat requests for load: bodies of an exact size that share a system prompt and differ in what the
// user says, together with the answer that pd-sim gives to them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace pd::bench {

struct ChatBodyOptions {
  std::size_t body_bytes = 2048;  // of the JSON body; at least kSmallestBody
  std::size_t variants = 16;      // different bodies, at least 1
  std::uint32_t tokens = 8;       // max_tokens, at least 1
  bool stream = false;
};
inline constexpr std::size_t kSmallestBody = 512;

// One request, ready to be sent, and what its answer must say. Immutable once built.
struct ChatRequest {
  std::string bytes;   // HTTP head and body
  std::string answer;  // the text as it stands inside JSON strings, all tokens in a row
  std::uint32_t tokens = 0;
  bool stream = false;
};

// Half of every prompt is the system prompt, the same in all variants; the rest differs from its
// first byte on. Pure. `host` goes into the Host header.
std::vector<ChatRequest> make_chat_requests(const ChatBodyOptions& options,
                                            const std::string& host);

}  // namespace pd::bench
