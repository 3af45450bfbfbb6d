#include "examples/pd-sim/kv_cache.h"

#include <algorithm>

namespace pd::sim {

KvCache::KvCache(std::uint32_t block_count, std::uint32_t block_size)
    : block_size_(block_size), free_(block_count - 1), blocks_(block_count), by_hash_(block_count) {
  for (std::uint32_t id = 1; id < block_count; ++id) link_newest(id);
}

bool KvCache::allocate(std::span<const std::uint64_t> hashes, std::uint32_t tokens,
                       BlockTable& table) {
  const std::size_t reusable =
      std::min<std::size_t>(hashes.size(), tokens == 0 ? 0 : (tokens - 1) / block_size_);
  table.ids.clear();
  std::uint32_t hits_from_free_list = 0;
  for (std::size_t i = 0; i < reusable; ++i) {
    const std::uint32_t found = by_hash_.find(hashes[i]);
    if (found == 0) break;
    table.ids.push_back(found);
    if (blocks_[found].holders == 0) ++hits_from_free_list;
  }
  table.cached = static_cast<std::uint32_t>(table.ids.size());
  const std::uint32_t fresh = blocks_for(tokens) - table.cached;
  table.ids.reserve(table.cached + fresh);
  if (fresh + hits_from_free_list > free_) {
    table = {};
    return false;
  }
  for (const std::uint32_t id : table.ids) hold(id);
  for (std::uint32_t i = 0; i < fresh; ++i) table.ids.push_back(take_oldest());
  return true;
}

bool KvCache::extend(BlockTable& table, std::uint32_t tokens) {
  while (table.ids.size() < blocks_for(tokens)) {
    if (free_ == 0) return false;
    table.ids.push_back(take_oldest());
  }
  return true;
}

void KvCache::publish(std::span<const std::uint64_t> hashes, const BlockTable& table) {
  for (std::size_t i = table.cached; i < hashes.size() && i < table.ids.size(); ++i) {
    Block& block = blocks_[table.ids[i]];
    if (block.hashed || !by_hash_.insert(hashes[i], table.ids[i])) continue;
    block.hash = hashes[i];
    block.hashed = true;
  }
}

void KvCache::release(BlockTable& table) {
  // Last block first: the tail of a prompt is evicted before the head that others may share.
  for (auto id = table.ids.rbegin(); id != table.ids.rend(); ++id) {
    if (--blocks_[*id].holders == 0) {
      link_newest(*id);
      ++free_;
    }
  }
  table = {};
}

void KvCache::hold(std::uint32_t id) {
  if (blocks_[id].holders++ == 0) {
    unlink(id);
    --free_;
  }
}

std::uint32_t KvCache::take_oldest() {
  const std::uint32_t id = blocks_[0].next;
  Block& block = blocks_[id];
  if (block.hashed) {
    by_hash_.erase(block.hash);
    block.hashed = false;
  }
  hold(id);
  return id;
}

void KvCache::unlink(std::uint32_t id) {
  Block& block = blocks_[id];
  blocks_[block.previous].next = block.next;
  blocks_[block.next].previous = block.previous;
}

void KvCache::link_newest(std::uint32_t id) {
  Block& head = blocks_[0];
  blocks_[id].previous = head.previous;
  blocks_[id].next = 0;
  blocks_[head.previous].next = id;
  head.previous = id;
}

}  // namespace pd::sim
