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

inline constexpr std::size_t kKiB = 1024;
inline constexpr std::uint64_t kMiB = std::uint64_t{kKiB} * kKiB;

// Clients: small heads, 64 MiB bodies, no more chunks than a body of tiny writes needs.
inline constexpr ParserLimits kRequestLimits{
    .head_bytes = 16 * kKiB,
    .target_bytes = 8 * kKiB,
    .fields = kMaxFields,
    .body_bytes = 64 * kMiB,
    .chunks = kMiB,
    .chunk_extension_bytes = 16 * kKiB,
    .trailer_bytes = 8 * kKiB,
};

// Engines: an answer may stream for hours, so only absurd sizes are refused (1 TiB of payload).
inline constexpr ParserLimits kResponseLimits{
    .head_bytes = 64 * kKiB,
    .target_bytes = 0,
    .fields = kMaxFields,
    .body_bytes = kMiB * kMiB,
    .chunks = std::numeric_limits<std::uint64_t>::max(),
    .chunk_extension_bytes = 64 * kKiB,
    .trailer_bytes = 64 * kKiB,
};

}  // namespace pd::http
