#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace pd::sim {

// A request as it came in. The views die when the handler returns.
struct ReceivedRequest {
  std::string_view method;
  std::string_view path;
  std::string_view query;
  std::string_view body;
  std::size_t body_capacity = 0;  // readable bytes from body.data() on, padding included
  std::string_view request_id;    // X-Request-Id; empty when absent
};

// Where the answer to one request goes. After the client has left every call is ignored.
// Belongs to the thread of its connection.
class AnswerPort {
 public:
  virtual ~AnswerPort() = default;
  // The whole answer.
  virtual void answer(int status, std::string_view content_type, std::string_view body) = 0;
  // Or a stream: the head (200, text/event-stream) goes out with the first event or by flush_head.
  virtual void begin_stream() = 0;
  virtual void flush_head() = 0;
  // One server-sent event, "data: " and the empty line included; one send each.
  virtual void send_event(std::string_view event) = 0;
  virtual void end_stream() = 0;
};

// An answer in the making.
class Exchange {
 public:
  virtual ~Exchange() = default;
  // The client closed before the answer was complete.
  virtual void client_gone() = 0;
};

inline constexpr std::string_view kJson = "application/json";

}  // namespace pd::sim
