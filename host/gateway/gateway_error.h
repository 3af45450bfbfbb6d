// Errors that clients get, in the form of the OpenAI API. Every text is one literal of
// gateway_error.cpp, with a stable code.
#pragma once

#include <string>
#include <string_view>

#include "framework/request/request_error.h"
#include "framework/select/decision.h"
#include "host/http/http_error.h"

namespace pd {

struct GatewayError {
  int status = 500;
  std::string_view code;  // stable: "no_pair_ready"
  std::string message;
  std::string param;             // the key at fault, or empty
  int retry_after_s = 0;         // 0: no Retry-After header
  std::string_view allow;        // Allow header of a 405
  bool accept_identity = false;  // Accept-Encoding header of a 415
};

GatewayError from_request_error(const RequestError& error);
GatewayError from_http_error(const http::HttpError& error);
GatewayError from_select_error(const SelectError& error);
GatewayError unknown_path(std::string_view path);
GatewayError unknown_model_id(std::string_view id, std::string_view known);
GatewayError wrong_method(std::string_view method, std::string_view allowed);
GatewayError body_too_large(std::uint64_t limit);
GatewayError unsupported_encoding(std::string_view found);
GatewayError too_many_requests(std::uint32_t limit);
GatewayError shutting_down();
GatewayError missing_body();
GatewayError unexpected_body(std::string_view method);

// `stage` names what took too long: "body", "prefill", "connect", "first_byte", "between_bytes",
// "total"; `pod` may be empty.
GatewayError deadline_passed(std::string_view stage, std::string_view pod, long milliseconds);

// The client was slower than timeouts.header or timeouts.body allows; `part` is "head" or "body".
GatewayError slow_request(std::string_view part, long milliseconds);

// A leg failed for good: no other pod was left, or the tries are used up.
GatewayError leg_failed(std::string_view leg, std::string_view pod, std::string_view reason,
                        std::uint32_t attempts);
GatewayError no_hand_off(std::string_view pod, std::string_view reason);
GatewayError no_sockets();
GatewayError unknown_connector(std::string_view pod, std::string_view engine,
                               std::string_view connector);

// {"error":{"message","type","code","param"}} on one line.
std::string to_json(const GatewayError& error);

// The error as a last SSE event, begun on a fresh line.
std::string to_sse_event(const GatewayError& error);

// Quotes and escapes `text` as a JSON string; what is not UTF-8 becomes U+FFFD.
std::string json_quoted(std::string_view text);

}  // namespace pd
