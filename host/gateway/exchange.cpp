#include "host/gateway/exchange.h"

#include <fmt/format.h>

#include <limits>

#include "framework/policy/untrusted_text.h"
#include "framework/prefix/prefix_lookup.h"
#include "framework/request/monotonic_clock.h"
#include "host/gateway/pod_health.h"
#include "host/gateway/request_identity.h"
#include "host/http/head_writer.h"
#include "host/http/header_rules.h"
#include "pd/policy.hpp"

namespace pd {
namespace {

// How long decode may take to fetch a hand-off whose client has left, before it is closed all the
// same: it starts to fetch when it gets the request.
constexpr std::chrono::milliseconds kFetchTime(1000);

bool may_try_another_pod(FailureKind kind) {
  return kind == FailureKind::kUnreachable || kind == FailureKind::kEngineError;
}

std::uint32_t outcome_of(FailureKind kind, std::uint32_t otherwise) {
  return kind == FailureKind::kDeadline ? PD_OUTCOME_TIMEOUT : otherwise;
}

}  // namespace

// ---- Beginning ----------------------------------------------------------------------------------

std::shared_ptr<Exchange> Exchange::admit(Worker& worker, ClientConnection& client, Api api) {
  auto& in_progress = worker.environment().requests_in_progress;
  const auto limit = worker.environment().settings.limits.concurrent_requests;
  if (in_progress.fetch_add(1, std::memory_order_relaxed) >= limit) {
    in_progress.fetch_sub(1, std::memory_order_relaxed);
    return nullptr;
  }
  std::shared_ptr<Exchange> exchange(new Exchange(worker, client, api));
  worker.supervise_request(*exchange);
  return exchange;
}

Exchange::Exchange(Worker& worker, ClientConnection& client, Api api)
    : worker_(worker),
      client_(client.shared_from_this()),
      api_(api),
      record_(std::make_unique<RequestRecord>()),
      arrival_(Worker::Clock::now()) {
  const http::RequestHead& head = client.request_head();
  record_->time = std::chrono::system_clock::now();
  record_->path = head.path;
  record_->request_id = request_id_of(head, worker.random());
  target_ = head.target;
  session_ = session_of(head);
  http::append_forwarded(forwarded_, head);
  if (!head.find("content-type"))
    http::append_field(forwarded_, "Content-Type", "application/json");
  http::append_field(forwarded_, "X-Request-Id", record_->request_id);
}

Exchange::~Exchange() {
  worker_.environment().requests_in_progress.fetch_sub(1, std::memory_order_relaxed);
}

void Exchange::start(BodyBuffer body) {
  body_ = std::move(body);
  record_->request_bytes = body_.size;
  if (auto read = worker_.reader().read(api_, body_.view(), view_); !read) {
    return answer_error(from_request_error(read.error()));
  }
  record_->stream = view_.stream;
  context_.request_id = record_->request_id;
  context_.path = record_->path;
  context_.session = session_;
  context_.body = &view_;
  context_.headers = this;
  context_.arrival_ns = monotonic_ns(arrival_);
  context_.worker = worker_.index();
  context_.seed_random(worker_.random());
  state_ = worker_.routing().get();
  choose();
}

void Exchange::refused(const GatewayError& error) {
  client_.reset();
  record_->status = error.status;
  record_->error_code = error.code;
  end();
}

// ---- Choosing -----------------------------------------------------------------------------------

void Exchange::choose() {
  const auto began = Worker::Clock::now();
  context_.now_ns = monotonic_ns(began);
  auto decision = state_->router->select(context_, *state_->fleet,
                                         &worker_.environment().prefix_index, worker_.scratch());
  record_->selection_ms = milliseconds_since(began);
  record_->attempts = context_.attempt;
  if (!decision) {
    const SelectError error = decision.error();
    record_choice(nullptr, &error);
    return answer_error(from_select_error(error));
  }
  decision_ = *decision;
  record_choice(&decision_, nullptr);
  record_->decode_pod = decision_.decode->spec.name;
  begin_attempt();
}

void Exchange::record_choice(const Decision* decision, const SelectError* error) {
  const bool known_model = error == nullptr || error->kind != SelectErrorKind::kUnknownModel;
  record_->model = known_model ? view_.model : "unknown";
  if (worker_.environment().settings.decisions.keep == 0) return;
  record_->decisions.push_back(record_decision(state_->fleet, printable_text(view_.model, 200),
                                               state_->router->policies(), context_,
                                               worker_.scratch(), decision, error));
}

void Exchange::begin_attempt() {
  const Pod& decode = *decision_.decode;
  const std::uint64_t now = monotonic_now_ns();
  decode.slot->averages.note_chosen(now);
  pending_guard_ = LoadGuard(decode.slot, &PodSlot::pending_decode);
  const bool prefill_is_done = context_.handed_off_by != nullptr;
  if (prefill_is_done || !view_.can_hand_off()) return start_decode();

  const Pod& prefill = *decision_.prefill;
  prefill.slot->averages.note_chosen(now);
  engine_ = find_engine(prefill.spec.engine.value_or("vllm"), prefill.spec.connector);
  if (engine_ == nullptr) {
    return answer_error(unknown_connector(prefill.spec.name, prefill.spec.engine.value_or(""),
                                          prefill.spec.connector));
  }
  start_prefill();
}

// ---- Prefill ------------------------------------------------------------------------------------

void Exchange::start_prefill() {
  const Pod& pod = *decision_.prefill;
  record_->prefill_pod = pod.spec.name;
  prefill_guard_ = LoadGuard(pod.slot, &PodSlot::prefill_requests, &PodSlot::prefill_tokens,
                             view_.estimated_prompt_tokens());
  prefill_began_ = Worker::Clock::now();
  LegRequest request;
  request.body = engine_->prefill_body(view_);
  request.head = leg_head(pod, size_of(request.body));
  prefill_ = std::make_shared<PrefillPhase>(worker_.io(), worker_.pool(),
                                            worker_.environment().settings.timeouts,
                                            static_cast<PrefillOwner&>(*this), *engine_, pod);
  prefill_->start(std::move(request));
}

void Exchange::prefill_ended() {
  record_->prefill_ms = milliseconds_since(prefill_began_);
  prefill_guard_.release();
}

void Exchange::on_prefill_handoff(Handoff handoff) {
  prefill_ended();
  note_success(*decision_.prefill);
  handoff_ = std::move(handoff);
  handoff_kind_ = engine_->handoff_name();
  worker_.environment()
      .prefix_recorder.queue(worker_.index())
      .push(prefix_salt(view_.model, view_.cache_salt), context_.block_hashes,
            decision_.prefill->prefix_key());
  start_decode();
}

void Exchange::on_prefill_missing(const HandoffFault& fault) {
  prefill_ended();
  const Pod& pod = *decision_.prefill;
  worker_.metrics().count_leg_fault("prefill", pod.spec.name, "no_handoff");
  const bool fail = worker_.environment().settings.routing.handoff_missing == HandoffMissing::kFail;
  if (fail || fault.engine_error) {
    report_outcome(PD_OUTCOME_PREFILL_FAILED);
    return answer_error(no_hand_off(pod.spec.name, fault.message));
  }
  handoff_kind_ = "recomputed";
  start_decode();
}

void Exchange::on_prefill_refused(EngineAnswer answer) {
  prefill_ended();
  note_success(*decision_.prefill);
  pass_on(std::move(answer));
}

void Exchange::on_prefill_failed(const LegFailure& failure) {
  prefill_ended();
  const Pod& pod = *decision_.prefill;
  report_outcome(outcome_of(failure.kind, PD_OUTCOME_PREFILL_FAILED));
  if (try_again(failure, "prefill", pod)) return;
  answer_error(error_of("prefill", pod, failure));
}

// ---- Decode -------------------------------------------------------------------------------------

void Exchange::start_decode() {
  const Pod& pod = *decision_.decode;
  pending_guard_.release();
  decode_guard_ = LoadGuard(pod.slot, &PodSlot::decode_requests, &PodSlot::decode_tokens,
                            view_.estimated_prompt_tokens());
  static const Engine& plain = *find_engine("vllm", "nixl");
  const Engine& engine = engine_ == nullptr ? plain : *engine_;
  LegRequest request;
  request.body = engine.decode_body(view_, handoff_);
  request.head = leg_head(pod, size_of(request.body));
  decode_ = std::make_shared<DecodePhase>(worker_.io(), worker_.pool(),
                                          worker_.environment().settings.timeouts,
                                          static_cast<DecodeOwner&>(*this), pod);
  decode_began_ = Worker::Clock::now();
  decode_->start(std::move(request));
}

void Exchange::on_decode_first_byte() {
  if (client_ == nullptr) return end();  // the hand-off has been fetched: nobody wants the answer
  record_->first_byte_ms = milliseconds_since(arrival_);
  worker_.metrics().count_handoff(handoff_kind_);
  decision_.decode->slot->averages.note_ttft_ms(record_->first_byte_ms);
}

void Exchange::on_decode_whole_answer(EngineAnswer answer) {
  if (ended_) return;
  note_success(*decision_.decode);
  pass_on(std::move(answer));
}

// An engine's whole answer goes to the client as it is.
void Exchange::pass_on(EngineAnswer answer) {
  record_->status = answer.status;
  report_outcome(answer.status < 400 ? PD_OUTCOME_OK : PD_OUTCOME_CLIENT_ERROR);
  if (client_ == nullptr) return end();
  auto client = std::move(client_);
  client->answer(answer.status, answer.fields + answer_fields(), {}, std::move(answer.body));
  record_->answer_bytes = client->answer_bytes();
  end();
}

void Exchange::on_decode_answer(AnswerHead head) {
  free_body();
  note_success(*decision_.decode);
  record_->status = head.status;
  head.fields += answer_fields();
  relaying_ = true;
  client_->begin_answer(std::move(head));
}

void Exchange::on_decode_piece(std::string_view payload, bool last) {
  client_->write_piece(payload, last, [this, self = shared_from_this(), last](bool ok) {
    if (!ok || ended_) return;  // the connection tells client_left() itself
    if (!last) return decode_->resume();
    record_->answer_bytes = client_->answer_bytes();
    note_stream_end();
    decode_->resume();
    end();
  });
}

void Exchange::note_stream_end() {
  record_->events = decode_->events();
  if (record_->events > 1) {
    const double streaming_ms = milliseconds_since(arrival_) - record_->first_byte_ms;
    record_->inter_event_ms = streaming_ms / static_cast<double>(record_->events - 1);
    decision_.decode->slot->averages.note_inter_token_ms(record_->inter_event_ms);
  }
  if (decode_->engine_error_seen()) {
    // The engine has told the client itself; for everybody else the request has failed.
    record_->error_code = "engine_error_event";
    worker_.metrics().count_leg_fault("decode", record_->decode_pod, "error_event");
  }
  report_outcome(decode_->engine_error_seen() ? PD_OUTCOME_DECODE_FAILED : PD_OUTCOME_OK);
}

void Exchange::on_decode_failed(const LegFailure& failure) {
  decode_guard_.release();
  const Pod& pod = *decision_.decode;
  report_outcome(outcome_of(failure.kind, PD_OUTCOME_DECODE_FAILED));
  if (client_ == nullptr && handoff_.parameters.empty()) return end();
  if (try_again(failure, "decode", pod)) return;
  if (client_ == nullptr) return end();
  answer_error(error_of("decode", pod, failure));
}

void Exchange::on_decode_truncated(const LegFailure& failure, std::string_view rest) {
  const Pod& pod = *decision_.decode;
  note_failure(*state_->fleet, pod, failure.kind);
  worker_.metrics().count_leg_fault("decode", pod.spec.name, failure_name(failure.kind));
  report_outcome(outcome_of(failure.kind, PD_OUTCOME_DECODE_FAILED));
  const GatewayError error = error_of("decode", pod, failure);
  record_->truncated = true;
  record_->error_code = error.code;
  record_->events = decode_->events();
  auto client = std::move(client_);
  record_->answer_bytes = client->answer_bytes();
  client->abort_answer(view_.stream ? std::string(rest) + to_sse_event(error) : std::string());
  end();
}

// ---- Ending -------------------------------------------------------------------------------------

// Another pod takes over while nothing was sent to the client: for a failed prefill a new pair, for
// a failed decode another decode pod with the same hand-off.
bool Exchange::try_again(const LegFailure& failure, std::string_view leg, const Pod& pod) {
  note_failure(*state_->fleet, pod, failure.kind);
  worker_.metrics().count_leg_fault(leg, pod.spec.name, failure_name(failure.kind));
  const auto attempts = worker_.environment().settings.routing.attempts;
  if (!may_try_another_pod(failure.kind) || context_.attempt >= attempts) return false;

  context_.tried_pods.push_back(pod.slot->incarnation);
  const bool prefill_is_done = handoff_kind_ != "none";
  context_.handed_off_by = prefill_is_done ? decision_.prefill : nullptr;
  const ModelPods& model = *state_->fleet->find_model(view_.model);  // the pod is one of its pods
  if (!another_pair_is_left(*state_->fleet, model, context_)) return false;
  ++context_.attempt;
  worker_.metrics().count_retry(leg);
  pending_guard_.release();
  choose();
  return true;
}

// What the client is told of a leg that failed for good.
GatewayError Exchange::error_of(std::string_view leg, const Pod& pod,
                                const LegFailure& failure) const {
  switch (failure.kind) {
    case FailureKind::kDeadline:
      return deadline_passed(failure.stage, pod.spec.name, failure.limit_ms);
    case FailureKind::kNoSockets:
      return no_sockets();
    default:
      return leg_failed(leg, pod.spec.name, failure.text, context_.attempt);
  }
}

void Exchange::answer_error(const GatewayError& error) {
  record_->status = error.status;
  record_->error_code = error.code;
  if (client_ != nullptr) {
    auto client = std::move(client_);
    client->answer(error, answer_fields());
    record_->answer_bytes = client->answer_bytes();
  }
  end();
}

void Exchange::client_left() {
  if (ended_) return;
  if (client_ != nullptr) record_->answer_bytes = client_->answer_bytes();
  if (decode_ != nullptr) record_->events = decode_->events();
  client_.reset();
  record_->client_left = true;
  context_.headers = nullptr;  // they were the connection's
  const bool handoff_waits = !handoff_.parameters.empty() && !relaying_;
  if (handoff_waits) return;  // decode goes on until it has fetched the blocks
  report_outcome(PD_OUTCOME_CANCELLED);
  end();
}

void Exchange::check_deadlines(Worker::Clock::time_point now) {
  if (ended_) return;
  auto self = shared_from_this();
  const TimeoutSettings& timeouts = worker_.environment().settings.timeouts;
  if (client_ == nullptr && decode_ != nullptr && now - decode_began_ > kFetchTime) return end();
  if (timeouts.total.count() > 0 && now - arrival_ > timeouts.total && client_ != nullptr) {
    return total_time_passed(timeouts.total);
  }
  if (decode_ != nullptr) {
    decode_->check_deadlines(now);
  } else if (prefill_ != nullptr) {
    prefill_->check_deadlines(now);
  }
}

void Exchange::total_time_passed(std::chrono::milliseconds limit) {
  const GatewayError error = deadline_passed("total", {}, static_cast<long>(limit.count()));
  report_outcome(PD_OUTCOME_TIMEOUT);
  if (!relaying_) return answer_error(error);
  record_->truncated = true;
  record_->error_code = error.code;
  auto client = std::move(client_);
  client->abort_answer(view_.stream ? to_sse_event(error) : std::string());
  end();
}

void Exchange::end() {
  if (ended_) return;
  ended_ = true;
  auto self = shared_from_this();
  unlink();
  client_.reset();
  if (prefill_ != nullptr) prefill_->cancel();
  if (decode_ != nullptr) decode_->cancel();
  prefill_guard_.release();
  pending_guard_.release();
  decode_guard_.release();
  free_body();
  if (record_ == nullptr) return;
  record_->handoff = handoff_kind_;
  record_->total_ms = milliseconds_since(arrival_);
  worker_.metrics().count_request(*record_);
  worker_.environment().request_log.queue(worker_.index()).push(std::move(record_));
}

void Exchange::free_body() {
  worker_.buffers().give_back(std::move(body_));
}

// Tells both policies what came of this attempt.
void Exchange::report_outcome(std::uint32_t result) {
  if (state_ == nullptr || decision_.decode == nullptr) return;
  const bool failed = result != PD_OUTCOME_OK && result != PD_OUTCOME_CLIENT_ERROR &&
                      result != PD_OUTCOME_CANCELLED;
  const Pod* blamed = result == PD_OUTCOME_PREFILL_FAILED ? decision_.prefill : decision_.decode;
  if (blamed != nullptr) blamed->slot->averages.note_result(failed);
  decision_.decode->slot->completed.fetch_add(1, std::memory_order_relaxed);

  pd_outcome outcome{};
  outcome.struct_size = sizeof(pd_outcome);
  outcome.result = result;
  outcome.attempt = context_.attempt;
  outcome.now_ns = monotonic_now_ns();
  outcome.request_id = sdk::str(record_->request_id);
  outcome.model = sdk::str(view_.model);
  outcome.session = sdk::str(session_);
  outcome.prefill_incarnation =
      record_->prefill_pod.empty() ? 0 : decision_.prefill->slot->incarnation;
  outcome.decode_incarnation = decode_ == nullptr ? 0 : decision_.decode->slot->incarnation;
  outcome.status = static_cast<std::uint32_t>(record_->status);
  outcome.queue_ms = 0;
  outcome.selection_ms = record_->selection_ms;
  outcome.prefill_ms = record_->prefill_ms;
  outcome.first_byte_ms = record_->first_byte_ms;
  outcome.inter_chunk_ms = record_->inter_event_ms;
  outcome.total_ms = milliseconds_since(arrival_);
  outcome.prompt_tokens = outcome.output_tokens = outcome.cached_tokens = PD_UNKNOWN_COUNT;
  const PolicySet& policies = state_->router->policies();
  outcome.tag = decision_.prefill_tag;
  policies.prefill().instance().outcome(outcome);
  outcome.tag = decision_.decode_tag;
  policies.decode().instance().outcome(outcome);
}

// ---- Header lines -------------------------------------------------------------------------------

std::string Exchange::leg_head(const Pod& pod, std::size_t body_size) const {
  std::string head;
  head.reserve(256 + forwarded_.size());
  static_cast<void>(http::append_request_start(head, "POST", target_, pod.address));
  head += forwarded_;
  http::append_content_length(head, body_size);
  http::end_head(head);
  return head;
}

std::string Exchange::answer_fields() const {
  std::string fields;
  fields.reserve(256);
  http::append_field(fields, "x-request-id", record_->request_id);
  if (state_ == nullptr || decision_.decode == nullptr) return fields;
  if (!record_->prefill_pod.empty()) {
    http::append_field(fields, "x-pd-prefill-pod", record_->prefill_pod);
    http::append_field(fields, "prefill-target-pod", record_->prefill_pod);
  }
  http::append_field(fields, "x-pd-decode-pod", record_->decode_pod);
  http::append_field(fields, "target-pod", record_->decode_pod);
  http::append_field(fields, "x-pd-policy", state_->router->policies().label());
  http::append_field(fields, "x-pd-handoff", handoff_kind_);
  return fields;
}

std::string_view Exchange::header(std::string_view lower_case_name) const {
  if (client_ == nullptr) return {};
  return client_->request_head().find(lower_case_name).value_or(std::string_view());
}

double Exchange::milliseconds_since(Worker::Clock::time_point time) const {
  return std::chrono::duration<double, std::milli>(Worker::Clock::now() - time).count();
}

}  // namespace pd
