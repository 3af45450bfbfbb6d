#pragma once

#include <simdjson.h>

#include <boost/system/result.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "examples/pd-sim/answer_port.h"
#include "examples/pd-sim/answer_text.h"
#include "examples/pd-sim/handoff_ledger.h"

namespace pd::sim {

// An error in the shape vLLM answers with.
struct VllmError {
  int status = 400;
  std::string message;
  std::string type = "BadRequestError";
  std::string param;  // empty: null
};
std::string to_json(const VllmError& error);

// kv_transfer_params as the body gave them. A field of the wrong type counts as missing.
struct KvTransferParams {
  bool do_remote_decode = false;
  bool do_remote_prefill = false;
  std::optional<std::string> engine_id;
  std::optional<std::string> request_id;
  std::optional<std::string> host;
  std::optional<std::int64_t> port;
  std::optional<std::int64_t> num_tokens;
  std::optional<std::int64_t> prefill_cached;
  std::vector<std::uint32_t> blocks;
  unsigned sizes = 0;  // how many of tp_size, dcp_size and pp_size are there

  // Without these a real engine does not fail the request: it dies.
  bool kills_engine() const { return !engine_id || !request_id || blocks.empty(); }
  bool complete() const { return host && port && num_tokens && sizes == 3; }
};

struct VllmGeneration {
  bool chat = false;
  std::string model;
  bool stream = false;
  bool has_stream_options = false;
  bool include_usage = false;
  std::int64_t n = 1;
  std::optional<std::int64_t> max_tokens;
  std::optional<std::int64_t> max_completion_tokens;
  std::int64_t min_tokens = 0;
  bool has_stop = false;  // a non-empty stop or stop_token_ids
  bool ignore_eos = false;
  KvTransferParams kv;
  std::vector<std::shared_ptr<const Prompt>> prompts;

  std::int64_t token_limit() const;
};

// Reads the bodies of /v1/completions and /v1/chat/completions in one pass. Keeps its buffers
// between requests: one per pod.
class VllmRequestReader {
 public:
  explicit VllmRequestReader(std::uint32_t block_size) : block_size_(block_size) {}
  boost::system::result<VllmGeneration, VllmError> read(const ReceivedRequest& request, bool chat);

 private:
  using Value = simdjson::ondemand::value;
  using Object = simdjson::ondemand::object;

  void read_field(std::string_view key, Value value, VllmGeneration& out);
  void read_control(std::string_view key, Value value, VllmGeneration& out);
  void read_prompt(Value value, VllmGeneration& out);
  void read_prompt_list(simdjson::ondemand::array list, VllmGeneration& out);
  void read_token_ids(simdjson::ondemand::array list);
  void read_messages(Value value, VllmGeneration& out);
  void read_message(Object message);
  void read_content(Value value);
  void read_kv(Value value, KvTransferParams& kv);
  void add_text_prompt(std::string_view text, VllmGeneration& out);

  std::uint32_t block_size_;
  simdjson::ondemand::parser parser_;
  std::string text_;  // the chat prompt in the making
  std::string tools_;
  std::vector<std::int64_t> ids_;
};

}  // namespace pd::sim
