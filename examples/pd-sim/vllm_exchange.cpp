#include "examples/pd-sim/vllm_exchange.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "examples/pd-sim/sim_pod.h"

namespace pd::sim {
namespace {

constexpr std::string_view kFingerprint = R"(,"system_fingerprint":"pd-sim")";
constexpr std::string_view kDone = "data: [DONE]\n\n";
constexpr std::string_view kEventEnd = "\n\n";

std::string_view finish_reason(bool stopped) {
  return stopped ? "\"stop\"" : "\"length\"";
}

}  // namespace

VllmExchange::VllmExchange(SimPod& pod, const std::shared_ptr<AnswerPort>& port,
                           VllmGeneration generation, std::string_view client_request_id,
                           bool stops_at_first_token)
    : pod_(pod),
      port_(port.get()),
      generation_(std::move(generation)),
      client_request_id_(client_request_id),
      created_(std::time(nullptr)) {
  std::string id = client_request_id_;
  if (id.empty()) append_hex(id, random_u64(), 16);
  const std::string_view prefix = generation_.chat ? "chatcmpl-" : "cmpl-";
  id_ = prefix;
  append_json_escaped(id_, id);
  engine_request_id_.append(prefix).append(id).append(generation_.chat ? "-" : "-0-");
  append_hex(engine_request_id_, random_u64(), 8);
  make_choices(stops_at_first_token || (generation_.has_stop && generation_.kv.do_remote_decode));
}

void VllmExchange::make_choices(bool stops_at_first_token) {
  const auto n = static_cast<std::uint32_t>(generation_.n);
  choices_.resize(generation_.prompts.size() * n);
  open_ = choices_.size();
  const std::int64_t limit = pod_.engine().max_model_len();
  const bool handoff =
      generation_.kv.do_remote_decode && !pod_.faults().take(FaultKind::kNoHandoff);
  for (std::uint32_t i = 0; i < choices_.size(); ++i) {
    const auto& prompt = generation_.prompts[i / n];
    choices_[i].seed = choice_seed(prompt->hash, i % n);
    choices_[i].stopped = stops_at_first_token;
    auto sequence = std::make_shared<Sequence>();
    sequence->prompt = prompt;
    sequence->choice = i;
    sequence->max_tokens = static_cast<std::uint32_t>(
        std::min<std::int64_t>(generation_.token_limit(), limit - prompt->tokens));
    sequence->stops_at_first_token = stops_at_first_token;
    sequence->wants_handoff = handoff;
    sequence->engine_request_id = engine_request_id_;
    sequence->client_request_id = client_request_id_;
    sequence->sink = this;
    choices_[i].sequence = std::move(sequence);
  }
}

void VllmExchange::start(std::function<void()> release_remote) {
  if (generation_.stream) port_->begin_stream();
  choices_[0].sequence->release_remote = std::move(release_remote);
  for (Choice& choice : choices_) pod_.engine().submit(choice.sequence);
}

void VllmExchange::fail(const VllmError& error) {
  if (!generation_.stream) {
    port_->answer(error.status, kJson, to_json(error));
    return;
  }
  port_->begin_stream();
  stream_roles();
  event_ = "data: {\"error\": {\"message\": \"";
  append_json_escaped(event_, error.message);
  event_.append("\", \"type\": \"").append(error.type).append("\", \"param\": null, \"code\": ");
  event_.append(std::to_string(error.status)).append("}}").append(kEventEnd);
  port_->send_event(event_);
  port_->send_event(kDone);
  port_->end_stream();
}

void VllmExchange::client_gone() {
  for (const Choice& choice : choices_) pod_.engine().abort(choice.sequence);
}

void VllmExchange::on_token(Sequence& sequence, bool last) {
  Choice& choice = choices_[sequence.choice];
  if (last) --open_;
  if (generation_.stream) {
    stream_roles();
    stream_token(sequence, choice, last);
    if (open_ == 0) finish_stream();
    return;
  }
  if (!choice.stopped) append_answer_token(choice.text, choice.seed, sequence.produced - 1);
  if (open_ == 0) answer_whole();
}

void VllmExchange::append_envelope(std::string& out, std::string_view object) const {
  out.append("{\"id\":\"").append(id_).append("\",\"object\":\"").append(object);
  out.append("\",\"created\":").append(std::to_string(created_)).append(",\"model\":\"");
  append_json_escaped(out, pod_.spec().model);
  out.append("\",\"choices\":[");
}

void VllmExchange::stream_roles() {
  if (!generation_.chat || std::exchange(roles_sent_, true)) return;
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    event_ = "data: ";
    append_envelope(event_, "chat.completion.chunk");
    event_.append("{\"index\":").append(std::to_string(i));
    event_ +=
        R"(,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],)"
        R"("prompt_token_ids":null,"prompt_text":null})";
    event_ += kEventEnd;
    port_->send_event(event_);
  }
}

void VllmExchange::stream_token(const Sequence& sequence, const Choice& choice, bool last) {
  event_ = "data: ";
  append_envelope(event_, generation_.chat ? "chat.completion.chunk" : "text_completion");
  event_.append("{\"index\":").append(std::to_string(sequence.choice));
  event_ += generation_.chat ? ",\"delta\":{\"content\":\"" : ",\"text\":\"";
  if (!choice.stopped) append_answer_token(event_, choice.seed, sequence.produced - 1);
  event_ += generation_.chat ? "\"},\"logprobs\":null,\"finish_reason\":"
                             : "\",\"logprobs\":null,\"finish_reason\":";
  event_ += last ? finish_reason(choice.stopped) : "null";
  if (generation_.chat) {
    event_ += last ? ",\"stop_reason\":null,\"token_ids\":null}]" : ",\"token_ids\":null}]";
  } else {
    event_ += ",\"stop_reason\":null,\"prompt_token_ids\":null,\"token_ids\":null}]";
  }
  if (open_ == 0 && !generation_.include_usage) event_ += kFingerprint;
  event_.append("}").append(kEventEnd);
  port_->send_event(event_);
}

void VllmExchange::finish_stream() {
  if (generation_.include_usage) {
    event_ = "data: ";
    append_envelope(event_, generation_.chat ? "chat.completion.chunk" : "text_completion");
    event_ += "],";
    append_usage(event_);
    event_.append("}}").append(kFingerprint).append("}").append(kEventEnd);
    port_->send_event(event_);
  }
  port_->send_event(kDone);
  port_->end_stream();
}

// Leaves prompt_tokens_details and usage open: whole answers put more into both.
void VllmExchange::append_usage(std::string& out) const {
  std::int64_t prompt_tokens = 0;
  std::int64_t completion_tokens = 0;
  std::int64_t cached = 0;
  for (const auto& prompt : generation_.prompts) prompt_tokens += prompt->tokens;
  for (std::size_t i = 0; i < choices_.size(); ++i) {
    completion_tokens += choices_[i].sequence->produced;
    if (i % static_cast<std::size_t>(generation_.n) == 0) {
      cached += choices_[i].sequence->cached_tokens;
    }
  }
  // With a hand-off vLLM tells what prefill had cached.
  if (generation_.kv.do_remote_prefill) cached = generation_.kv.prefill_cached.value_or(cached);
  out.append("\"usage\":{\"prompt_tokens\":").append(std::to_string(prompt_tokens));
  out.append(",\"total_tokens\":").append(std::to_string(prompt_tokens + completion_tokens));
  out.append(",\"completion_tokens\":").append(std::to_string(completion_tokens));
  out.append(",\"prompt_tokens_details\":{\"cached_tokens\":").append(std::to_string(cached));
}

void VllmExchange::append_choice(std::string& out, std::size_t index) const {
  const Choice& choice = choices_[index];
  if (index > 0) out += ',';
  out.append("{\"index\":").append(std::to_string(index));
  if (generation_.chat) {
    out.append(R"(,"message":{"role":"assistant","content":")").append(choice.text);
    out += R"(","refusal":null,"annotations":null,"audio":null,"function_call":null,)"
           R"("reasoning":null},"logprobs":null,"finish_reason":)";
    out.append(finish_reason(choice.stopped));
    out += R"(,"stop_reason":null,"token_ids":null,"routed_experts":null})";
  } else {
    out.append(",\"text\":\"").append(choice.text);
    out.append("\",\"logprobs\":null,\"finish_reason\":").append(finish_reason(choice.stopped));
    out += R"(,"stop_reason":null,"token_ids":null,"prompt_logprobs":null,"prompt_token_ids":null,)"
           R"("routed_experts":null})";
  }
}

void VllmExchange::answer_whole() {
  std::string& out = event_;
  out.clear();
  append_envelope(out, generation_.chat ? "chat.completion" : "text_completion");
  for (std::size_t i = 0; i < choices_.size(); ++i) append_choice(out, i);
  out.append(R"(],"service_tier":null)").append(kFingerprint).append(",");
  append_usage(out);
  out +=
      R"(,"created_cache_tokens":null,"multimodal_tokens":null},"completion_tokens_details":null},)";
  if (generation_.chat) {
    out += R"("prompt_logprobs":null,"prompt_token_ids":null,"prompt_text":null,)";
  }
  out += "\"kv_transfer_params\":";
  append_handoff(out);
  out += R"(,"ec_transfer_params":null,"metrics":null})";
  port_->answer(200, kJson, out);
}

void VllmExchange::append_handoff(std::string& out) {
  const Sequence& sequence = *choices_[0].sequence;
  if (sequence.handoff_blocks.empty()) {
    out += "null";
    return;
  }
  const auto partial = pod_.faults().take(FaultKind::kPartialHandoff);
  const bool null_host =
      pod_.options().null_remote_host || pod_.faults().take(FaultKind::kNullHost).has_value();
  const auto field = [&](std::string_view key, std::string_view json) {
    if (partial && partial->missing == key) return;
    out.append("\"").append(key).append("\":").append(json).append(",");
  };
  std::string blocks = "[[";
  for (const std::uint32_t id : sequence.handoff_blocks) {
    if (blocks.size() > 2) blocks += ',';
    blocks += std::to_string(id);
  }
  blocks += "]]";
  const auto quoted = [](std::string_view text) {
    std::string json = "\"";
    append_json_escaped(json, text);
    return json + '"';
  };
  out += '{';
  field("do_remote_prefill", "true");
  field("do_remote_decode", "false");
  field("remote_block_ids", blocks);
  field("remote_engine_id", quoted(pod_.engine().engine_id()));
  field("remote_request_id", quoted(sequence.engine_request_id));
  field("remote_host", null_host ? "null" : quoted(pod_.options().host));
  field("remote_port", std::to_string(pod_.side_channel_port()));
  field("tp_size", "1");
  field("dcp_size", "1");
  field("pp_size", "1");
  field("remote_num_tokens", std::to_string(sequence.prompt->tokens));
  field("remote_blocks_expiry_time", "null");
  field("transfer_mode", "\"pull\"");
  field("remote_prefill_cached_tokens", std::to_string(sequence.cached_tokens));
  out.back() = '}';
}

}  // namespace pd::sim
