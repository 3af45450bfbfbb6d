#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "examples/pd-sim/answer_port.h"
#include "examples/pd-sim/sim_engine.h"
#include "examples/pd-sim/vllm_request.h"

namespace pd::sim {

class SimPod;

// One generation request from its sequences to its answer, whole or streamed. Owned by the
// connection that it answers through.
class VllmExchange final : public Exchange, public SequenceSink {
 public:
  // `stops_at_first_token`: the model ends its answer with token 1.
  VllmExchange(SimPod& pod, const std::shared_ptr<AnswerPort>& port, VllmGeneration generation,
               std::string_view client_request_id, bool stops_at_first_token);

  const VllmGeneration& generation() const { return generation_; }
  // Submits the sequences. `release_remote` is set when the KV comes from a prefill pod.
  void start(std::function<void()> release_remote);
  // Ends the request as vLLM does when loading the KV fails: on a stream the status is 200 already.
  void fail(const VllmError& error);

  void client_gone() override;
  void on_token(Sequence& sequence, bool last) override;

 private:
  struct Choice {
    std::uint64_t seed = 0;
    std::string text;  // escaped; whole answers only
    bool stopped = false;
    SequencePtr sequence;
  };

  void make_choices(bool stops_at_first_token);
  void stream_roles();
  void stream_token(const Sequence& sequence, const Choice& choice, bool last);
  void finish_stream();
  void answer_whole();
  void append_envelope(std::string& out, std::string_view object) const;
  void append_usage(std::string& out) const;
  void append_choice(std::string& out, std::size_t index) const;
  void append_handoff(std::string& out);

  SimPod& pod_;
  AnswerPort* port_;  // the connection owns this exchange
  VllmGeneration generation_;
  std::string client_request_id_;
  std::string id_;  // as in the answer, escaped
  std::string engine_request_id_;
  std::int64_t created_;
  std::vector<Choice> choices_;
  std::size_t open_ = 0;
  bool roles_sent_ = false;
  std::string event_;
};

}  // namespace pd::sim
