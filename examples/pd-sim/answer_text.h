#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pd::sim {

// What the engine knows of a prompt. Text counts one token per 4 bytes, rounded up; token ids count
// as they are.
struct Prompt {
  std::uint64_t hash = 0;  // of the whole prompt; the same on every pod
  std::uint32_t tokens = 0;
  std::vector<std::uint64_t> block_hashes;  // chained, one per full block
};

Prompt prompt_of_text(std::string_view text, std::uint32_t block_size);
Prompt prompt_of_token_ids(std::span<const std::int64_t> ids, std::uint32_t block_size);

// The seed of choice `index` (n > 1): choice 0 answers with the prompt's own text.
std::uint64_t choice_seed(std::uint64_t prompt_hash, std::uint32_t index);

// Appends token `index` of the answer as the inside of a JSON string: a word that depends on the
// seed and the index only. Some tokens hold multi-byte UTF-8 or JSON escapes, every eighth one
// (the first included) names the seed, so that no two prompts answer alike.
void append_answer_token(std::string& json, std::uint64_t seed, std::uint32_t index);

// Appends `text` as the inside of a JSON string.
void append_json_escaped(std::string& json, std::string_view text);

// Appends the lowest `digits` hex digits of `value`.
void append_hex(std::string& out, std::uint64_t value, int digits);

}  // namespace pd::sim
