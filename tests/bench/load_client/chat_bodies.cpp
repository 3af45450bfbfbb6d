#include "tests/bench/load_client/chat_bodies.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <random>
#include <string_view>

#include "examples/pd-sim/answer_text.h"

namespace pd::bench {
namespace {

constexpr std::array<std::string_view, 16> kWords = {
    "the ",   "answer ", "of ",   "a ",      "model ", "is ",    "given ", "in ",
    "steps ", "with ",   "care ", "before ", "night ", "falls ", "on ",    "hills "};

// Plain ASCII words, so that a byte of prompt is a byte of JSON.
std::string words(std::size_t bytes, std::uint32_t seed) {
  std::mt19937 chance(seed);
  std::string text;
  while (text.size() < bytes) text += kWords[chance() % kWords.size()];
  text.resize(bytes);
  return text;
}

std::string body_of(const ChatBodyOptions& options, std::string_view system,
                    std::string_view user) {
  return fmt::format(
      R"({{"model":"sim","messages":[{{"role":"system","content":"{}"}},)"
      R"({{"role":"user","content":"{}"}}],"max_tokens":{},"temperature":0,"stream":{}}})",
      system, user, options.tokens, options.stream);
}

// pd-sim answers with words that follow from the hash of the prompt as its chat template renders
// it.
std::string expected_answer(std::string_view system, std::string_view user, std::uint32_t tokens) {
  const std::string prompt = fmt::format("<|system|>{}\n<|user|>{}\n", system, user);
  const std::uint64_t hash = sim::prompt_of_text(prompt, 16).hash;
  std::string answer;
  for (std::uint32_t i = 0; i < tokens; ++i) sim::append_answer_token(answer, hash, i);
  return answer;
}

}  // namespace

std::vector<ChatRequest> make_chat_requests(const ChatBodyOptions& options,
                                            const std::string& host) {
  const std::size_t size = std::max(options.body_bytes, kSmallestBody);
  const std::size_t text_bytes = size - body_of(options, {}, {}).size();
  const std::string system = words(text_bytes / 2, 1);
  std::vector<ChatRequest> requests;
  for (std::uint32_t i = 0; i < std::max<std::size_t>(options.variants, 1); ++i) {
    const std::string number = fmt::format("Question {:06}: ", i);
    const std::string user = number + words(text_bytes - system.size() - number.size(), 1000 + i);
    const std::string body = body_of(options, system, user);
    ChatRequest request;
    request.bytes = fmt::format(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n"
        "Content-Length: {}\r\n\r\n{}",
        host, body.size(), body);
    request.answer = expected_answer(system, user, options.tokens);
    request.tokens = options.tokens;
    request.stream = options.stream;
    requests.push_back(std::move(request));
  }
  return requests;
}

}  // namespace pd::bench
