#include "host/gateway/pod_health.h"

#include <algorithm>

#include "framework/select/eligibility.h"

namespace pd {
namespace {

bool is_last_ready(const Fleet& fleet, const Pod& pod) {
  return std::none_of(fleet.pods().begin(), fleet.pods().end(), [&](const Pod& other) {
    return &other != &pod && other.spec.model == pod.spec.model &&
           other.spec.role == pod.spec.role && other.ready();
  });
}

}  // namespace

void note_success(const Pod& pod) {
  // Loads first: on a healthy fleet nobody writes these lines.
  if (pod.slot->connect_failures.load(std::memory_order_relaxed) != 0) {
    pod.slot->connect_failures.store(0, std::memory_order_relaxed);
  }
  const auto health = pod.slot->health.load(std::memory_order_relaxed);
  if (health == PodHealth::kPending || health == PodHealth::kUnready) {
    pod.slot->health.store(PodHealth::kReady, std::memory_order_relaxed);
  }
}

void note_failure(const Fleet& fleet, const Pod& pod, FailureKind kind) {
  if (kind != FailureKind::kUnreachable) return;
  const auto failures = pod.slot->connect_failures.fetch_add(1, std::memory_order_relaxed) + 1;
  if (failures < kFailuresUntilUnready || !pod.ready() || is_last_ready(fleet, pod)) return;
  pod.slot->health.store(PodHealth::kUnready, std::memory_order_relaxed);
}

void note_scrape_unreachable(const Pod& pod) {
  const auto failures = pod.slot->connect_failures.fetch_add(1, std::memory_order_relaxed) + 1;
  if (failures < kFailuresUntilUnready || !pod.ready()) return;
  pod.slot->health.store(PodHealth::kUnready, std::memory_order_relaxed);
}

bool another_pair_is_left(const Fleet& fleet, const ModelPods& model,
                          const RoutingContext& context) {
  const auto any_decode_in = [&](std::uint32_t roleset) {
    return std::any_of(model.decode.begin(), model.decode.end(), [&](std::uint32_t index) {
      const Pod& pod = fleet.pods()[index];
      return pod.roleset == roleset && is_available(context, pod);
    });
  };
  if (context.handed_off_by != nullptr) return any_decode_in(context.handed_off_by->roleset);
  return std::any_of(model.prefill.begin(), model.prefill.end(), [&](std::uint32_t index) {
    const Pod& pod = fleet.pods()[index];
    return is_available(context, pod) && any_decode_in(pod.roleset);
  });
}

}  // namespace pd
