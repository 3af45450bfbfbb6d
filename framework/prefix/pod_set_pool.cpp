#include "framework/prefix/pod_set_pool.h"

#include <algorithm>

namespace pd {

// Appends pods to a new set; gives everything back when the pool runs out.
class PodSetPool::Builder {
 public:
  explicit Builder(PodSetPool& pool) : pool_(pool) { append_node(); }

  void add(PodKey pod) {
    if (failed_) return;
    if (used_ == kPodsPerNode && !append_node()) return;
    Node& node = pool_.nodes_[last_];
    node.pods[used_].store(pod, std::memory_order_release);
    node.used.store(++used_, std::memory_order_release);
    ++count_;
  }

  PodSetHandle finish() {
    if (failed_) {
      pool_.free_nodes(first_);
      return 0;
    }
    Node& head = pool_.nodes_[first_];
    head.references = 1;
    head.live = count_;
    return first_;
  }

 private:
  bool append_node() {
    const std::uint32_t node = pool_.take_node();
    if (node == 0) {
      failed_ = true;
      return false;
    }
    if (first_ == 0) {
      first_ = node;
    } else {
      pool_.nodes_[last_].next.store(node, std::memory_order_release);
    }
    last_ = node;
    used_ = 0;
    return true;
  }

  PodSetPool& pool_;
  std::uint32_t first_ = 0;
  std::uint32_t last_ = 0;
  std::uint32_t used_ = 0;  // pods in the last node
  std::uint32_t count_ = 0;
  bool failed_ = false;
};

bool PodSetPool::reserve(std::uint32_t nodes) {
  return nodes_.reserve(static_cast<std::size_t>(nodes) + 1);
}

PodSetHandle PodSetPool::make_pair(PodKey first, PodKey second) {
  Builder builder(*this);
  builder.add(first);
  builder.add(second);
  return builder.finish();
}

PodSetHandle PodSetPool::copy_with(PodSetHandle set, PodKey added) {
  Builder builder(*this);
  for_each(set, [&](PodKey pod) {
    if (pod != kNoPod && slot_of(pod) != slot_of(added)) builder.add(pod);
  });
  builder.add(added);
  return builder.finish();
}

bool PodSetPool::contains(PodSetHandle set, PodKey pod) const {
  for (std::uint32_t at = set; at != 0; at = nodes_[at].next.load(std::memory_order_relaxed)) {
    const Node& node = nodes_[at];
    const std::uint32_t used = node.used.load(std::memory_order_relaxed);
    for (std::uint32_t i = 0; i < used; ++i) {
      if (node.pods[i].load(std::memory_order_relaxed) == pod) return true;
    }
  }
  return false;
}

void PodSetPool::add_reference(PodSetHandle set) {
  ++nodes_[set].references;
}

void PodSetPool::drop_reference(PodSetHandle set) {
  if (--nodes_[set].references == 0) free_nodes(set);
}

void PodSetPool::remove_everywhere(std::span<const PodKey> pods) {
  const std::uint32_t touched = touched_.load(std::memory_order_relaxed);
  for (std::uint32_t set = 1; set < touched; ++set) {
    Node& head = nodes_[set];
    if (head.references == 0) continue;
    for (std::uint32_t at = set; at != 0; at = nodes_[at].next.load(std::memory_order_relaxed)) {
      Node& node = nodes_[at];
      const std::uint32_t used = node.used.load(std::memory_order_relaxed);
      for (std::uint32_t i = 0; i < used; ++i) {
        const PodKey pod = node.pods[i].load(std::memory_order_relaxed);
        if (pod == kNoPod || !std::binary_search(pods.begin(), pods.end(), pod)) continue;
        // The one change that a live set sees: one word, and of a pod that is gone anyway.
        node.pods[i].store(kNoPod, std::memory_order_release);
        --head.live;
      }
    }
  }
}

bool PodSetPool::is_empty(PodSetHandle set) const {
  return nodes_[set].live == 0;
}

std::size_t PodSetPool::used_bytes() const {
  return touched_.load(std::memory_order_relaxed) * sizeof(Node);
}

std::uint32_t PodSetPool::take_node() {
  std::uint32_t taken = free_;
  if (taken != 0) {
    free_ = nodes_[taken].next.load(std::memory_order_relaxed);
  } else {
    taken = touched_.load(std::memory_order_relaxed);
    if (taken >= nodes_.size()) return 0;
    touched_.store(taken + 1, std::memory_order_relaxed);
  }
  Node& node = nodes_[taken];
  node.next.store(0, std::memory_order_release);
  node.used.store(0, std::memory_order_release);
  return taken;
}

void PodSetPool::free_nodes(std::uint32_t first) {
  while (first != 0) {
    Node& node = nodes_[first];
    const std::uint32_t next = node.next.load(std::memory_order_relaxed);
    node.references = 0;
    node.next.store(free_, std::memory_order_release);
    free_ = first;
    first = next;
  }
}

}  // namespace pd
