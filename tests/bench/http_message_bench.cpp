// Cost of framing per message: typical heads, and the payload of a streamed answer.
#include <benchmark/benchmark.h>

#include <string>

#include "host/http/header_rules.h"
#include "host/http/message_parser.h"

namespace pd::http {
namespace {

constexpr std::string_view kRequest =
    "POST /v1/chat/completions HTTP/1.1\r\n"
    "Host: gateway.example:8080\r\n"
    "User-Agent: OpenAI/Python 1.30.1\r\n"
    "Accept: application/json\r\n"
    "Accept-Encoding: gzip, deflate\r\n"
    "Connection: keep-alive\r\n"
    "Content-Type: application/json\r\n"
    "Authorization: Bearer sk-0123456789abcdef0123456789abcdef\r\n"
    "X-Stainless-Lang: python\r\n"
    "X-Request-Id: 2f1c7c8e-6d0e-4c3b-9a53-6b2b8b1f7a11\r\n"
    "Content-Length: 2048\r\n\r\n";

constexpr std::string_view kResponse =
    "HTTP/1.1 200 OK\r\n"
    "date: Fri, 07 Jun 2024 09:12:33 GMT\r\n"
    "server: uvicorn\r\n"
    "content-type: text/event-stream; charset=utf-8\r\n"
    "cache-control: no-cache\r\n"
    "x-accel-buffering: no\r\n"
    "x-request-id: 2f1c7c8e-6d0e-4c3b-9a53-6b2b8b1f7a11\r\n"
    "openai-processing-ms: 12\r\n"
    "vary: Origin\r\n"
    "connection: keep-alive\r\n"
    "transfer-encoding: chunked\r\n\r\n";

void parse_request_head(benchmark::State& state) {
  RequestParser parser;
  std::string wire(kRequest);
  for (auto _ : state) {
    parser.reset();
    benchmark::DoNotOptimize(parser.feed(wire));
  }
  if (parser.state() != ParseState::kNeedBody) state.SkipWithError("the request was refused");
}
BENCHMARK(parse_request_head);

void parse_response_head(benchmark::State& state) {
  ResponseParser parser;
  std::string wire(kResponse);
  for (auto _ : state) {
    parser.reset();
    benchmark::DoNotOptimize(parser.feed(wire));
  }
  if (parser.state() != ParseState::kNeedBody) state.SkipWithError("the answer was refused");
}
BENCHMARK(parse_response_head);

void forward_request_fields(benchmark::State& state) {
  RequestParser parser;
  std::string wire(kRequest);
  parser.feed(wire);
  std::string out;
  for (auto _ : state) {
    out.clear();
    append_forwarded(out, parser.head());
    benchmark::DoNotOptimize(out.data());
  }
}
BENCHMARK(forward_request_fields);

// 64 coalesced chunks of 300 bytes, decoded to one payload.
void decode_64_chunks(benchmark::State& state) {
  std::string chunks;
  for (int i = 0; i < 64; ++i) chunks += "12c\r\n" + std::string(300, 'x') + "\r\n";
  ChunkDecoder decoder;
  std::string data = chunks;
  for (auto _ : state) {
    state.PauseTiming();
    data = chunks;
    state.ResumeTiming();
    decoder.reset();
    benchmark::DoNotOptimize(decoder.decode(data, kResponseLimits));
  }
}
BENCHMARK(decode_64_chunks);

}  // namespace
}  // namespace pd::http
