// pd-load: sends chat requests to a gateway or an engine and checks every answer.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "tests/bench/load_client/chat_bodies.h"
#include "tests/bench/load_client/load_run.h"

int main(int argc, char** argv) {
  pd::bench::LoadOptions load;
  pd::bench::ChatBodyOptions bodies;
  CLI::App app("Closed-loop load of chat requests whose answers pd-sim determines; prints JSON");
  app.add_option("--host", load.host, "IPv4 address")->capture_default_str();
  app.add_option("--port", load.port, "TCP port")->required();
  app.add_option("--concurrency", load.concurrency, "Connections")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  app.add_option("--requests", load.requests, "Answers to wait for")->capture_default_str();
  app.add_option("--timeout", load.timeout_s, "Seconds without any answer that end the run")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
  app.add_option("--body-bytes", bodies.body_bytes, "Size of each body")
      ->check(CLI::Range(pd::bench::kSmallestBody, std::size_t{1} << 26U))
      ->capture_default_str();
  app.add_option("--variants", bodies.variants, "Different bodies")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--tokens", bodies.tokens, "max_tokens of each request")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_flag("--stream", bodies.stream, "Ask for streams: one event for each token");
  CLI11_PARSE(app, argc, argv);

  const auto requests = make_chat_requests(bodies, load.host);
  const pd::bench::LoadResult result = run_load(load, requests);
  std::puts(to_json(result).c_str());
  return result.errors == 0 && result.requests == load.requests ? 0 : 1;
}
