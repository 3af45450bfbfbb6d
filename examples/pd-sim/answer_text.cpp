#include "examples/pd-sim/answer_text.h"

#include <xxhash.h>

#include <array>

namespace pd::sim {
namespace {

constexpr std::uint64_t kIdSeed = 0x1d5;  // keeps token ids apart from equal bytes of text
constexpr std::size_t kBytesPerToken = 4;
constexpr std::uint32_t kSeedTokenEvery = 8;

// Written as they stand inside a JSON string.
constexpr std::array<std::string_view, 32> kWords = {" river",
                                                     " stone",
                                                     " window",
                                                     " paper",
                                                     " garden",
                                                     " na\xc3\xafve",
                                                     " morning",
                                                     " bridge",
                                                     "\\n",
                                                     " letter",
                                                     " salt",
                                                     " \\\"so\\\"",
                                                     " winter",
                                                     " engine",
                                                     " \xe6\xbc\xa2\xe5\xad\x97",
                                                     " harbour",
                                                     " copper",
                                                     " dust",
                                                     " \xf0\x9f\x99\x82",
                                                     " north",
                                                     " candle",
                                                     " field",
                                                     " a\\\\b",
                                                     " thread",
                                                     " cloud",
                                                     "\\t",
                                                     " mirror",
                                                     " \xe2\x82\xac",
                                                     " apple",
                                                     " \\u00e9t\\u00e9",
                                                     " lamp",
                                                     " road"};

std::uint64_t mix(std::uint64_t value) {
  value ^= value >> 33;
  value *= 0xff51afd7ed558ccdULL;
  value ^= value >> 33;
  value *= 0xc4ceb9fe1a85ec53ULL;
  return value ^ (value >> 33);
}

Prompt prompt_of_bytes(const char* data, std::size_t size, std::size_t token_bytes,
                       std::uint32_t block_size, std::uint64_t seed) {
  Prompt prompt;
  prompt.hash = XXH3_64bits_withSeed(data, size, seed);
  prompt.tokens = static_cast<std::uint32_t>((size + token_bytes - 1) / token_bytes);
  const std::size_t block_bytes = block_size * token_bytes;
  prompt.block_hashes.reserve(size / block_bytes);
  std::uint64_t chain = seed;
  for (std::size_t at = 0; at + block_bytes <= size; at += block_bytes) {
    chain = XXH3_64bits_withSeed(data + at, block_bytes, chain);
    prompt.block_hashes.push_back(chain);
  }
  return prompt;
}

}  // namespace

Prompt prompt_of_text(std::string_view text, std::uint32_t block_size) {
  return prompt_of_bytes(text.data(), text.size(), kBytesPerToken, block_size, 0);
}

Prompt prompt_of_token_ids(std::span<const std::int64_t> ids, std::uint32_t block_size) {
  return prompt_of_bytes(reinterpret_cast<const char*>(ids.data()), ids.size_bytes(),
                         sizeof(std::int64_t), block_size, kIdSeed);
}

std::uint64_t choice_seed(std::uint64_t prompt_hash, std::uint32_t index) {
  return index == 0 ? prompt_hash : mix(prompt_hash + index);
}

void append_answer_token(std::string& json, std::uint64_t seed, std::uint32_t index) {
  if (index % kSeedTokenEvery == 0) {
    json += " #";
    append_hex(json, seed >> 32, 8);
    return;
  }
  json += kWords[mix(seed + index) % kWords.size()];
}

void append_json_escaped(std::string& json, std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      json += '\\';
      json += c;
    } else if (c == '\n') {
      json += "\\n";
    } else if (byte < 0x20) {
      json += "\\u";
      append_hex(json, byte, 4);
    } else {
      json += c;
    }
  }
}

void append_hex(std::string& out, std::uint64_t value, int digits) {
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) {
    out += "0123456789abcdef"[(value >> shift) & 15];
  }
}

}  // namespace pd::sim
