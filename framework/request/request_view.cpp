#include "framework/request/request_view.h"

#include <simdjson.h>

#include <array>
#include <boost/json/stream_parser.hpp>
#include <utility>

namespace pd {
namespace {

namespace od = simdjson::ondemand;
using boost::system::result;

// Deeper than any tool schema; bounds the stack that a hostile body costs.
constexpr unsigned kMostDepth = 256;

// More top-level keys than any engine knows; bounds the memory that a hostile body costs.
constexpr std::size_t kMaxMembers = 512;

constexpr std::array<std::pair<std::string_view, ControlKey>, 22> kControlKeys{{
    {"model", ControlKey::kModel},
    {"stream", ControlKey::kStream},
    {"stream_options", ControlKey::kStreamOptions},
    {"max_tokens", ControlKey::kMaxTokens},
    {"max_completion_tokens", ControlKey::kMaxCompletionTokens},
    {"min_tokens", ControlKey::kMinTokens},
    {"n", ControlKey::kN},
    {"best_of", ControlKey::kBestOf},
    {"use_beam_search", ControlKey::kUseBeamSearch},
    {"stop", ControlKey::kStop},
    {"stop_token_ids", ControlKey::kStopTokenIds},
    {"ignore_eos", ControlKey::kIgnoreEos},
    {"prompt", ControlKey::kPrompt},
    {"messages", ControlKey::kMessages},
    {"priority", ControlKey::kPriority},
    {"cache_salt", ControlKey::kCacheSalt},
    {"kv_transfer_params", ControlKey::kKvTransferParams},
    {"bootstrap_host", ControlKey::kBootstrapHost},
    {"bootstrap_port", ControlKey::kBootstrapPort},
    {"bootstrap_room", ControlKey::kBootstrapRoom},
    {"disaggregated_params", ControlKey::kDisaggregatedParams},
    {"disagg_prefill_resp", ControlKey::kDisaggPrefillResp},
}};

ControlKey control_key(std::string_view name) {
  for (const auto& [text, key] : kControlKeys) {
    if (text == name) return key;
  }
  return ControlKey::kNone;
}

std::string_view name_of(ControlKey key) {
  for (const auto& [text, candidate] : kControlKeys) {
    if (candidate == key) return text;
  }
  return {};
}

bool steers_hand_off(ControlKey key) {
  return key >= ControlKey::kKvTransferParams;
}

// Is `token` a number as JSON writes it? Of any size: what it means is the engine's business.
bool is_json_number(std::string_view token) {
  std::size_t at = 0;
  const auto digits = [&] {
    const std::size_t begin = at;
    while (at < token.size() && token[at] >= '0' && token[at] <= '9') ++at;
    return at - begin;
  };
  const auto take = [&](std::string_view any_of) {
    if (at == token.size() || any_of.find(token[at]) == std::string_view::npos) return false;
    ++at;
    return true;
  };
  take("-");
  const bool leading_zero = at < token.size() && token[at] == '0';
  const std::size_t whole = digits();
  if (whole == 0 || (leading_zero && whole > 1)) return false;
  if (take(".") && digits() == 0) return false;
  if (take("eE")) {
    take("+-");
    if (digits() == 0) return false;
  }
  return at == token.size();
}

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// Leaves the reading function with a typed error; caught in RequestReader::read, never outside.
struct Refused {
  RequestError error;
};

// What the value at `token` is, for error texts.
std::string_view describe(std::string_view token) {
  switch (token.empty() ? '\0' : token.front()) {
    case '"':
      return "a string";
    case '{':
      return "an object";
    case '[':
      return "a list";
    case 't':
    case 'f':
      return "a boolean";
    case 'n':
      return "null";
    default:
      return "a number";
  }
}

class Reading {
 public:
  Reading(Api api, std::string_view body, RequestView& view)
      : api_(api), body_(body), view_(view) {}

  void run(od::document& document) {
    document_ = &document;
    od::object object;
    if (document.get_object().get(object) != simdjson::SUCCESS) {
      const char* begin = document_begin();
      if (begin == body_.data() + body_.size() || *begin != '{') {
        throw Refused{body_is_no_object(offset_of(begin))};
      }
      throw_broken();
    }
    view_.object_begin = offset_of(document_begin());
    for (auto field : object) read_member(check(std::move(field)));
    const char* behind = nullptr;
    if (document.current_location().get(behind) == simdjson::SUCCESS) {
      throw Refused{invalid_json(offset_of(behind), "text after the object")};
    }
    finish_members();
    require_model_and_prompt();
  }

 private:
  const char* document_begin() const {
    const char* at = body_.data();
    while (at != body_.data() + body_.size() && is_space(*at)) ++at;
    return at;
  }

  std::uint32_t offset_of(const char* at) const {
    return static_cast<std::uint32_t>(at - body_.data());
  }

  template <class T>
  T check(simdjson::simdjson_result<T> value) const {
    T out;
    if (std::move(value).get(out) != simdjson::SUCCESS) throw_broken();
    return out;
  }

  // simdjson found the body broken but not where; the caller looks again with a slower parser.
  [[noreturn]] static void throw_broken() { throw Refused{}; }

  void read_member(od::field field) {
    if (view_.members.size() == kMaxMembers) throw Refused{too_many_members(kMaxMembers)};
    const char* key_text = field.key().raw();  // behind the opening quote
    const ControlKey key = key_at(key_text);
    od::value value = field.value();
    const std::string_view token = value.raw_json_token();
    const std::uint32_t begin = offset_of(token.data());
    if (key != ControlKey::kNone && view_.find(key) != nullptr) {
      throw Refused{duplicate_key(name_of(key), offset_of(key_text) - 1)};
    }
    view_.members.push_back({offset_of(key_text) - 1, begin, 0, key});
    if (key == ControlKey::kNone || !read_control(key, value, token, begin)) check_value(value);
  }

  // simdjson steps over values that nobody reads without looking into them: look, so that what is
  // no JSON is refused here and not by an engine in the middle of a hand-off.
  void check_value(od::value& value) {
    if (++depth_ > kMostDepth) {
      throw Refused{invalid_json(offset_of(value.raw_json_token().data()),
                                 "values are nested deeper than 256 levels")};
    }
    check_value_here(value);
    --depth_;
  }

  void check_value_here(od::value& value) {
    const std::string_view token = trimmed(value.raw_json_token());
    switch (check(value.type())) {
      case od::json_type::object:
        for (auto item : check(value.get_object())) {
          od::field field = check(std::move(item));
          check_string(key_bytes(field.key().raw()));
          od::value inner = field.value();
          check_value(inner);
        }
        break;
      case od::json_type::array:
        for (auto item : check(value.get_array())) {
          od::value element = check(std::move(item));
          check_value(element);
        }
        break;
      case od::json_type::string:
        check_string(token.substr(1, token.size() - 2));
        take(value);
        break;
      case od::json_type::number:
        if (!is_json_number(token)) throw_broken();
        static_cast<void>(value.get_double().error());  // takes it; its size does not matter
        break;
      case od::json_type::boolean:
        if (token != "true" && token != "false") throw_broken();
        static_cast<void>(check(value.get_bool()));
        break;
      case od::json_type::null:
        if (token != "null" || !check(value.is_null())) throw_broken();
        break;
    }
  }

  // Steps over a string that was read by its bytes: only a value that was taken makes simdjson look
  // at what comes behind it.
  void take(od::value& value) const { static_cast<void>(check(value.get_raw_json_string())); }

  // `escaped` is a string without its quotes.
  void check_string(std::string_view escaped) {
    if (escaped.find('\\') == std::string_view::npos) return;
    scratch_.clear();
    if (!append_unescaped(escaped, scratch_)) throw_broken();
  }

  // A key, from behind its opening quote to its closing one, still escaped.
  static std::string_view key_bytes(const char* text) {
    std::size_t size = 0;
    while (text[size] != '"') size += text[size] == '\\' ? 2 : 1;
    return {text, size};
  }

  // Reads a key however it is spelled: an escaped "\u006bv_..." is still that key.
  ControlKey key_at(const char* text) {
    const std::string_view raw = key_bytes(text);
    if (raw.find('\\') == std::string_view::npos) return control_key(raw);
    scratch_.clear();
    if (!append_unescaped(raw, scratch_)) {
      throw Refused{invalid_json(offset_of(text), "a key with a malformed escape")};
    }
    return control_key(scratch_);
  }

  // False when the value is left for check_value().
  bool read_control(ControlKey key, od::value& value, std::string_view token, std::uint32_t begin) {
    const bool is_null = trimmed(token) == "null";
    if (steers_hand_off(key) && !is_null) {
      throw Refused{reserved_key(name_of(key), view_.members.back().key_begin)};
    }
    if (key == ControlKey::kModel) {
      read_model(value, token, begin);
      return true;
    }
    if (is_null || steers_hand_off(key)) return false;  // clients write null for "not given"
    switch (key) {
      case ControlKey::kStream:
        view_.stream = read_bool(key, value, token, begin);
        break;
      case ControlKey::kUseBeamSearch:
        if (read_bool(key, value, token, begin)) view_.many_prompts = true;
        break;
      case ControlKey::kN:
      case ControlKey::kBestOf:
        read_choices(key, value, token, begin);
        break;
      case ControlKey::kMaxTokens:
        read_max_tokens(key, value, token, begin, false);
        break;
      case ControlKey::kMaxCompletionTokens:
        read_max_tokens(key, value, token, begin, true);
        break;
      case ControlKey::kPriority:
        view_.priority = read_integer(key, value, token, begin);
        break;
      case ControlKey::kCacheSalt:
        view_.cache_salt = trimmed(token);
        return false;
      case ControlKey::kPrompt:
        if (api_ != Api::kCompletions) return false;
        read_prompt(value, token, begin);
        break;
      case ControlKey::kMessages:
        if (api_ != Api::kChatCompletions) return false;
        read_messages(value, token, begin);
        break;
      default:
        return false;
    }
    return true;
  }

  static std::string_view trimmed(std::string_view token) {
    while (!token.empty() && is_space(token.back())) token.remove_suffix(1);
    return token;
  }

  void read_model(od::value& value, std::string_view token, std::uint32_t begin) {
    if (check(value.type()) != od::json_type::string) {
      throw Refused{wrong_type("model", begin, describe(token), "the name of a served model")};
    }
    token = trimmed(token);
    view_.model.clear();
    if (!append_unescaped(token.substr(1, token.size() - 2), view_.model)) {
      throw Refused{invalid_json(begin, "a string with a malformed escape")};
    }
    take(value);
    if (view_.model.empty()) {
      throw Refused{out_of_range("model", begin, "empty", "the name of a served model")};
    }
  }

  bool read_bool(ControlKey key, od::value& value, std::string_view token, std::uint32_t begin) {
    if (check(value.type()) != od::json_type::boolean) {
      throw Refused{wrong_type(name_of(key), begin, describe(token), "true or false")};
    }
    return check(value.get_bool());
  }

  std::int64_t read_integer(ControlKey key, od::value& value, std::string_view token,
                            std::uint32_t begin) {
    std::int64_t number = 0;
    if (check(value.type()) != od::json_type::number) {
      throw Refused{wrong_type(name_of(key), begin, describe(token), "an integer")};
    }
    if (value.get_int64().get(number) != simdjson::SUCCESS) {
      throw Refused{wrong_type(name_of(key), begin, trimmed(token).substr(0, 32), "an integer")};
    }
    return number;
  }

  void read_choices(ControlKey key, od::value& value, std::string_view token, std::uint32_t begin) {
    const std::int64_t count = read_integer(key, value, token, begin);
    if (count < 1 || count > 128) {
      throw Refused{out_of_range(name_of(key), begin, trimmed(token).substr(0, 32), "1 to 128")};
    }
    view_.choices = std::max(view_.choices, static_cast<std::uint32_t>(count));
  }

  void read_max_tokens(ControlKey key, od::value& value, std::string_view token,
                       std::uint32_t begin, bool wins) {
    const std::int64_t count = read_integer(key, value, token, begin);
    if (count < 0) {
      throw Refused{out_of_range(name_of(key), begin, trimmed(token).substr(0, 32), "0 or more")};
    }
    if (wins || !view_.max_output_tokens) {
      view_.max_output_tokens = static_cast<std::uint64_t>(count);
    }
  }

  // A prompt is a string, a list of strings, token ids, or a list of lists of token ids.
  void read_prompt(od::value& value, std::string_view token, std::uint32_t begin) {
    constexpr std::string_view kAllowed =
        "a string, a list of strings, a list of token ids, or a list of such lists";
    const auto type = check(value.type());
    if (type == od::json_type::string) {
      add_string_segment(token, begin);
      return take(value);
    }
    if (type != od::json_type::array) {
      throw Refused{wrong_type("prompt", begin, describe(token), kAllowed)};
    }
    std::size_t items = 0;
    std::uint64_t ids = 0;
    od::json_type first = od::json_type::null;
    od::array array = check(value.get_array());
    for (auto item : array) {
      od::value element = check(std::move(item));
      const auto element_type = check(element.type());
      if (items++ == 0) first = element_type;
      const std::string_view element_token = element.raw_json_token();
      const std::uint32_t at = offset_of(element_token.data());
      const bool allowed = element_type == first && (element_type == od::json_type::string ||
                                                     element_type == od::json_type::number ||
                                                     element_type == od::json_type::array);
      if (!allowed) throw Refused{wrong_type("prompt", at, describe(element_token), kAllowed)};
      if (element_type == od::json_type::string) {
        add_string_segment(element_token, at);
        take(element);
      } else {
        check_value(element);
      }
      if (element_type == od::json_type::number) ++ids;
    }
    view_.prompt_token_ids = ids;
    if (first != od::json_type::number) {
      view_.many_prompts = view_.many_prompts || items > 1;
    }
    if (first == od::json_type::number || first == od::json_type::array) {
      view_.prompt.push_back({begin, here(), PromptSegment::Kind::kRaw});
    }
  }

  void add_string_segment(std::string_view token, std::uint32_t begin) {
    view_.prompt.push_back(string_segment(token, begin));
  }

  PromptSegment string_segment(std::string_view token, std::uint32_t begin) {
    token = trimmed(token);
    check_string(token.substr(1, token.size() - 2));
    const auto end = begin + static_cast<std::uint32_t>(token.size());
    return {begin + 1, end - 1, PromptSegment::Kind::kString};
  }

  void read_messages(od::value& value, std::string_view token, std::uint32_t begin) {
    od::array messages;
    if (value.get_array().get(messages) != simdjson::SUCCESS) {
      throw Refused{wrong_type("messages", begin, describe(token), "a list of messages")};
    }
    for (auto item : messages) {
      od::value element = check(std::move(item));
      const std::string_view element_token = element.raw_json_token();
      od::object message;
      if (element.get_object().get(message) != simdjson::SUCCESS) {
        throw Refused{wrong_type("messages", offset_of(element_token.data()),
                                 describe(element_token), "an object with role and content")};
      }
      read_message(message);
    }
  }

  void read_message(od::object& message) {
    PromptSegment segment{0, 0, PromptSegment::Kind::kNothing};
    for (auto item : message) {
      od::field field = check(std::move(item));
      const bool is_content = is_key(field.key().raw(), "content");
      od::value value = field.value();
      if (is_content) {
        segment = content_segment(value);
      } else {
        check_value(value);
      }
    }
    view_.prompt.push_back(segment);
  }

  // Is the key behind this opening quote `name`, however it is spelled?
  bool is_key(const char* text, std::string_view name) {
    const std::string_view raw = key_bytes(text);
    if (raw.find('\\') == std::string_view::npos) return raw == name;
    scratch_.clear();
    if (!append_unescaped(raw, scratch_)) throw_broken();
    return scratch_ == name;
  }

  PromptSegment content_segment(od::value& content) {
    const std::string_view token = content.raw_json_token();
    const std::uint32_t begin = offset_of(token.data());
    if (check(content.type()) == od::json_type::string) {
      take(content);
      return string_segment(token, begin);
    }
    check_value(content);
    const bool nested = token.front() == '[' || token.front() == '{';
    const std::uint32_t end =
        nested ? here() : begin + static_cast<std::uint32_t>(trimmed(token).size());
    return {begin, end, PromptSegment::Kind::kRaw};
  }

  // Where the list or object that was just read to its end ends: behind its bracket, in front of
  // which the next token stands.
  std::uint32_t here() const {
    const char* next = nullptr;
    const bool more = document_->current_location().get(next) == simdjson::SUCCESS;
    return before_space(more ? offset_of(next) : static_cast<std::uint32_t>(body_.size()));
  }

  // A value ends where the comma (or the closing brace) behind it begins.
  void finish_members() {
    std::uint32_t end = static_cast<std::uint32_t>(body_.size());
    end = before_space(end) - 1;
    if (body_[end] != '}') throw_broken();
    view_.object_end = end;
    for (auto it = view_.members.rbegin(); it != view_.members.rend(); ++it) {
      it->value_end = before_space(end);
      end = before_space(it->key_begin);
      if (std::next(it) != view_.members.rend()) {
        --end;
        if (body_[end] != ',') throw_broken();
      }
    }
  }

  std::uint32_t before_space(std::uint32_t end) const {
    while (end > 0 && is_space(body_[end - 1])) --end;
    return end;
  }

  void require_model_and_prompt() const {
    if (view_.find(ControlKey::kModel) == nullptr) {
      throw Refused{missing_key("model", "name one of the served models (GET /v1/models)")};
    }
    if (api_ != Api::kChatCompletions || !view_.prompt.empty()) return;
    constexpr std::string_view kAllowed = "a list with at least one message";
    const BodyMember* messages = view_.find(ControlKey::kMessages);
    if (messages == nullptr) throw Refused{missing_key("messages", kAllowed)};
    const std::string_view found = body_[messages->value_begin] == '[' ? "empty" : "null";
    throw Refused{out_of_range("messages", messages->value_begin, found, kAllowed)};
  }

  const Api api_;
  const std::string_view body_;
  RequestView& view_;
  od::document* document_ = nullptr;
  unsigned depth_ = 0;  // of check_value()
  std::string scratch_;
};

// The place and the reason at which a strict parser gives up; used for error texts only.
RequestError locate_broken(std::string_view body) {
  boost::json::stream_parser parser;
  boost::system::error_code ec;
  const std::size_t read = parser.write_some(body.data(), body.size(), ec);
  if (!ec) {
    std::size_t at = read;
    while (at < body.size() && is_space(body[at])) ++at;
    if (at < body.size()) return invalid_json(at, "text after the object");
    parser.finish(ec);
  }
  return invalid_json(read, ec ? ec.message() : "invalid UTF-8 or a control character in a string");
}

// Empties `view` and keeps the memory of its lists.
void reset(RequestView& view, Api api, std::string_view body) {
  RequestView fresh;
  fresh.body = body;
  fresh.api = api;
  fresh.members.swap(view.members);
  fresh.members.clear();
  fresh.prompt.swap(view.prompt);
  fresh.prompt.clear();
  view = std::move(fresh);
}

}  // namespace

const BodyMember* RequestView::find(ControlKey key) const {
  for (const BodyMember& member : members) {
    if (member.key == key) return &member;
  }
  return nullptr;
}

std::uint64_t RequestView::estimated_prompt_tokens() const {
  if (prompt_token_ids > 0) return prompt_token_ids;
  std::uint64_t bytes = 0;
  for (const PromptSegment& segment : prompt) bytes += segment.end - segment.begin;
  return bytes / 4;
}

std::optional<std::string_view> RequestView::prompt_in_place() const {
  if (prompt.size() != 1) return std::nullopt;
  const PromptSegment& segment = prompt.front();
  const std::string_view text = body.substr(segment.begin, segment.end - segment.begin);
  const bool escaped =
      segment.kind == PromptSegment::Kind::kString && text.find('\\') != std::string_view::npos;
  return escaped ? std::nullopt : std::optional(text);
}

void RequestView::append_prompt(std::string& out) const {
  bool first = true;
  for (const PromptSegment& segment : prompt) {
    if (!first) out.push_back(' ');
    first = false;
    const std::string_view text = body.substr(segment.begin, segment.end - segment.begin);
    switch (segment.kind) {
      case PromptSegment::Kind::kString:
        append_unescaped(text, out);
        break;
      case PromptSegment::Kind::kRaw:
        out.append(text);
        break;
      case PromptSegment::Kind::kNothing:
        break;
    }
  }
}

struct RequestReader::State {
  od::parser parser;
};

RequestReader::RequestReader() : state_(std::make_unique<State>()) {}
RequestReader::~RequestReader() = default;

result<void, RequestError> RequestReader::read(Api api, std::string_view body, RequestView& view) {
  reset(view, api, body);
  if (body.empty()) return body_is_no_object(0);
  od::document document;
  const auto error =
      state_->parser.iterate(body.data(), body.size(), body.size() + kBodyPadding).get(document);
  if (error != simdjson::SUCCESS) return locate_broken(body);
  try {
    Reading(api, body, view).run(document);
  } catch (Refused& refused) {
    return refused.error.code.empty() ? locate_broken(body) : std::move(refused.error);
  }
  return {};
}

}  // namespace pd
