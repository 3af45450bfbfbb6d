// One request on its way: read the body, choose a pair, prefill, hand over, relay the decode
// answer, and account for it. A client that leaves ends it, except while a hand-off waits to be
// fetched.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "framework/request/routing_context.h"
#include "host/engines/engine.h"
#include "host/gateway/client_connection.h"
#include "host/gateway/decode_phase.h"
#include "host/gateway/prefill_phase.h"
#include "host/observability/request_record.h"

namespace pd {

// Used by its worker's thread. The client's connection holds it while the client waits; its pending
// legs hold it too.
class Exchange final : public std::enable_shared_from_this<Exchange>,
                       public Supervised,
                       private PrefillOwner,
                       private DecodeOwner,
                       private HeaderSource {
 public:
  // Counts the request against limits.concurrent_requests; nullptr when the limit is reached.
  static std::shared_ptr<Exchange> admit(Worker& worker, ClientConnection& client, Api api);

  ~Exchange() override;

  // The body is complete.
  void start(BodyBuffer body);

  // The client's x-request-id, or the one that was made for it.
  const std::string& request_id() const { return record_->request_id; }

  // The connection has refused the request before its body was complete.
  void refused(const GatewayError& error);

  // The client is gone.
  void client_left();

  // Ends at once, whatever waits.
  void cut() override { end(); }

  // Checks the deadlines of the phase; called by the worker's timer.
  void check_deadlines(Worker::Clock::time_point now) override;
  bool idle() const override { return ended_; }

 private:
  Exchange(Worker& worker, ClientConnection& client, Api api);

  // Choosing.
  void choose();
  void begin_attempt();
  void record_choice(const Decision* decision, const SelectError* error);

  // Prefill.
  void start_prefill();
  void on_prefill_handoff(Handoff handoff) override;
  void on_prefill_missing(const HandoffFault& fault) override;
  void on_prefill_refused(EngineAnswer answer) override;
  void on_prefill_failed(const LegFailure& failure) override;
  void prefill_ended();

  // Decode.
  void start_decode();
  void on_decode_answer(AnswerHead head) override;
  void on_decode_whole_answer(EngineAnswer answer) override;
  void on_decode_piece(std::string_view payload, bool last) override;
  void on_decode_first_byte() override;
  void note_stream_end();
  void pass_on(EngineAnswer answer);
  void on_decode_failed(const LegFailure& failure) override;
  void on_decode_truncated(const LegFailure& failure, std::string_view rest) override;

  // Ending.
  bool try_again(const LegFailure& failure, std::string_view leg, const Pod& pod);
  GatewayError error_of(std::string_view leg, const Pod& pod, const LegFailure& failure) const;
  void answer_error(const GatewayError& error);
  void total_time_passed(std::chrono::milliseconds limit);
  void end();
  void report_outcome(std::uint32_t result);
  std::string answer_fields() const;
  void free_body();

  std::string leg_head(const Pod& pod, std::size_t body_size) const;
  std::string_view header(std::string_view lower_case_name) const override;
  double milliseconds_since(Worker::Clock::time_point time) const;

  Worker& worker_;
  std::shared_ptr<ClientConnection> client_;  // nullptr once it has left or got its answer
  std::shared_ptr<const RoutingState> state_;
  BodyBuffer body_;
  RequestView view_;
  RoutingContext context_;
  const Api api_;
  std::string forwarded_;  // the client's header lines that go on to pods
  std::string target_;     // path and query
  std::string session_;
  Decision decision_;
  const Engine* engine_ = nullptr;
  Handoff handoff_;
  std::string_view handoff_kind_ = "none";
  LoadGuard prefill_guard_;
  LoadGuard pending_guard_;
  LoadGuard decode_guard_;
  std::shared_ptr<PrefillPhase> prefill_;
  std::shared_ptr<DecodePhase> decode_;
  std::unique_ptr<RequestRecord> record_;
  const Worker::Clock::time_point arrival_;
  Worker::Clock::time_point prefill_began_;
  Worker::Clock::time_point decode_began_;
  bool relaying_ = false;
  bool ended_ = false;
};

}  // namespace pd
