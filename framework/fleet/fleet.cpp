#include "framework/fleet/fleet.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "pd/policy.hpp"

namespace pd {
namespace {

std::string address_of(const PodSpec& spec) {
  const bool ipv6 = spec.host.find(':') != std::string::npos;
  return ipv6 ? fmt::format("[{}]:{}", spec.host, spec.port)
              : fmt::format("{}:{}", spec.host, spec.port);
}

// What makes a pod of the same name another pod: any change of these is a new incarnation.
std::string identity_of(const PodSpec& spec, const std::string& address) {
  return fmt::format("{}\n{}\n{}\n{}\n{}", address, spec.model, role_name(spec.role),
                     spec.roleset.value_or("\t"), spec.engine.value_or("\t"));
}

// Fills what policies see. The pod must not move afterwards.
void fill_abi(Pod& pod) {
  for (const auto& [key, value] : pod.spec.labels) {
    pod.label_keys.push_back(sdk::str(key));
    pod.label_values.push_back(sdk::str(value));
  }
  pod.abi.struct_size = sizeof(pd_pod);
  pod.abi.slot = pod.slot->number;
  pod.abi.incarnation = pod.slot->incarnation;
  pod.abi.name = sdk::str(pod.spec.name);
  pod.abi.roleset = pod.spec.roleset ? sdk::str(*pod.spec.roleset) : pd_str{nullptr, 0};
  pod.abi.engine = pod.spec.engine ? sdk::str(*pod.spec.engine) : pd_str{nullptr, 0};
  pod.abi.address = sdk::str(pod.address);
  pod.abi.role = pod.spec.role == Role::kOther ? 0 : static_cast<std::uint32_t>(pod.spec.role);
  pod.abi.label_count = static_cast<std::uint32_t>(pod.label_keys.size());
  pod.abi.label_keys = pod.label_keys.data();
  pod.abi.label_values = pod.label_values.data();
}

bool is_candidate(const PodSpec& spec) {
  const bool has_role = spec.role == Role::kPrefill || spec.role == Role::kDecode;
  return has_role && spec.roleset && serves_http(spec);
}

std::uint32_t roleset_index(ModelPods& model, const std::string& name) {
  const auto it = std::find(model.rolesets.begin(), model.rolesets.end(), name);
  if (it != model.rolesets.end()) {
    return static_cast<std::uint32_t>(it - model.rolesets.begin());
  }
  model.rolesets.push_back(name);
  return static_cast<std::uint32_t>(model.rolesets.size() - 1);
}

ModelPods group_model(const std::string& name, const std::vector<std::uint32_t>& indices,
                      std::vector<Pod>& pods) {
  ModelPods model;
  model.name = name;
  model.pods = indices;
  const std::optional<std::string>* engine = nullptr;
  for (const std::uint32_t index : indices) {
    Pod& pod = pods[index];
    if (!is_follower(pod.spec)) {
      if (engine != nullptr && *engine != pod.spec.engine) model.one_engine = false;
      engine = &pod.spec.engine;
    }
    if (!is_candidate(pod.spec)) continue;
    pod.roleset = roleset_index(model, *pod.spec.roleset);
    (pod.spec.role == Role::kPrefill ? model.prefill : model.decode).push_back(index);
  }
  return model;
}

}  // namespace

std::shared_ptr<const Fleet> Fleet::build(std::vector<PodSpec> specs, PodSlots& slots,
                                          std::uint64_t generation, const Fleet* previous) {
  auto fleet = std::make_shared<Fleet>();
  fleet->generation_ = generation;
  fleet->pods_.resize(specs.size());
  fleet->columns_ = std::make_unique<EngineColumns>(specs.size());

  std::map<std::string, std::vector<std::uint32_t>> by_model;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    Pod& pod = fleet->pods_[i];
    pod.spec = std::move(specs[i]);
    pod.index = static_cast<std::uint32_t>(i);
    pod.address = address_of(pod.spec);
    pod.slot = slots.open(pod.spec.name, identity_of(pod.spec, pod.address));
    fill_abi(pod);
    by_model[pod.spec.model].push_back(pod.index);
    if (fleet->row_of_slot_.size() <= pod.slot->number) {
      fleet->row_of_slot_.resize(pod.slot->number + 1);
    }
    fleet->row_of_slot_[pod.slot->number] = pod.index;
    const Pod* before = previous == nullptr ? nullptr : previous->find_pod(pod.spec.name);
    if (before != nullptr && before->slot == pod.slot) {
      fleet->columns_->copy_row(pod.index, previous->columns(), before->index);
    }
  }
  for (const auto& [name, indices] : by_model) {
    fleet->models_.push_back(group_model(name, indices, fleet->pods_));
  }
  return fleet;
}

const ModelPods* Fleet::find_model(std::string_view name) const {
  const auto it =
      std::lower_bound(models_.begin(), models_.end(), name,
                       [](const ModelPods& m, std::string_view n) { return m.name < n; });
  return it != models_.end() && it->name == name ? &*it : nullptr;
}

std::string Fleet::model_names() const {
  std::string names;
  for (const ModelPods& model : models_) names += (names.empty() ? "" : ", ") + model.name;
  return names.empty() ? "none" : names;
}

const Pod* Fleet::find_pod(std::string_view name) const {
  const auto it = std::find_if(pods_.begin(), pods_.end(),
                               [&](const Pod& pod) { return pod.spec.name == name; });
  return it == pods_.end() ? nullptr : &*it;
}

}  // namespace pd
