#include "framework/select/eligibility.h"

#include <fmt/format.h>

#include <algorithm>

namespace pd {
namespace {

bool was_tried(const RoutingContext& context, const Pod& pod) {
  return std::find(context.tried_pods.begin(), context.tried_pods.end(), pod.slot->incarnation) !=
         context.tried_pods.end();
}

Drop availability(const RoutingContext& context, const Pod& pod) {
  if (!pod.ready()) return Drop::kNotReady;
  return context.tried_pods.empty() || !was_tried(context, pod) ? Drop::kNone : Drop::kTried;
}

// Marks the rolesets that have an available pod in `list`.
void mark_rolesets(const RoutingContext& context, std::span<const Pod> pods,
                   const std::vector<std::uint32_t>& list, std::vector<std::uint8_t>& has) {
  for (const std::uint32_t index : list) {
    const Pod& pod = pods[index];
    if (is_available(context, pod)) has[pod.roleset] = 1;
  }
}

void add_available(const RoutingContext& context, std::span<const Pod> pods,
                   const std::vector<std::uint32_t>& list,
                   const std::vector<std::uint8_t>& other_role, CandidateTable& table,
                   SelectScratch& scratch) {
  for (const std::uint32_t index : list) {
    const Pod& pod = pods[index];
    const Drop drop = availability(context, pod);
    if (drop == Drop::kNone && other_role[pod.roleset] != 0) {
      table.add(&pod);
    } else {
      scratch.not_candidates.emplace_back(&pod, drop == Drop::kNone ? Drop::kRoleset : drop);
    }
  }
}

std::size_t count_available(const RoutingContext& context, std::span<const Pod> pods,
                            const std::vector<std::uint32_t>& list) {
  return static_cast<std::size_t>(std::count_if(list.begin(), list.end(), [&](std::uint32_t index) {
    return is_available(context, pods[index]);
  }));
}

// Says what each roleset lacks, so that an operator knows where to look.
SelectError no_pair(const RoutingContext& context, std::span<const Pod> pods,
                    const ModelPods& model, const SelectScratch& scratch) {
  const std::size_t prefill = count_available(context, pods, model.prefill);
  const std::size_t decode = count_available(context, pods, model.decode);
  std::string lacking;
  for (std::size_t r = 0; r < model.rolesets.size(); ++r) {
    const bool has_prefill = scratch.roleset_has_prefill[r] != 0;
    const bool has_decode = scratch.roleset_has_decode[r] != 0;
    lacking += fmt::format("; roleset {} has no ready {}", model.rolesets[r],
                           !has_prefill && !has_decode ? "prefill and no ready decode pod"
                           : has_prefill               ? "decode pod"
                                                       : "prefill pod");
  }
  return {SelectErrorKind::kNoPrefill,
          fmt::format("no pair of prefill and decode pods is ready for model {}: {} of {} prefill "
                      "and {} of {} decode pods are ready{}",
                      model.name, prefill, model.prefill.size(), decode, model.decode.size(),
                      model.rolesets.empty() ? "; no pod has a roleset and a role" : lacking)};
}

// Follow-up of a prefill that has been done: its own roleset only.
std::optional<SelectError> collect_decode_for(const RoutingContext& context,
                                              std::span<const Pod> pods, const ModelPods& model,
                                              SelectScratch& scratch) {
  const Pod& prefill = *context.handed_off_by;
  scratch.prefill.add(&prefill);
  for (const std::uint32_t index : model.decode) {
    const Pod& pod = pods[index];
    if (pod.roleset != prefill.roleset) continue;
    const Drop drop = availability(context, pod);
    if (drop == Drop::kNone) {
      scratch.decode.add(&pod);
    } else {
      scratch.not_candidates.emplace_back(&pod, drop);
    }
  }
  if (scratch.decode.size() > 0) return std::nullopt;
  return SelectError{SelectErrorKind::kNoDecode,
                     fmt::format("no other decode pod of roleset {} is ready for model {}",
                                 model.rolesets[prefill.roleset], model.name)};
}

}  // namespace

bool is_available(const RoutingContext& context, const Pod& pod) {
  return availability(context, pod) == Drop::kNone;
}

std::optional<SelectError> collect_candidates(const RoutingContext& context, const Fleet& fleet,
                                              const ModelPods& model, SelectScratch& scratch) {
  scratch.prefill.clear();
  scratch.decode.clear();
  scratch.not_candidates.clear();
  const auto pods = fleet.pods();
  if (context.handed_off_by != nullptr) return collect_decode_for(context, pods, model, scratch);

  scratch.roleset_has_prefill.assign(model.rolesets.size(), 0);
  scratch.roleset_has_decode.assign(model.rolesets.size(), 0);
  mark_rolesets(context, pods, model.prefill, scratch.roleset_has_prefill);
  mark_rolesets(context, pods, model.decode, scratch.roleset_has_decode);
  add_available(context, pods, model.prefill, scratch.roleset_has_decode, scratch.prefill, scratch);
  add_available(context, pods, model.decode, scratch.roleset_has_prefill, scratch.decode, scratch);
  // A pod may have turned unready between the two looks; then one side can be empty.
  if (scratch.prefill.size() > 0 && scratch.decode.size() > 0) return std::nullopt;
  return no_pair(context, pods, model, scratch);
}

}  // namespace pd
