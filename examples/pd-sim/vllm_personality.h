#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "examples/pd-sim/engine_personality.h"
#include "examples/pd-sim/vllm_request.h"

namespace pd::sim {

// vLLM 0.32 with the NIXL connector: its paths, its checks of a hand-off, its answers.
class VllmPersonality final : public EnginePersonality {
 public:
  explicit VllmPersonality(SimPod& pod);
  std::shared_ptr<Exchange> handle(const ReceivedRequest& request,
                                   const std::shared_ptr<AnswerPort>& port) override;
  std::string error_body(int status, std::string_view message) const override;

 private:
  std::shared_ptr<Exchange> generate(const ReceivedRequest& request,
                                     const std::shared_ptr<AnswerPort>& port, bool chat);
  void tokenize(const ReceivedRequest& request, AnswerPort& port);
  // What the engine refuses before it starts; an empty message when nothing.
  VllmError check(const VllmGeneration& generation) const;
  VllmError check_prefill_copy(const VllmGeneration& generation) const;
  void count_role(const VllmGeneration& generation);
  // Takes the blocks the body names from their prefill pod; kNone: they are ours to read.
  Refusal claim(const VllmGeneration& generation, std::string_view client_request_id);
  void refuse(AnswerPort& port, const VllmError& error);

  SimPod& pod_;
  VllmRequestReader reader_;
};

}  // namespace pd::sim
