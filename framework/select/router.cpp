#include "framework/select/router.h"

#include <fmt/format.h>

#include <charconv>

#include "framework/prefix/prefix_hash.h"
#include "framework/select/decode_imbalance.h"
#include "framework/select/decode_scoring.h"
#include "framework/select/eligibility.h"
#include "framework/select/final_pair.h"
#include "framework/select/load_gather.h"
#include "framework/select/prefill_imbalance.h"
#include "framework/select/prefill_scoring.h"
#include "pd/policy.hpp"

namespace pd {
namespace {

SelectError unknown_model(const Fleet& fleet, std::string_view model) {
  return {SelectErrorKind::kUnknownModel,
          fmt::format("the model \"{}\" is not served here; served models: {}", model,
                      fleet.model_names())};
}

SelectError mixed_engines(const ModelPods& model) {
  return {
      SelectErrorKind::kMixedEngines,
      fmt::format("the pods of model {} name different engines; a hand-off needs one engine, so "
                  "give all pods of the model the same",
                  model.name)};
}

// Pods that are not ready, and followers of a group, do not count.
bool ready_engines_differ(const Fleet& fleet, const ModelPods& model) {
  const std::optional<std::string>* first = nullptr;
  for (const std::uint32_t index : model.pods) {
    const Pod& pod = fleet.pods()[index];
    if (!pod.ready() || is_follower(pod.spec)) continue;
    if (first == nullptr) first = &pod.spec.engine;
    if (*first != pod.spec.engine) return true;
  }
  return false;
}

SelectError no_scored_pair(const ModelPods& model) {
  return {
      SelectErrorKind::kNoPrefill,
      fmt::format("no roleset of model {} has both a prefill and a decode pod with a score: the "
                  "policies excluded or failed to score the rest",
                  model.name)};
}

// The ids of a prompt that is one list of token ids; empty for any other prompt.
void read_token_ids(const RequestView& body, std::vector<std::uint32_t>& ids) {
  ids.clear();
  if (body.prompt_token_ids == 0 || body.prompt.empty()) return;
  const PromptSegment& segment = body.prompt.front();
  const char* at = body.body.data() + segment.begin;
  const char* end = body.body.data() + segment.end;
  while (at < end) {
    std::uint32_t id = 0;
    const auto [next, error] = std::from_chars(at, end, id);
    if (error == std::errc()) ids.push_back(id);
    at = next == at ? at + 1 : next;
  }
}

bool wants_shortcuts(const PolicyEntry& entry) {
  return (entry.policy.flags & PD_POLICY_NO_SHORTCUTS) == 0;
}

pd_choice choice_of(const Decision& decision, std::uint64_t tag, bool by_shortcut) {
  return {sizeof(pd_choice),
          by_shortcut ? PD_CHOICE_SHORTCUT : 0,
          decision.prefill == nullptr ? nullptr : &decision.prefill->abi,
          decision.decode == nullptr ? nullptr : &decision.decode->abi,
          PD_NO_INDEX,
          PD_NO_INDEX,
          tag};
}

// Index of `pod` in the batch that its policy scored.
std::uint32_t index_in(const BatchColumns& batch, const Pod* pod) {
  for (std::uint32_t i = 0; i < batch.pods.size(); ++i) {
    if (batch.pods[i] == &pod->abi) return i;
  }
  return PD_NO_INDEX;
}

}  // namespace

boost::system::result<Decision, SelectError> Router::select(RoutingContext& context,
                                                            const Fleet& fleet,
                                                            const PrefixIndex* index,
                                                            SelectScratch& scratch) const {
  const ModelPods* model = fleet.find_model(context.body->model);
  if (model == nullptr) return unknown_model(fleet, context.body->model);
  if (!model->one_engine && ready_engines_differ(fleet, *model)) return mixed_engines(*model);
  if (auto error = collect_candidates(context, fleet, *model, scratch)) return std::move(*error);

  scratch.policy_memory.release();
  context.scratch = &scratch.policy_memory;
  context.scratch_left = kScratchBytes;
  context.fleet = &fleet;
  prepare_prompt(context, scratch);
  prepare_request(context, scratch);
  std::optional<PrefixLookup> lookup;
  if (index != nullptr) {
    lookup.emplace(
        PrefixLookup{*index, prefix_salt(model->name, context.body->cache_salt), scratch.prefix});
    context.prefix = &*lookup;
  }

  Decision decision;
  gather_prefill_load(scratch.prefill);
  const bool choose_prefill = context.handed_off_by == nullptr;
  if (choose_prefill && wants_shortcuts(policies_->prefill().entry()) &&
      prefer_least_loaded_prefill(context, settings_, scratch)) {
    decision.stages |= kStagePrefillImbalance;
  }
  gather_decode_load(scratch.decode, fleet, context.now_ns, settings_);
  gather_decode_maxima(scratch.decode);
  if (wants_shortcuts(policies_->decode().entry())) {
    decision.stages |= prefer_least_loaded_decode(context, settings_, scratch);
  }

  gather_maxima(scratch.prefill);  // pods that the next stage drops still set the scale
  if (choose_prefill) drop_overloaded(scratch.prefill, settings_.prefill_stddev_factor);
  PrefillScoring prefill(*policies_, fleet, settings_, context, scratch);
  decision.fallback_used = prefill.score(model->rolesets.size());
  const DecodeScoreRun decode =
      score_decode_pods(*policies_, fleet, settings_, context, scratch, model->rolesets.size());
  decision.fallback_used = decision.fallback_used || decode.fallback_used;

  const auto roleset = choose_roleset(context, scratch);
  if (roleset) {
    decision.prefill = scratch.prefill.pods[scratch.prefill.picks[*roleset].row];
    decision.decode = decode_pick(scratch, *roleset).pod;
    decision.prefill_tag = prefill.tag();
    decision.decode_tag = decode.tag;
    tell_policies(context, decision, prefill, scratch);
  } else {
    prefill.finish(nullptr);
  }
  context.prefix = nullptr;
  context.prompt = {};
  if (!roleset) return no_scored_pair(*model);
  return decision;
}

void Router::tell_policies(const RoutingContext& context, const Decision& decision,
                           PrefillScoring& prefill, const SelectScratch& scratch) const {
  if (context.dry_run) return prefill.finish(nullptr);
  const bool prefill_shortcut = (decision.stages & kStagePrefillImbalance) != 0;
  const bool decode_shortcut = (decision.stages & ~kStagePrefillImbalance) != 0;
  pd_choice choice = choice_of(decision, decision.prefill_tag, prefill_shortcut);
  choice.prefill_index = index_in(scratch.prefill_batch, decision.prefill);
  policies_->prefill().instance().chosen(scratch.request, choice);
  prefill.finish(&choice);

  choice = choice_of(decision, decision.decode_tag, decode_shortcut);
  choice.decode_index = index_in(scratch.decode_batch, decision.decode);
  policies_->decode().instance().chosen(scratch.request, choice);
}

void Router::prepare_prompt(RoutingContext& context, SelectScratch& scratch) const {
  constexpr std::uint64_t kNeedsPrompt = PD_USES_PREFIX | PD_USES_PROMPT | PD_USES_TOKENIZER_OUTPUT;
  context.block_hashes.clear();
  if ((policies_->uses() & kNeedsPrompt) == 0) return;
  if (const auto in_place = context.body->prompt_in_place()) {
    context.prompt = *in_place;
  } else {
    scratch.prompt.clear();
    context.body->append_prompt(scratch.prompt);
    context.prompt = scratch.prompt;
  }
  context.prompt_bytes = context.prompt.size();
  if (policies_->uses() & PD_USES_PREFIX) {
    hash_prefix(std::as_bytes(std::span(context.prompt)), settings_.block_size, settings_.hash_seed,
                context.block_hashes);
  }
}

void Router::prepare_request(const RoutingContext& context, SelectScratch& scratch) const {
  const RequestView& body = *context.body;
  pd_request& request = scratch.request;
  request = pd_request{};
  request.struct_size = sizeof(pd_request);
  request.flags =
      (body.stream ? PD_REQUEST_STREAM : 0U) | (context.dry_run ? PD_REQUEST_DRY_RUN : 0U);
  request.host_data = &context;
  request.request_id = sdk::str(context.request_id);
  request.model = sdk::str(body.model);
  request.path = sdk::str(context.path);
  request.session = sdk::str(context.session);
  request.prompt = sdk::str(context.prompt);
  request.prompt_bytes = context.prompt_bytes;
  request.max_output_tokens = body.max_output_tokens.value_or(PD_UNKNOWN_COUNT);
  request.block_hashes = context.block_hashes.data();
  request.block_count = context.block_hashes.size();
  request.block_size = settings_.block_size;
  request.priority = body.priority;
  request.arrival_ns = context.arrival_ns;
  request.decision_ns = context.now_ns;
  request.choices = body.choices;
  request.attempt = context.attempt;
  request.tried_pods = context.tried_pods.data();
  request.tried_pod_count = context.tried_pods.size();
  request.worker = context.worker;
  if (policies_->uses() & PD_USES_TOKEN_IDS) {
    read_token_ids(body, scratch.token_ids);
    request.token_ids = scratch.token_ids.data();
    request.token_id_count = scratch.token_ids.size();
  }
  request.prompt_tokens = body.estimated_prompt_tokens();
  request.token_source = body.prompt_token_ids > 0 ? PD_TOKENS_GIVEN : PD_TOKENS_ESTIMATED;
}

}  // namespace pd
