#pragma once
// How much of one message is taken before it is refused.

#include <cstddef>
#include <cstdint>
#include <limits>

#include "host/http/head.h"

namespace pd::http {

struct ParserLimits {
  std::size_t head_bytes;             // start line, fields and empty line; more: 431
  std::size_t target_bytes;           // request target; more: 414
  std::size_t fields;                 // at most kMaxFields; more: 431
  std::uint64_t body_bytes;           // payload without chunk framing; more: 413
  std::uint64_t chunks;               // per message
  std::size_t chunk_extension_bytes;  // extensions of all chunks of a message together
  std::size_t trailer_bytes;          // all trailer lines of a message together
};

inline constexpr std::uint64_t kMiB = 1024 * 1024;

// Clients: small heads, 64 MiB bodies, no more chunks than a body of tiny writes needs.
inline constexpr ParserLimits kRequestLimits{16 * 1024, 8 * 1024,  kMaxFields, 64 * kMiB,
                                             1 << 20,   16 * 1024, 8 * 1024};

// Engines: an answer may stream for hours, so only absurd sizes are refused (1 TiB of payload).
inline constexpr ParserLimits kResponseLimits{
    64 * 1024, 0,        kMaxFields, kMiB* kMiB, std::numeric_limits<std::uint64_t>::max(),
    64 * 1024, 64 * 1024};

}  // namespace pd::http
