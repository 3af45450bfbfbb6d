// One request body, read once: what steers routing, and where each top-level member stands, so that
// a hand-off can splice bytes. Views into the body; nothing of it is copied or re-serialised.
#pragma once

#include <boost/system/result.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/request/request_error.h"

namespace pd {

// The OpenAI paths that get a prefill and a decode leg.
enum class Api { kChatCompletions, kCompletions };

// Top-level keys that the gateway reads or edits. kNone: any other key.
enum class ControlKey : std::uint8_t {
  kNone,
  kModel,
  kStream,
  kStreamOptions,
  kMaxTokens,
  kMaxCompletionTokens,
  kMinTokens,
  kN,
  kBestOf,
  kUseBeamSearch,
  kStop,
  kStopTokenIds,
  kIgnoreEos,
  kPrompt,
  kMessages,
  kPriority,
  kCacheSalt,
  kKvTransferParams,
  kBootstrapHost,
  kBootstrapPort,
  kBootstrapRoom,
  kDisaggregatedParams,
  kDisaggPrefillResp,
};

// One top-level member of the body: byte offsets of `"key": value`, quotes included.
struct BodyMember {
  std::uint32_t key_begin;
  std::uint32_t value_begin;
  std::uint32_t value_end;
  ControlKey key;
};

// A piece of the prompt, as bytes of the body.
struct PromptSegment {
  enum class Kind : std::uint8_t {
    kString,   // between the quotes, still escaped
    kRaw,      // JSON text taken as it is
    kNothing,  // a message without content: it adds its separator alone
  };
  std::uint32_t begin;
  std::uint32_t end;
  Kind kind;
};

// Valid as long as the body it was parsed from stays in place.
struct RequestView {
  std::string_view body;
  Api api = Api::kChatCompletions;
  std::string model;
  bool stream = false;
  std::uint32_t choices = 1;                       // largest of n and best_of
  bool many_prompts = false;                       // a list of prompts, or a beam search
  std::optional<std::uint64_t> max_output_tokens;  // max_completion_tokens, else max_tokens
  std::int64_t priority = 0;
  std::string_view cache_salt;         // raw JSON text, or empty
  std::uint64_t prompt_token_ids = 0;  // ids in the prompt, when it is a list of them
  std::vector<BodyMember> members;     // in the order of the body
  std::uint32_t object_begin = 0;      // offset of '{'
  std::uint32_t object_end = 0;        // offset of the matching '}'
  std::vector<PromptSegment> prompt;

  // The member with this key, or nullptr.
  const BodyMember* find(ControlKey key) const;

  // True when one prefill can be handed to one decode: a single prompt and a single choice.
  bool can_hand_off() const { return choices == 1 && !many_prompts; }

  // Tokens of the prompt: as many as the client gave ids, else one for four bytes.
  std::uint64_t estimated_prompt_tokens() const;

  // The text that prefixes are computed from, where it stands in the body as it is; nothing where
  // it has to be put together.
  std::optional<std::string_view> prompt_in_place() const;

  // Appends the text that prefixes are computed from (the reference's message extraction).
  void append_prompt(std::string& out) const;
};

// Bytes that must be readable, and zero, behind a body handed to RequestReader::read.
inline constexpr std::size_t kBodyPadding = 64;

// Reads bodies. One per thread; its buffers are reused.
class RequestReader {
 public:
  RequestReader();
  ~RequestReader();
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;

  // Reads `body`, behind which kBodyPadding bytes are readable. On success `view` points into it.
  boost::system::result<void, RequestError> read(Api api, std::string_view body, RequestView& view);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Appends the text of a JSON string, given without its quotes. A lone surrogate becomes U+FFFD.
// False when an escape is malformed.
bool append_unescaped(std::string_view escaped, std::string& out);

}  // namespace pd
