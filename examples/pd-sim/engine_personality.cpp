#include "examples/pd-sim/engine_personality.h"

#include "examples/pd-sim/vllm_personality.h"

namespace pd::sim {

std::unique_ptr<EnginePersonality> make_personality(std::string_view engine, SimPod& pod) {
  if (engine == "vllm") return std::make_unique<VllmPersonality>(pod);
  return nullptr;
}

}  // namespace pd::sim
