#include "examples/pd-sim/vllm_request.h"

#include <algorithm>
#include <array>
#include <utility>

namespace pd::sim {
namespace {

namespace ondemand = simdjson::ondemand;

// A key that steers the engine stands in a body once. Twice means that whoever edited the body put
// a second one beside the client's.
constexpr std::array<std::string_view, 17> kControlKeys = {"model",
                                                           "prompt",
                                                           "messages",
                                                           "stream",
                                                           "stream_options",
                                                           "max_tokens",
                                                           "max_completion_tokens",
                                                           "min_tokens",
                                                           "n",
                                                           "stop",
                                                           "stop_token_ids",
                                                           "ignore_eos",
                                                           "kv_transfer_params",
                                                           "tools",
                                                           "bootstrap_host",
                                                           "bootstrap_port",
                                                           "bootstrap_room"};

constexpr std::int64_t kDefaultMaxTokens = 16;
constexpr std::int64_t kMaxChoices = 128;

// Thrown inside the reader only; read() turns it into its result.
struct BadBody {
  VllmError error;
};

[[noreturn]] void reject(std::string_view type, std::string_view where, std::string_view message) {
  const std::string place = "body." + std::string(where);
  throw BadBody{{400,
                 "1 validation error:\n  {'type': '" + std::string(type) + "', 'loc': '" + place +
                     "', 'msg': '" + std::string(message) + "'}",
                 "Bad Request", place}};
}

bool is_null(ondemand::value value) {
  return value.type() == ondemand::json_type::null;
}

bool flag(std::string_view key, ondemand::value value) {
  if (is_null(value)) return false;
  bool out = false;
  if (value.get_bool().get(out) != simdjson::SUCCESS) {
    reject("bool_type", key, "Input should be a valid boolean");
  }
  return out;
}

std::int64_t integer(std::string_view key, ondemand::value value, std::int64_t lowest) {
  std::int64_t out = 0;
  if (value.get_int64().get(out) != simdjson::SUCCESS || out < lowest) {
    reject("int_type", key,
           "Input should be a valid integer of at least " + std::to_string(lowest));
  }
  return out;
}

std::optional<std::string> text_or_nothing(ondemand::value value) {
  std::string_view out;
  if (value.get_string().get(out) != simdjson::SUCCESS) return std::nullopt;
  return std::string(out);
}

std::optional<std::int64_t> integer_or_nothing(ondemand::value value) {
  std::int64_t out = 0;
  if (value.get_int64().get(out) != simdjson::SUCCESS) return std::nullopt;
  return out;
}

bool has_content(ondemand::value value) {
  if (is_null(value)) return false;
  if (value.type() == ondemand::json_type::array) {
    ondemand::array list = value.get_array();
    return !list.is_empty().value();
  }
  return true;
}

std::vector<std::uint32_t> block_ids(ondemand::value value) {
  std::vector<std::uint32_t> ids;
  ondemand::array groups;
  if (value.get_array().get(groups) != simdjson::SUCCESS) return {};
  for (auto group : groups) {
    ondemand::array list;
    if (group.get_array().get(list) != simdjson::SUCCESS) return {};
    for (auto id : list) {
      std::uint64_t number = 0;
      if (id.get_uint64().get(number) != simdjson::SUCCESS || number > UINT32_MAX) return {};
      ids.push_back(static_cast<std::uint32_t>(number));
    }
  }
  return ids;
}

}  // namespace

std::string to_json(const VllmError& error) {
  std::string json = "{\"error\":{\"message\":\"";
  append_json_escaped(json, error.message);
  json.append("\",\"type\":\"").append(error.type).append("\",\"param\":");
  if (error.param.empty()) {
    json += "null";
  } else {
    json += '"';
    append_json_escaped(json, error.param);
    json += '"';
  }
  return json + ",\"code\":" + std::to_string(error.status) + "}}";
}

std::int64_t VllmGeneration::token_limit() const {
  if (chat && max_completion_tokens) return *max_completion_tokens;
  return max_tokens.value_or(kDefaultMaxTokens);
}

boost::system::result<VllmGeneration, VllmError> VllmRequestReader::read(
    const ReceivedRequest& request, bool chat) try {
  VllmGeneration out;
  out.chat = chat;
  text_.clear();
  tools_.clear();
  ondemand::document document =
      parser_.iterate(request.body.data(), request.body.size(), request.body_capacity);
  if (document.type() != ondemand::json_type::object) {
    reject("model_attributes_type", "", "Input should be a valid dictionary");
  }
  std::uint32_t seen = 0;
  for (auto field : document.get_object()) {
    const std::string_view key = field.unescaped_key();
    const auto known = std::find(kControlKeys.begin(), kControlKeys.end(), key);
    if (known != kControlKeys.end()) {
      const std::uint32_t bit = 1U << (known - kControlKeys.begin());
      if ((seen & bit) != 0) reject("duplicate_key", *known, "Key given twice");
      seen |= bit;
      read_field(*known, field.value(), out);
    }
  }
  if (document.current_location().error() != simdjson::OUT_OF_BOUNDS)
    reject("json_invalid", "end", "JSON decode error");
  if (chat) {
    if ((seen & (1U << 2)) == 0) reject("missing", "messages", "Field required");
    add_text_prompt(tools_.empty() ? text_ : tools_ += text_, out);
  } else if (out.prompts.empty()) {
    reject("missing", "prompt", "Field required");
  }
  return out;
} catch (const simdjson::simdjson_error& error) {
  return VllmError{400,
                   std::string("1 validation error:\n  {'type': 'json_invalid', 'loc': 'body', "
                               "'msg': 'JSON decode error', 'ctx': {'error': '") +
                       error.what() + "'}}",
                   "Bad Request", "body"};
} catch (const BadBody& bad) {
  return bad.error;
}

void VllmRequestReader::read_field(std::string_view key, Value value, VllmGeneration& out) {
  if (key == "model") {
    if (!is_null(value)) out.model = std::string_view(value.get_string());
  } else if (key == "prompt") {
    if (out.chat) return;
    read_prompt(value, out);
  } else if (key == "messages") {
    if (out.chat) read_messages(value, out);
  } else if (key == "tools") {
    if (out.chat && !is_null(value)) tools_ = std::string_view(simdjson::to_json_string(value));
  } else if (key == "kv_transfer_params") {
    if (!is_null(value)) read_kv(value, out.kv);
  } else {
    read_control(key, value, out);
  }
}

void VllmRequestReader::read_control(std::string_view key, Value value, VllmGeneration& out) {
  if (key == "stream") {
    out.stream = flag(key, value);
  } else if (key == "ignore_eos") {
    out.ignore_eos = flag(key, value);
  } else if (key == "stop" || key == "stop_token_ids") {
    out.has_stop = has_content(value) || out.has_stop;
  } else if (is_null(value)) {
    return;
  } else if (key == "stream_options") {
    out.has_stream_options = true;
    for (auto option : value.get_object()) {
      const std::string_view name = option.unescaped_key();
      if (name == "include_usage") {
        out.include_usage = flag(key, option.value());
      }
    }
  } else if (key == "n") {
    out.n = integer(key, value, 1);
    if (out.n > kMaxChoices) reject("less_than_equal", key, "n is allowed up to 128");
  } else if (key == "max_tokens") {
    out.max_tokens = integer(key, value, 1);
  } else if (key == "max_completion_tokens") {
    out.max_completion_tokens = integer(key, value, 1);
  } else if (key == "min_tokens") {
    out.min_tokens = integer(key, value, 0);
  }
}

void VllmRequestReader::read_prompt(Value value, VllmGeneration& out) {
  if (value.type() == ondemand::json_type::string) {
    return add_text_prompt(value.get_string(), out);
  }
  if (value.type() != ondemand::json_type::array) {
    reject("string_type", "prompt", "Input should be a string, a list of strings or token ids");
  }
  read_prompt_list(value.get_array(), out);
}

void VllmRequestReader::read_prompt_list(ondemand::array list, VllmGeneration& out) {
  ids_.clear();
  bool token_ids = false;
  for (auto item : list) {
    switch (item.type()) {
      case ondemand::json_type::string:
        add_text_prompt(item.get_string(), out);
        break;
      case ondemand::json_type::array:
        ids_.clear();
        read_token_ids(item.get_array());
        out.prompts.push_back(
            std::make_shared<const Prompt>(prompt_of_token_ids(ids_, block_size_)));
        break;
      default:
        token_ids = true;
        ids_.push_back(item.get_int64());
    }
  }
  if (token_ids && !out.prompts.empty()) {
    reject("list_type", "prompt", "Token ids beside other prompts");
  }
  if (token_ids) {
    out.prompts.push_back(std::make_shared<const Prompt>(prompt_of_token_ids(ids_, block_size_)));
  }
  if (out.prompts.empty()) reject("too_short", "prompt", "List should have at least 1 item");
}

void VllmRequestReader::read_token_ids(ondemand::array list) {
  for (auto id : list) ids_.push_back(id.get_int64());
}

void VllmRequestReader::read_messages(Value value, VllmGeneration& out) {
  if (value.type() != ondemand::json_type::array) {
    reject("list_type", "messages", "Input should be a valid list");
  }
  (void)out;
  for (auto message : value.get_array()) {
    if (message.type() != ondemand::json_type::object) {
      reject("dict_type", "messages", "Input should be a valid dictionary");
    }
    read_message(message.get_object());
  }
}

void VllmRequestReader::read_message(Object message) {
  // Fields in the order of the body: the same body gives the same prompt on both legs.
  for (auto field : message) {
    const std::string_view key = field.unescaped_key();
    Value value = field.value();
    if (key == "role") {
      text_.append("<|").append(std::string_view(value.get_string())).append("|>");
    } else if (key == "content") {
      read_content(value);
    } else {
      text_ += std::string_view(simdjson::to_json_string(value));
    }
  }
  text_ += '\n';
}

void VllmRequestReader::read_content(Value value) {
  if (is_null(value)) return;
  if (value.type() == ondemand::json_type::string) {
    text_ += std::string_view(value.get_string());
    return;
  }
  if (value.type() != ondemand::json_type::array) {
    reject("string_type", "messages.content", "Input should be a string or a list of parts");
  }
  for (auto part : value.get_array()) {
    for (auto field : part.get_object()) {
      const std::string_view key = field.unescaped_key();
      Value inner = field.value();
      if (key == "text") {
        text_ += std::string_view(inner.get_string());
      } else if (key != "type") {
        text_ += std::string_view(simdjson::to_json_string(inner));
      }
    }
  }
}

void VllmRequestReader::read_kv(Value value, KvTransferParams& kv) {
  if (value.type() != ondemand::json_type::object) {
    reject("dict_type", "kv_transfer_params", "Input should be a valid dictionary");
  }
  for (auto field : value.get_object()) {
    const std::string_view key = field.unescaped_key();
    Value inner = field.value();
    if (key == "do_remote_decode") {
      kv.do_remote_decode = flag(key, inner);
    } else if (key == "do_remote_prefill") {
      kv.do_remote_prefill = flag(key, inner);
    } else if (key == "remote_engine_id") {
      kv.engine_id = text_or_nothing(inner);
    } else if (key == "remote_request_id") {
      kv.request_id = text_or_nothing(inner);
    } else if (key == "remote_host") {
      kv.host = text_or_nothing(inner);
    } else if (key == "remote_port") {
      kv.port = integer_or_nothing(inner);
    } else if (key == "remote_num_tokens") {
      kv.num_tokens = integer_or_nothing(inner);
    } else if (key == "remote_prefill_cached_tokens") {
      kv.prefill_cached = integer_or_nothing(inner);
    } else if (key == "remote_block_ids") {
      kv.blocks = block_ids(inner);
    } else if (key == "tp_size" || key == "dcp_size" || key == "pp_size") {
      if (integer_or_nothing(inner)) ++kv.sizes;
    }
  }
}

void VllmRequestReader::add_text_prompt(std::string_view text, VllmGeneration& out) {
  out.prompts.push_back(std::make_shared<const Prompt>(prompt_of_text(text, block_size_)));
}

}  // namespace pd::sim
