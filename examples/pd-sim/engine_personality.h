#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "examples/pd-sim/answer_port.h"

namespace pd::sim {

class SimPod;

// How one engine speaks: its paths, the shape of its answers and the way it hands a prompt's KV
// from prefill to decode. Belongs to the thread of its pod.
class EnginePersonality {
 public:
  virtual ~EnginePersonality() = default;
  // Answers through `port`, at once or later. Returns the exchange when the answer takes time.
  virtual std::shared_ptr<Exchange> handle(const ReceivedRequest& request,
                                           const std::shared_ptr<AnswerPort>& port) = 0;
  // The body of an error in the engine's own shape.
  virtual std::string error_body(int status, std::string_view message) const = 0;
};

// The personality called `engine`; null when there is none of that name.
std::unique_ptr<EnginePersonality> make_personality(std::string_view engine, SimPod& pod);

}  // namespace pd::sim
