// Sets of pods, shared by all blocks that the same pods hold.
//
// A prompt that many pods have seen (a system prompt) costs one set, not one per block. A set never
// changes once it is handed out: another pod means another set. One writer thread; any thread may
// read a set, but what it reads counts only if the block still refers to the set afterwards, which
// the caller verifies (see PrefixIndex).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "framework/prefix/pod_key.h"
#include "framework/prefix/reserved_array.h"

namespace pd {

/// A set, or none (0).
using PodSetHandle = std::uint32_t;

class PodSetPool {
 public:
  /// Room for `nodes` nodes of 64 bytes and 12 pods each. False: see errno. Called once.
  bool reserve(std::uint32_t nodes);

  // [writer thread]

  /// A new set, referred to once; 0 when the pool is full.
  PodSetHandle make_pair(PodKey first, PodKey second);
  /// A copy with `added`, without other incarnations of its slot; referred to once; 0 when full.
  PodSetHandle copy_with(PodSetHandle set, PodKey added);
  bool contains(PodSetHandle set, PodKey pod) const;
  void add_reference(PodSetHandle set);
  /// The last reference frees the set.
  void drop_reference(PodSetHandle set);
  /// Takes pods out of every set. `pods` is sorted.
  void remove_everywhere(std::span<const PodKey> pods);
  bool is_empty(PodSetHandle set) const;

  // [any thread]

  /// Whether the number can be a handle at all.
  bool has(PodSetHandle set) const { return set < nodes_.size(); }
  /// Calls visit(PodKey) for each pod; kNoPod stands where a pod was removed. Ends in bounded time
  /// even when the set is freed and used anew meanwhile. REQUIRES: has(set).
  template <typename Visit>
  void for_each(PodSetHandle set, Visit&& visit) const {
    std::uint32_t at = set;
    for (std::uint32_t step = 0; at != 0 && step < kMaxNodesOfSet; ++step) {
      const Node& node = nodes_[at];
      const std::uint32_t used = node.used.load(std::memory_order_acquire);
      for (std::uint32_t i = 0; i < used; ++i) {
        visit(node.pods[i].load(std::memory_order_acquire));
      }
      at = node.next.load(std::memory_order_acquire);
    }
  }

  /// Bytes touched so far, and bytes of address space.
  std::size_t used_bytes() const;
  std::size_t reserved_bytes() const { return nodes_.bytes(); }

 private:
  static constexpr std::uint32_t kPodsPerNode = 12;
  static constexpr std::uint32_t kMaxNodesOfSet = (kMaxPodSlot + 1) / kPodsPerNode + 1;

  // A set is a list of nodes. Every word that readers load is stored with release: a reader that
  // meets a reused node thereby also sees that its block has changed.
  struct alignas(64) Node {
    std::atomic<std::uint32_t> next;
    std::atomic<std::uint32_t> used;  // pods in this node, 0..kPodsPerNode
    std::uint32_t references;         // first node only; 0 = not the first node of a live set
    std::uint32_t live;               // first node only: pods that were not removed
    std::atomic<std::uint32_t> pods[kPodsPerNode];
  };
  static_assert(sizeof(Node) == 64);

  class Builder;

  std::uint32_t take_node();
  void free_nodes(std::uint32_t first);

  ReservedArray<Node> nodes_;  // [0] is never used
  std::uint32_t free_ = 0;     // list of freed nodes
  std::atomic<std::uint32_t> touched_{1};
};

}  // namespace pd
