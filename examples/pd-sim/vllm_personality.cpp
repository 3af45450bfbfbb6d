#include "examples/pd-sim/vllm_personality.h"

#include <boost/asio/dispatch.hpp>
#include <ctime>
#include <utility>

#include "examples/pd-sim/sim_fleet.h"
#include "examples/pd-sim/sim_pod.h"
#include "examples/pd-sim/vllm_exchange.h"

namespace pd::sim {
namespace {

constexpr std::string_view kVersion = R"({"version":"0.32.0"})";
constexpr std::string_view kNotFound = R"({"detail":"Not Found"})";
constexpr std::string_view kNotAllowed = R"({"detail":"Method Not Allowed"})";
constexpr std::string_view kEngineDead =
    "EngineCore encountered an issue. See stack trace (above) for the root cause.";
constexpr std::string_view kInternalError = "Internal server error";

std::string json_string(std::string_view text) {
  std::string json = "\"";
  append_json_escaped(json, text);
  return json + '"';
}

std::string model_list(const SimPod& pod) {
  const std::string model = json_string(pod.spec().model);
  return R"({"object":"list","data":[{"id":)" + model + R"(,"object":"model","created":)" +
         std::to_string(std::time(nullptr)) + R"(,"owned_by":"vllm","root":)" + model +
         R"(,"parent":null,"permission":[]}]})";
}

VllmError internal_error(std::string_view message) {
  return {500, std::string(message), "InternalServerError", {}};
}

}  // namespace

VllmPersonality::VllmPersonality(SimPod& pod) : pod_(pod), reader_(pod.engine().block_size()) {}

std::shared_ptr<Exchange> VllmPersonality::handle(const ReceivedRequest& request,
                                                  const std::shared_ptr<AnswerPort>& port) {
  const std::string_view path = request.path;
  const bool post = request.method == "POST";
  const bool chat = path == "/v1/chat/completions";
  if (chat || path == "/v1/completions" || path == "/tokenize") {
    if (!post) {
      port->answer(405, kJson, kNotAllowed);
    } else if (path == "/tokenize") {
      tokenize(request, *port);
    } else {
      return generate(request, port, chat);
    }
    return nullptr;
  }
  if (path == "/v1/models") {
    port->answer(200, kJson, model_list(pod_));
  } else if (path == "/health") {
    port->answer(200, kJson, {});
  } else if (path == "/version") {
    port->answer(200, kJson, kVersion);
  } else if (path == "/load") {
    const EngineGauges gauges = pod_.engine().gauges();
    port->answer(200, kJson,
                 R"({"server_load":)" + std::to_string(gauges.running + gauges.waiting) + "}");
  } else {
    port->answer(404, kJson, kNotFound);
  }
  return nullptr;
}

std::string VllmPersonality::error_body(int status, std::string_view message) const {
  return to_json(
      {status, std::string(message), status < 500 ? "BadRequestError" : "InternalServerError", {}});
}

std::shared_ptr<Exchange> VllmPersonality::generate(const ReceivedRequest& request,
                                                    const std::shared_ptr<AnswerPort>& port,
                                                    bool chat) {
  auto read = reader_.read(request, chat);
  if (!read) return refuse(*port, read.error()), nullptr;
  VllmGeneration& generation = *read;
  if (const VllmError error = check(generation); !error.message.empty()) {
    return refuse(*port, error), nullptr;
  }
  count_role(generation);
  const bool eos_fault = !generation.ignore_eos && pod_.faults().take(FaultKind::kEosFirst);
  auto exchange = std::make_shared<VllmExchange>(pod_, port, std::move(generation),
                                                 request.request_id, eos_fault);
  const KvTransferParams& kv = exchange->generation().kv;
  if (!kv.do_remote_prefill) {
    exchange->start({});
    return exchange;
  }
  if (kv.kills_engine()) {
    ++pod_.counters().engine_killed;
    ++pod_.counters().refused[static_cast<std::size_t>(Refusal::kIncomplete)];
    exchange->fail(internal_error(kEngineDead));
    return exchange;
  }
  const Refusal refusal = claim(exchange->generation(), request.request_id);
  if (refusal != Refusal::kNone) {
    ++pod_.counters().refused[static_cast<std::size_t>(refusal)];
    ++pod_.engine().stats().transfers_failed;
    ++pod_.engine().stats().finished_error;
    exchange->fail(internal_error(kInternalError));
    return exchange;
  }
  SimPod* source = pod_.fleet().find_by_side_channel(*kv.host, *kv.port);
  exchange->start([source, id = *kv.request_id] {
    boost::asio::dispatch(source->executor(), [source, id] { source->engine().unpin(id); });
  });
  return exchange;
}

VllmError VllmPersonality::check(const VllmGeneration& generation) const {
  if (!generation.model.empty() && generation.model != pod_.spec().model) {
    return {404,
            "The model `" + generation.model +
                "` does not exist. Valid aliases: " + pod_.spec().model + ".",
            "NotFoundError", "model"};
  }
  if (generation.has_stream_options && !generation.stream) {
    return {400, "Stream options can only be defined when `stream=True`.", "BadRequestError",
            "stream_options"};
  }
  if (generation.min_tokens > generation.token_limit()) {
    return {400,
            "min_tokens must be less than or equal to max_tokens=" +
                std::to_string(generation.token_limit()) + ", got " +
                std::to_string(generation.min_tokens) + ".",
            "BadRequestError",
            {}};
  }
  const std::uint32_t limit = pod_.engine().max_model_len();
  for (const auto& prompt : generation.prompts) {
    if (prompt->tokens < limit) continue;
    const std::string length = std::to_string(prompt->tokens);
    return {400,
            "This model's maximum context length is " + std::to_string(limit) +
                " tokens. However, your prompt contains at least " + length +
                " input tokens, which exceeds this limit even without any output tokens. Please "
                "reduce the length of the input prompt. (parameter=input_tokens, value=" +
                length + ")",
            "BadRequestError", "input_tokens"};
  }
  if (generation.kv.do_remote_decode) return check_prefill_copy(generation);
  return {400, {}, {}, {}};
}

VllmError VllmPersonality::check_prefill_copy(const VllmGeneration& generation) const {
  std::string wrong;
  if (generation.kv.do_remote_prefill) wrong = "do_remote_prefill is true beside do_remote_decode";
  if (generation.prompts.size() != 1) wrong = "more than one prompt";
  if (generation.n != 1) wrong = "n is not 1";
  if (generation.stream) wrong = "stream is true";
  if (generation.max_tokens != 1) wrong = "max_tokens is not 1";
  if (generation.chat && generation.max_completion_tokens != 1) {
    wrong = "max_completion_tokens is not 1";
  }
  if (wrong.empty()) return {400, {}, {}, {}};
  return {400, "A request for a KV hand-off must make one token: " + wrong + ".", "BadRequestError",
          "kv_transfer_params"};
}

void VllmPersonality::count_role(const VllmGeneration& generation) {
  const PodRole role = pod_.spec().role;
  PodCounters& counters = pod_.counters();
  if (generation.kv.do_remote_decode) {
    if (role == PodRole::kDecode) ++counters.wrong_role;
  } else if (role == PodRole::kPrefill) {
    ++counters.wrong_role;
  } else if (!generation.kv.do_remote_prefill) {
    ++counters.recomputed;
  }
}

Refusal VllmPersonality::claim(const VllmGeneration& generation,
                               std::string_view client_request_id) {
  const KvTransferParams& kv = generation.kv;
  if (!kv.complete()) return Refusal::kIncomplete;
  if (generation.n != 1 || generation.prompts.size() != 1) return Refusal::kSeveralReaders;
  SimPod* source = pod_.fleet().find_by_side_channel(*kv.host, *kv.port);
  if (source == nullptr) return Refusal::kUnknownPod;
  const Handoff wanted{*kv.engine_id,
                       *kv.request_id,
                       std::string(client_request_id),
                       generation.prompts[0]->hash,
                       static_cast<std::uint32_t>(*kv.num_tokens),
                       kv.blocks};
  return source->ledger().claim(wanted, Clock::now());
}

void VllmPersonality::refuse(AnswerPort& port, const VllmError& error) {
  ++pod_.counters().bad_requests;
  port.answer(error.status, kJson, to_json(error));
}

void VllmPersonality::tokenize(const ReceivedRequest& request, AnswerPort& port) {
  const bool chat = request.body.find("\"messages\"") != std::string_view::npos;
  const auto read = reader_.read(request, chat);
  if (!read) return refuse(port, read.error());
  const Prompt& prompt = *read->prompts[0];
  std::string json = R"({"count":)" + std::to_string(prompt.tokens) + R"(,"max_model_len":)" +
                     std::to_string(pod_.engine().max_model_len()) + R"(,"tokens":[)";
  for (std::uint32_t i = 0; i < prompt.tokens; ++i) {
    if (i > 0) json += ',';
    json += std::to_string(choice_seed(prompt.hash, i) % 100000);
  }
  port.answer(200, kJson, json + R"(],"token_strs":null})");
}

}  // namespace pd::sim
