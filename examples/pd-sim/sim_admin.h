#pragma once

#include <memory>

#include "examples/pd-sim/answer_port.h"

namespace pd::sim {

class SimFleet;
class SimPod;

// Answers POST /sim/faults, POST /sim/timing and GET /sim/state. Every pod takes them for every
// pod of the process, so a pod that refuses connections is steered through another one. Runs on
// the thread of `self`, visits each pod on that pod's own thread and answers on `self`'s.
void handle_admin(SimFleet& fleet, SimPod& self, const ReceivedRequest& request,
                  const std::shared_ptr<AnswerPort>& port);

}  // namespace pd::sim
