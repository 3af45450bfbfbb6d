#include "host/gateway/gateway_error.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <boost/json/serialize.hpp>
#include <boost/json/string.hpp>

#include "framework/policy/untrusted_text.h"

namespace pd {
namespace {

constexpr int kRetryAfterSeconds = 1;

std::string_view type_of(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 429:
      return "rate_limit_error";
    case 503:
      return "overloaded_error";
    default:
      return status < 500 ? "invalid_request_error" : "api_error";
  }
}

GatewayError make(int status, std::string_view code, std::string message) {
  GatewayError error;
  error.status = status;
  error.code = code;
  error.message = std::move(message);
  return error;
}

}  // namespace

GatewayError from_request_error(const RequestError& error) {
  GatewayError out = make(400, error.code, error.message);
  out.param = error.param;
  return out;
}

GatewayError from_http_error(const http::HttpError& error) {
  return make(error.status, http::code_name(error.code), error.text);
}

GatewayError from_select_error(const SelectError& error) {
  switch (error.kind) {
    case SelectErrorKind::kUnknownModel: {
      GatewayError out = make(404, "model_not_found", error.message);
      out.param = "model";
      return out;
    }
    case SelectErrorKind::kMixedEngines:
      return make(503, "mixed_engines", error.message);
    case SelectErrorKind::kNoPrefill:
    case SelectErrorKind::kNoDecode:
      break;
  }
  GatewayError out = make(503, "no_pair_ready", error.message);
  out.retry_after_s = kRetryAfterSeconds;
  return out;
}

GatewayError unknown_path(std::string_view path) {
  return make(404, "unknown_path",
              fmt::format("the path {} is not served here; served paths: /v1/chat/completions, "
                          "/v1/completions, /v1/models",
                          printable_text(path, 200)));
}

GatewayError unknown_model_id(std::string_view id, std::string_view known) {
  GatewayError error = make(404, "model_not_found",
                            fmt::format("the model \"{}\" is not served here; served models: {}",
                                        printable_text(id, 200), known));
  error.param = "model";
  return error;
}

GatewayError wrong_method(std::string_view method, std::string_view allowed) {
  GatewayError error = make(405, "wrong_method",
                            fmt::format("the method {} is not taken on this path; allowed: {}",
                                        printable_text(method, 40), allowed));
  error.allow = allowed;
  return error;
}

GatewayError body_too_large(std::uint64_t limit) {
  return make(
      413, "body_too_large",
      fmt::format("the request body is larger than the limit of {} bytes (limits.body)", limit));
}

GatewayError unsupported_encoding(std::string_view found) {
  GatewayError error = make(
      415, "unsupported_content_encoding",
      fmt::format("the content encoding \"{}\" is not taken; send the body as it is (identity)",
                  printable_text(found, 80)));
  error.accept_identity = true;
  return error;
}

GatewayError too_many_requests(std::uint32_t limit) {
  GatewayError error = make(429, "too_many_requests",
                            fmt::format("{} requests are in progress, the limit of this gateway "
                                        "(limits.concurrent_requests); try again shortly",
                                        limit));
  error.retry_after_s = kRetryAfterSeconds;
  return error;
}

GatewayError shutting_down() {
  GatewayError error = make(503, "shutting_down", "this gateway is shutting down; try another one");
  error.retry_after_s = kRetryAfterSeconds;
  return error;
}

GatewayError missing_body() {
  return make(400, "missing_body",
              "the request has no body; send a JSON object with a Content-Length or chunked");
}

GatewayError unexpected_body(std::string_view method) {
  return make(400, "unexpected_body",
              fmt::format("a {} request has no body here; leave out Content-Length and "
                          "Transfer-Encoding",
                          printable_text(method, 40)));
}

GatewayError deadline_passed(std::string_view stage, std::string_view pod, long milliseconds) {
  return make(504, "deadline_passed",
              pod.empty() ? fmt::format("the request was not complete {} ms after it began "
                                        "(timeouts.{})",
                                        milliseconds, stage)
                          : fmt::format("pod {} did not answer within {} ms (timeouts.{})", pod,
                                        milliseconds, stage));
}

GatewayError slow_request(std::string_view part, long milliseconds) {
  return make(408, "slow_request",
              fmt::format("the request's {} was not complete within {} ms (timeouts.{})", part,
                          milliseconds, part == "head" ? "header" : "body"));
}

GatewayError leg_failed(std::string_view leg, std::string_view pod, std::string_view reason,
                        std::uint32_t attempts) {
  return make(502, "leg_failed",
              fmt::format("the {} leg failed on pod {}: {} (attempt {}; no other pod took over)",
                          leg, pod, reason, attempts));
}

GatewayError no_hand_off(std::string_view pod, std::string_view reason) {
  return make(502, "no_hand_off",
              fmt::format("prefill pod {} gave no usable hand-off: {}", pod, reason));
}

GatewayError no_sockets() {
  GatewayError error = make(503, "no_sockets",
                            "this gateway has no file descriptor left for a connection to a pod; "
                            "raise its limit (ulimit -n)");
  error.retry_after_s = kRetryAfterSeconds;
  return error;
}

GatewayError unknown_connector(std::string_view pod, std::string_view engine,
                               std::string_view connector) {
  return make(503, "unknown_connector",
              fmt::format("pod {} names engine {} with connector {}, for which this host knows no "
                          "hand-off; known: vllm with nixl or shfs",
                          pod, engine, connector));
}

std::string json_quoted(std::string_view text) {
  if (simdjson::validate_utf8(text.data(), text.size())) {
    return boost::json::serialize(boost::json::string_view(text));
  }
  std::string replaced;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t size = 1;
    while (size <= 4 && at + size <= text.size() &&
           !simdjson::validate_utf8(text.data() + at, size)) {
      ++size;
    }
    const bool is_character = size <= 4 && at + size <= text.size();
    replaced.append(is_character ? text.substr(at, size) : "\xEF\xBF\xBD");
    at += is_character ? size : 1;
  }
  return boost::json::serialize(boost::json::string_view(replaced));
}

std::string to_json(const GatewayError& error) {
  return fmt::format(R"({{"error":{{"message":{},"type":"{}","code":"{}","param":{}}}}})",
                     json_quoted(error.message), type_of(error.status), error.code,
                     error.param.empty() ? "null" : json_quoted(error.param));
}

std::string to_sse_event(const GatewayError& error) {
  return fmt::format("\n\ndata: {}\n\n", to_json(error));
}

}  // namespace pd
