// Policies of the test's own, registered in-process: C tables whose functions call what the test
// gives. One object of each type (and N) at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "pd/abi.h"

namespace pd::test {

// While a set of policies is built, hand-made policies score 1; afterwards they do what they were
// given to do.
inline bool policies_are_live = false;

inline std::string_view view(pd_str text) {
  return {text.data, static_cast<std::size_t>(text.size)};
}
inline pd_str text(std::string_view s) {
  return {s.data(), s.size()};
}

inline constexpr const char* kHandMadeReasons[] = {"too hot", "too cold"};

// What both kinds share. `Self` is the final type.
template <class Self>
class HandMadePolicy {
 public:
  HandMadePolicy(const HandMadePolicy&) = delete;
  HandMadePolicy& operator=(const HandMadePolicy&) = delete;

  pd_policy policy{};
  const pd_host* host = nullptr;
  std::function<pd_status(const pd_policy_config*)> on_create;
  std::function<void(const pd_request*, const pd_choice*)> on_chosen;
  int instances = 0;

  template <class Service>
  const Service* service(const char* id) const {
    return static_cast<const Service*>(host->service(host, id));
  }

 protected:
  HandMadePolicy(const char* name, std::uint64_t uses, std::uint32_t flags) {
    current() = static_cast<Self*>(this);
    policy.struct_size = sizeof policy;
    policy.flags = flags;
    policy.name = name;
    policy.description = "Made by hand.";
    policy.uses = uses;
    policy.reasons = kHandMadeReasons;
    policy.reason_count = 2;
    policy.create = [](const pd_policy_config* config, void** instance, pd_error*) -> pd_status {
      *instance = current();
      current()->host = config->host;
      ++current()->instances;
      return current()->on_create ? current()->on_create(config) : PD_OK;
    };
    policy.destroy = [](void* instance) { --static_cast<Self*>(instance)->instances; };
    policy.service = [](void*, const char* id) -> const void* {
      static const pd_feedback_v1 feedback{
          sizeof(pd_feedback_v1), 0,
          [](void* instance, const pd_request* request, const pd_choice* choice) {
            auto* self = static_cast<Self*>(instance);
            if (self->on_chosen) self->on_chosen(request, choice);
          },
          nullptr};
      return std::string_view(id) == PD_SERVICE_FEEDBACK ? &feedback : nullptr;
    };
  }
  ~HandMadePolicy() { current() = nullptr; }

  static Self*& current() {
    static Self* self = nullptr;
    return self;
  }
};

template <int N>
class HandMadeDecode final : public HandMadePolicy<HandMadeDecode<N>> {
 public:
  using Score = std::function<pd_status(const pd_request*, const pd_decode_batch*, pd_scores*)>;

  explicit HandMadeDecode(Score score_pods, std::uint64_t uses = 0, std::uint32_t flags = 0)
      : HandMadePolicy<HandMadeDecode<N>>(N == 0 ? "hand_made" : "hand_made_too", uses, flags),
        score(std::move(score_pods)) {
    table.struct_size = sizeof table;
    table.policy = &this->policy;
    table.score = [](void* instance, const pd_request* request, const pd_decode_batch* batch,
                     pd_scores* scores, pd_error*) -> pd_status {
      if (!policies_are_live) {
        for (std::uint32_t i = 0; i < scores->count; ++i) scores->values[i] = 1;
        return PD_OK;
      }
      auto* self = static_cast<HandMadeDecode*>(instance);
      ++self->calls;
      return self->score(request, batch, scores);
    };
  }

  pd_decode_policy table{};
  Score score;
  int calls = 0;
};

template <int N>
class HandMadePrefill final : public HandMadePolicy<HandMadePrefill<N>> {
 public:
  using Score = std::function<pd_status(const pd_request*, const pd_prefill_batch*, pd_scores*)>;

  explicit HandMadePrefill(Score score_pods, std::uint64_t uses = 0, std::uint32_t flags = 0)
      : HandMadePolicy<HandMadePrefill<N>>(N == 0 ? "hand_made" : "hand_made_too", uses, flags),
        score(std::move(score_pods)) {
    table.struct_size = sizeof table;
    table.policy = &this->policy;
    table.prepare = [](void* instance, const pd_request*, const pd_prefill_batch*, void** scorer,
                       pd_error*) -> pd_status {
      auto* self = static_cast<HandMadePrefill*>(instance);
      if (policies_are_live && self->prepare_status != PD_OK) return self->prepare_status;
      if (policies_are_live) ++self->prepared;
      *scorer = instance;
      return PD_OK;
    };
    table.score = [](void* instance, void* scorer, const pd_request* request,
                     const pd_prefill_batch* batch, pd_scores* scores, pd_error*) -> pd_status {
      if (!policies_are_live || scorer != instance) {
        for (std::uint32_t i = 0; i < scores->count; ++i) scores->values[i] = 1;
        return PD_OK;
      }
      auto* self = static_cast<HandMadePrefill*>(instance);
      ++self->calls;
      return self->score(request, batch, scores);
    };
    table.release = [](void* instance, void*, const pd_choice* choice) {
      if (!policies_are_live) return;
      auto* self = static_cast<HandMadePrefill*>(instance);
      ++self->released;
      if (choice != nullptr) ++self->released_with_choice;
    };
  }

  pd_prefill_policy table{};
  Score score;
  pd_status prepare_status = PD_OK;
  int calls = 0;
  int prepared = 0;
  int released = 0;
  int released_with_choice = 0;
};

}  // namespace pd::test
