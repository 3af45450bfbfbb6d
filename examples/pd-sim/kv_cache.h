#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "examples/pd-sim/block_index.h"

namespace pd::sim {

// The blocks one sequence (or one hand-off that waits for its reader) holds, in prompt order.
struct BlockTable {
  std::vector<std::uint32_t> ids;
  std::uint32_t cached = 0;  // leading blocks that were found in the prefix cache
};

// Block-wise KV memory of one pod with a prefix cache. A block that nobody holds keeps its content
// and can be found by its chained hash until it is evicted, least recently used first.
// Not thread-safe: belongs to the pod's thread.
class KvCache {
 public:
  // Block 0 is reserved, as in vLLM: block_count - 1 blocks can be held. block_count >= 2,
  // block_size >= 1 (tokens).
  KvCache(std::uint32_t block_count, std::uint32_t block_size);

  // Takes the blocks of a prompt of `tokens` tokens whose full blocks hash to `hashes`. At least
  // one token is left to compute, however much is cached. False: not enough free blocks, nothing
  // taken.
  bool allocate(std::span<const std::uint64_t> hashes, std::uint32_t tokens, BlockTable& table);
  // Grows the table until it holds `tokens` tokens. False: no free block; what was added stays.
  bool extend(BlockTable& table, std::uint32_t tokens);
  // Makes computed full blocks findable. A hash that is already known keeps its older block.
  void publish(std::span<const std::uint64_t> hashes, const BlockTable& table);
  // Gives the blocks back and empties the table.
  void release(BlockTable& table);

  std::uint32_t block_size() const { return block_size_; }
  std::uint32_t capacity() const { return static_cast<std::uint32_t>(blocks_.size()) - 1; }
  std::uint32_t in_use() const { return capacity() - free_; }
  double usage() const { return static_cast<double>(in_use()) / capacity(); }

 private:
  struct Block {
    std::uint64_t hash = 0;
    std::uint32_t holders = 0;
    std::uint32_t previous = 0;  // neighbours in the free list; 0 is its head
    std::uint32_t next = 0;
    bool hashed = false;
  };

  std::uint32_t blocks_for(std::uint32_t tokens) const {
    return (tokens + block_size_ - 1) / block_size_;
  }
  void hold(std::uint32_t id);
  std::uint32_t take_oldest();
  void unlink(std::uint32_t id);
  void link_newest(std::uint32_t id);

  std::uint32_t block_size_;
  std::uint32_t free_;
  std::vector<Block> blocks_;
  BlockIndex by_hash_;
};

}  // namespace pd::sim
