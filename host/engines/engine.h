// How one engine hands a request over from prefill to decode: what each leg's body is, and what of
// the prefill's answer decode needs. No sockets. One implementation a file, named as the connector.
#pragma once

#include <boost/system/result.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "framework/fleet/fleet.h"
#include "framework/request/request_view.h"
#include "host/engines/body_splice.h"

namespace pd {

// What a prefill left for decode: text that is spliced into the decode body. Empty: nothing.
struct Handoff {
  std::string parameters;
};

// What a prefill's answer lacks, for the error text, the log and the metric.
struct HandoffFault {
  bool engine_error = false;  // the answer is an error in spite of its status
  std::string message;
};

// Stateless and shared by all threads.
class Engine {
 public:
  virtual ~Engine() = default;

  // Value of the x-pd-handoff header and the metrics label: "nixl".
  virtual std::string_view handoff_name() const = 0;

  // The prefill leg's body. Pieces point into `view.body` and static text.
  virtual BodyPieces prefill_body(const RequestView& view) const = 0;

  // Takes the hand-off out of a prefill's 200 answer. `answer` has kBodyPadding readable bytes
  // behind it. A hand-off that is not whole is a fault: a partial one can kill the decode engine.
  virtual boost::system::result<Handoff, HandoffFault> read_prefill_answer(
      std::string_view answer, const Pod& prefill) const = 0;

  // The decode leg's body; `handoff` must outlive the pieces.
  virtual BodyPieces decode_body(const RequestView& view, const Handoff& handoff) const = 0;
};

// The hand-off of that engine and connector, or nullptr when this build has none.
const Engine* find_engine(std::string_view engine, std::string_view connector);

}  // namespace pd
