// vLLM: the prefill answers with kv_transfer_params, and decode pulls the blocks that they name.
// Two connectors that differ in one point: with nixl the engine says where its blocks are, with
// shfs the prefill pod's address always does.
#include <fmt/format.h>
#include <simdjson.h>

#include "host/engines/engine.h"

namespace pd {
namespace {

namespace od = simdjson::ondemand;

constexpr std::string_view kPrefillParameters =
    R"({"do_remote_decode":true,"do_remote_prefill":false,"remote_engine_id":null,)"
    R"("remote_block_ids":null,"remote_host":null,"remote_port":null})";

// What must hold of kv_transfer_params before decode may see them, and where the host stands.
struct ParameterCheck {
  bool engine_id = false;
  bool block_ids = false;
  bool request_id = false;
  bool host_seen = false;
  bool host_null = false;
  std::string_view host_value;  // raw JSON text within the object

  std::string_view first_missing() const {
    if (!engine_id) return "remote_engine_id";
    if (!block_ids) return "remote_block_ids";
    if (!request_id) return "remote_request_id";
    return {};
  }
};

bool is_filled_string(od::value& value) {
  std::string_view text;
  return value.get_string().get(text) == simdjson::SUCCESS && !text.empty();
}

// Block ids come flat or one list per layer group; at least one id must be there.
bool has_blocks(od::value& value) {
  od::array list;
  if (value.get_array().get(list) != simdjson::SUCCESS) return false;
  for (auto item : list) {
    od::value element;
    if (std::move(item).get(element) != simdjson::SUCCESS) return false;
    od::array inner;
    if (element.get_array().get(inner) != simdjson::SUCCESS) return true;
    for (auto id : inner) {
      if (id.error() == simdjson::SUCCESS) return true;
    }
  }
  return false;
}

std::string_view trimmed(std::string_view token) {
  while (!token.empty() && token.find_last_of(" \t\r\n") == token.size() - 1)
    token.remove_suffix(1);
  return token;
}

bool check_parameters(od::object& object, ParameterCheck& check) {
  for (auto item : object) {
    od::field field;
    if (std::move(item).get(field) != simdjson::SUCCESS) return false;
    const auto key = field.key();
    od::value value = field.value();
    if (key == "remote_engine_id") {
      check.engine_id = is_filled_string(value);
    } else if (key == "remote_block_ids") {
      check.block_ids = has_blocks(value);
    } else if (key == "remote_request_id") {
      check.request_id = is_filled_string(value);
    } else if (key == "remote_host") {
      check.host_seen = true;
      check.host_value = trimmed(value.raw_json_token());
      check.host_null = check.host_value == "null";
    }
  }
  return true;
}

class Vllm final : public Engine {
 public:
  Vllm(std::string_view connector, bool always_set_host)
      : connector_(connector), always_set_host_(always_set_host) {}

  std::string_view handoff_name() const override { return connector_; }

  BodyPieces prefill_body(const RequestView& view) const override {
    BodyEditor editor(view);
    editor.set(ControlKey::kMaxTokens, R"("max_tokens":)", "1");
    if (view.api == Api::kChatCompletions) {
      editor.set(ControlKey::kMaxCompletionTokens, R"("max_completion_tokens":)", "1");
    } else {
      editor.replace(ControlKey::kMaxCompletionTokens, "1");
    }
    editor.set(ControlKey::kStream, R"("stream":)", "false");
    editor.remove(ControlKey::kStreamOptions);
    editor.remove(ControlKey::kMinTokens);
    editor.replace(ControlKey::kN, "1");
    editor.remove(ControlKey::kStop);
    editor.remove(ControlKey::kStopTokenIds);
    editor.set(ControlKey::kIgnoreEos, R"("ignore_eos":)", "true");
    editor.set(ControlKey::kKvTransferParams, R"("kv_transfer_params":)", kPrefillParameters);
    return editor.pieces();
  }

  boost::system::result<Handoff, HandoffFault> read_prefill_answer(
      std::string_view answer, const Pod& prefill) const override {
    static thread_local od::parser parser;
    od::document document;
    od::object top;
    if (parser.iterate(answer.data(), answer.size(), answer.size() + kBodyPadding).get(document) !=
            simdjson::SUCCESS ||
        document.get_object().get(top) != simdjson::SUCCESS) {
      return HandoffFault{true, "the answer is not a JSON object"};
    }
    std::string_view parameters;
    ParameterCheck check;
    for (auto item : top) {
      od::field field;
      if (std::move(item).get(field) != simdjson::SUCCESS) {
        return HandoffFault{true, "the answer is broken JSON"};
      }
      const auto key = field.key();
      od::value value = field.value();
      if (key == "error" && !is_null(value)) {
        return HandoffFault{true, fmt::format("the answer is an error: {}", text_of(value))};
      }
      if (key != "kv_transfer_params") continue;
      od::object object;
      if (value.get_object().get(object) != simdjson::SUCCESS) continue;  // null in a plain answer
      if (!check_parameters(object, check) ||
          object.raw_json().get(parameters) != simdjson::SUCCESS) {
        return HandoffFault{true, "kv_transfer_params is broken JSON"};
      }
    }
    if (parameters.empty()) return HandoffFault{false, "the answer has no kv_transfer_params"};
    if (const auto missing = check.first_missing(); !missing.empty()) {
      return HandoffFault{false, fmt::format("kv_transfer_params lacks {}", missing)};
    }
    return Handoff{with_host(parameters, check, prefill.spec.host)};
  }

  BodyPieces decode_body(const RequestView& view, const Handoff& handoff) const override {
    BodyEditor editor(view);
    if (!handoff.parameters.empty()) {
      editor.set(ControlKey::kKvTransferParams, R"("kv_transfer_params":)", handoff.parameters);
    }
    return editor.pieces();
  }

 private:
  // The beginning of a value's JSON text, for people.
  static std::string_view text_of(od::value& value) {
    const std::string_view text = value.raw_json_token();
    od::object object;
    std::string_view whole;
    const bool is_object = value.get_object().get(object) == simdjson::SUCCESS &&
                           object.raw_json().get(whole) == simdjson::SUCCESS;
    return (is_object ? whole : text).substr(0, 300);
  }

  static bool is_null(od::value& value) { return trimmed(value.raw_json_token()) == "null"; }

  std::string with_host(std::string_view parameters, const ParameterCheck& check,
                        const std::string& host) const {
    if (check.host_seen && !check.host_null && !always_set_host_) return std::string(parameters);
    if (!check.host_seen)
      return fmt::format(R"({{"remote_host":"{}",{})", host, parameters.substr(1));
    const auto at = static_cast<std::size_t>(check.host_value.data() - parameters.data());
    return fmt::format(R"({}"{}"{})", parameters.substr(0, at), host,
                       parameters.substr(at + check.host_value.size()));
  }

  const std::string_view connector_;
  const bool always_set_host_;
};

}  // namespace

const Engine* find_engine(std::string_view engine, std::string_view connector) {
  static const Vllm kNixl("nixl", false);
  static const Vllm kShfs("shfs", true);
  if (engine != "vllm") return nullptr;
  if (connector == kNixl.handoff_name()) return &kNixl;
  if (connector == kShfs.handoff_name()) return &kShfs;
  return nullptr;
}

}  // namespace pd
