// The fleet as one immutable snapshot: pods, grouped by model and by roleset. Discovery builds a
// new one when anything changes; whoever holds a snapshot keeps its pods, slots and columns alive.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/fleet/pod_spec.h"
#include "framework/load/engine_columns.h"
#include "framework/load/pod_slots.h"
#include "framework/prefix/pod_key.h"
#include "pd/abi.h"

namespace pd {

struct Pod {
  PodSpec spec;
  std::uint32_t index = 0;    // in Fleet::pods(), and its row in the engine columns
  std::uint32_t roleset = 0;  // in ModelPods::rolesets; meaningful for candidates only
  std::shared_ptr<PodSlot> slot;
  std::string address;  // host:port, brackets around an IPv6 host
  std::vector<pd_str> label_keys;
  std::vector<pd_str> label_values;
  pd_pod abi{};  // what policies see; points into this pod

  // May be chosen now.
  bool ready() const { return slot->health.load(std::memory_order_relaxed) == PodHealth::kReady; }

  // Who this pod is in the prefix index.
  PodKey prefix_key() const { return make_pod_key(slot->number, slot->incarnation); }
};

// The pods that serve one model.
struct ModelPods {
  std::string name;
  std::vector<std::uint32_t> pods;     // all, as indices into Fleet::pods()
  std::vector<std::uint32_t> prefill;  // those with a roleset, the role and an HTTP server
  std::vector<std::uint32_t> decode;
  std::vector<std::string> rolesets;  // names; index = Pod::roleset
  bool one_engine = true;             // no two pods name different engines
};

class Fleet {
 public:
  // Builds a snapshot. Slots of pods that did not change are kept, and so are their samples when
  // `previous` is given.
  static std::shared_ptr<const Fleet> build(std::vector<PodSpec> specs, PodSlots& slots,
                                            std::uint64_t generation,
                                            const Fleet* previous = nullptr);

  std::uint64_t generation() const { return generation_; }
  std::span<const Pod> pods() const { return pods_; }
  std::span<const ModelPods> models() const { return models_; }

  // The pods of a model, or nullptr when no pod serves it.
  const ModelPods* find_model(std::string_view name) const;

  // The pod of that name, or nullptr.
  const Pod* find_pod(std::string_view name) const;

  // Names of the served models, for people: "a, b"; "none" for an empty fleet.
  std::string model_names() const;

  // Row in the columns of the pod with this slot, which must be one of this fleet.
  std::uint32_t row_of_slot(std::uint32_t slot) const { return row_of_slot_[slot]; }

  // Last samples of the engines' metrics; written by the scraper while readers read.
  EngineColumns& columns() const { return *columns_; }

 private:
  std::uint64_t generation_ = 0;
  std::vector<Pod> pods_;
  std::vector<ModelPods> models_;  // sorted by name
  std::vector<std::uint32_t> row_of_slot_;
  std::unique_ptr<EngineColumns> columns_;
};

}  // namespace pd
