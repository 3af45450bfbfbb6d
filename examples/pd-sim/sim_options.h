#pragma once

#include <boost/system/result.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "examples/pd-sim/time_model.h"

namespace pd::sim {

enum class PodRole : std::uint8_t { kPrefill, kDecode, kCombined };
std::string_view to_string(PodRole role);

struct PodSpec {
  PodRole role = PodRole::kCombined;
  std::string name;
  std::uint16_t port = 0;  // 0: the kernel picks
  std::string model = "sim";
  std::string engine = "vllm";
};

// Reads "name=p0,role=prefill,port=0[,model=sim][,engine=vllm]"; the error says what is wrong.
boost::system::result<PodSpec, std::string> parse_pod_spec(std::string_view text);

// What every pod of the process shares.
struct SimOptions {
  std::vector<PodSpec> pods;
  std::string host = "127.0.0.1";
  std::string ports_file;
  unsigned threads = 1;
  TimeModel model;
  std::uint32_t kv_blocks = 65536;
  std::uint32_t block_size = 16;
  std::size_t recorded_requests = 16;  // per pod, for GET /sim/state?bodies=1
  bool null_remote_host = false;       // hand-offs leave remote_host to the router
};

}  // namespace pd::sim
