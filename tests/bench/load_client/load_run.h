// A closed loop of load: N kept-alive connections, each sends its next request when its last answer
// has come and is right. One thread, epoll.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tests/bench/load_client/chat_bodies.h"

namespace pd::bench {

struct LoadOptions {
  std::string host = "127.0.0.1";  // IPv4
  std::uint16_t port = 0;
  std::uint32_t concurrency = 1;
  std::uint64_t requests = 1000;  // answers to wait for, all connections together
  std::uint32_t timeout_s = 60;   // without any answer: the run ends with an error
};

struct LoadResult {
  std::uint64_t requests = 0;  // answers that were right
  std::uint64_t errors = 0;    // all others, lost connections included
  std::string first_error;
  std::uint64_t answer_bytes = 0;  // of the bodies
  double wall_seconds = 0;
  std::vector<std::uint64_t> latency_ns;  // of each right answer, sorted
};

// From the first byte sent to the last byte read, latency includes nothing but the exchange itself.
// A connection that fails is opened again; 100 errors end the run. `requests` are sent in turn, in
// an order of each connection's own. REQUIRES: not empty.
LoadResult run_load(const LoadOptions& options, std::span<const ChatRequest> requests);

// The `percent` percentile of a sorted list in microseconds (nearest rank); 0 of an empty one.
double percentile_us(std::span<const std::uint64_t> sorted_ns, double percent);

// One JSON object: requests, errors, first_error, wall_s, p50_us, p90_us, p99_us, ...
std::string to_json(const LoadResult& result);

}  // namespace pd::bench
