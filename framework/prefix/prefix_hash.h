// The chained block hashes of a prompt, bit for bit those of the reference's prefix table.
//
// Pure function, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pd {

/// Replaces `out` with one hash per whole block of `bytes`; a partial last block is ignored.
///
/// h_i = XXH64(seed, LE64(h_{i-1}) || block_i) with h_{-1} = seed. A block's hash thus stands for
/// everything before it too: equal hashes mean equal prefixes. Allocates nothing but what `out`
/// lacks, and a buffer for blocks above 1 KiB. `block_size` is in bytes; 0 gives no hashes.
void hash_prefix(std::span<const std::byte> bytes, std::uint32_t block_size, std::uint64_t seed,
                 std::vector<std::uint64_t>& out);

}  // namespace pd
