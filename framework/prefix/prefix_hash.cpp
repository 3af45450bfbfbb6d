#include "framework/prefix/prefix_hash.h"

#include <xxhash.h>

#include <array>
#include <bit>
#include <cstring>
#include <memory>

namespace pd {
namespace {

static_assert(std::endian::native == std::endian::little, "the parent is hashed as LE64");

constexpr std::size_t kParentBytes = sizeof(std::uint64_t);
constexpr std::size_t kUsualBlockBytes = 1024;

}  // namespace

void hash_prefix(std::span<const std::byte> bytes, std::uint32_t block_size, std::uint64_t seed,
                 std::vector<std::uint64_t>& out) {
  out.clear();
  if (block_size == 0) return;
  out.resize(bytes.size() / block_size);

  // Parent and block must lie one behind the other: a copy of the block, a few nanoseconds, is
  // cheaper than the library's streaming calls.
  std::array<std::byte, kParentBytes + kUsualBlockBytes> usual;
  std::unique_ptr<std::byte[]> larger;
  std::byte* buffer = usual.data();
  if (block_size > kUsualBlockBytes && !out.empty()) {
    larger = std::make_unique<std::byte[]>(kParentBytes + block_size);
    buffer = larger.get();
  }
  std::uint64_t parent = seed;
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::memcpy(buffer, &parent, kParentBytes);
    std::memcpy(buffer + kParentBytes, bytes.data() + i * block_size, block_size);
    parent = XXH64(buffer, kParentBytes + block_size, seed);
    out[i] = parent;
  }
}

}  // namespace pd
