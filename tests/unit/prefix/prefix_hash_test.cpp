#include "framework/prefix/prefix_hash.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <boost/json.hpp>
#include <cstring>
#include <fstream>
#include <numeric>
#include <random>
#include <string>
#include <string_view>

namespace pd {
namespace {

using Hashes = std::vector<std::uint64_t>;

std::string bytes_from_to(unsigned first, unsigned last) {
  std::string bytes;
  for (unsigned value = first; value <= last; ++value) bytes.push_back(static_cast<char>(value));
  return bytes;
}

Hashes hash(std::string_view bytes, std::uint32_t block_size, std::uint64_t seed) {
  Hashes out;
  hash_prefix(std::as_bytes(std::span(bytes)), block_size, seed, out);
  return out;
}

// The formula, word for word, with the library's XXH64.
Hashes hash_with_library(std::string_view bytes, std::uint32_t block_size, std::uint64_t seed) {
  Hashes out;
  std::uint64_t parent = seed;
  for (std::size_t at = 0; at + block_size <= bytes.size(); at += block_size) {
    std::string block(sizeof(parent), '\0');
    std::memcpy(block.data(), &parent, sizeof(parent));
    block.append(bytes.substr(at, block_size));
    parent = XXH64(block.data(), block.size(), seed);
    out.push_back(parent);
  }
  return out;
}

TEST(PrefixHash, LibraryIsXxh64) {
  EXPECT_EQ(XXH64("", 0, 0), 0xef46db3751d8e999U);
  EXPECT_EQ(XXH64("a", 1, 0), 0xd24ec4f1a98c6e5bU);
  EXPECT_EQ(XXH64("abc", 3, 0), 0x44bc2cf5ad770999U);
  EXPECT_EQ(XXH64("", 0, 1), 0xd5afba1336a3be4bU);
}

TEST(PrefixHash, GoldenVectorsSeed0) {
  EXPECT_EQ(hash(bytes_from_to(1, 9), 4, 0), (Hashes{0xed2904c594e558d1, 0x7d9bd50ec50644c0}));
  EXPECT_EQ(hash(bytes_from_to(5, 13), 4, 0), (Hashes{0x8addb15085a38d0b, 0x0c950a6887963916}));
  EXPECT_EQ(hash("hello world", 4, 0), (Hashes{0x7994d67195b55e07, 0xcce9e2c8a4d4cb6b}));
  EXPECT_EQ(hash(bytes_from_to(0, 255), 128, 0), (Hashes{0x1ce8028a63accf41, 0xb9a3a5c901173df8}));
  EXPECT_EQ(hash(bytes_from_to(0, 47), 16, 0),
            (Hashes{0x9d6e14a775024997, 0xf9dada8d96072ec5, 0xc6ca0d8f8fcb1488}));
}

TEST(PrefixHash, GoldenVectorsSeed42) {
  EXPECT_EQ(hash(bytes_from_to(1, 9), 4, 42), (Hashes{0xdb3e9158860d93dc, 0xf6e7eaf2dd5b1bcf}));
  EXPECT_EQ(hash(bytes_from_to(5, 13), 4, 42), (Hashes{0x841750913b3a67c8, 0xc5390991f5a33e0f}));
  EXPECT_EQ(hash("hello world", 4, 42), (Hashes{0x4fa1534a808a9d24, 0x3964bc2155b5ff89}));
  EXPECT_EQ(hash(bytes_from_to(0, 255), 128, 42), (Hashes{0x28d263608d4fd4a7, 0x186d761c96011b2f}));
  EXPECT_EQ(hash(bytes_from_to(0, 47), 16, 42),
            (Hashes{0xa954dd7e077b3ca4, 0x1c8320a0b4c70807, 0xa303175cb7522120}));
}

TEST(PrefixHash, ReferenceVectors) {
  std::ifstream file(PD_PREFIX_TEST_DATA "/reference_hashes.jsonl");
  std::size_t vectors = 0;
  for (std::string line; std::getline(file, line); ++vectors) {
    const boost::json::object vector = boost::json::parse(line).as_object();
    const std::string hex(vector.at("bytes").as_string());
    std::string bytes;
    for (std::size_t i = 0; i < hex.size(); i += 2) {
      bytes.push_back(static_cast<char>(std::stoul(hex.substr(i, 2), nullptr, 16)));
    }
    Hashes expected;
    for (const boost::json::value& text : vector.at("hashes").as_array()) {
      expected.push_back(std::stoull(std::string(text.as_string()), nullptr, 16));
    }
    const auto seed = std::stoull(std::string(vector.at("seed").as_string()));
    const auto block_size = static_cast<std::uint32_t>(vector.at("block_size").to_number<int>());
    EXPECT_EQ(hash(bytes, block_size, seed), expected) << line;
  }
  EXPECT_EQ(vectors, 50U);
}

TEST(PrefixHash, EveryBlockSizeAgreesWithTheLibrary) {
  std::mt19937_64 random(20260801);
  std::string bytes(2000, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  for (std::uint32_t block_size = 1; block_size <= 300; ++block_size) {
    const std::uint64_t seed = random();
    // An odd start: blocks need not be aligned.
    const std::string_view part = std::string_view(bytes).substr(block_size % 9);
    EXPECT_EQ(hash(part, block_size, seed), hash_with_library(part, block_size, seed))
        << "block size " << block_size << ", seed " << seed;
  }
}

TEST(PrefixHash, Row11_SameBytesGiveSameHashes) {
  EXPECT_EQ(hash(bytes_from_to(1, 8), 4, 5), hash(bytes_from_to(1, 8), 4, 5));
  EXPECT_EQ(hash(bytes_from_to(1, 8), 4, 5).size(), 2U);
}

TEST(PrefixHash, Row12_LastByteChangesOnlyTheLastHash) {
  const Hashes one = hash({"\1\2\3\4\5\6\7\10", 8}, 4, 5);
  const Hashes other = hash({"\1\2\3\4\5\6\7\11", 8}, 4, 5);
  EXPECT_EQ(one[0], other[0]);
  EXPECT_NE(one[1], other[1]);
}

TEST(PrefixHash, Row13_CommonFirstBlockGivesEqualFirstHash) {
  const Hashes one = hash({"\1\2\3\4\11\12\13\14", 8}, 4, 5);
  const Hashes other = hash(bytes_from_to(1, 8), 4, 5);
  EXPECT_EQ(one[0], other[0]);
  EXPECT_NE(one[1], other[1]);
}

TEST(PrefixHash, Row14_FirstByteChangesAllHashes) {
  const Hashes one = hash({"\0\2\3\4\5\6\7\10", 8}, 4, 5);
  const Hashes other = hash({"\1\2\3\4\5\6\7\10", 8}, 4, 5);
  EXPECT_NE(one[0], other[0]);
  EXPECT_NE(one[1], other[1]);
}

TEST(PrefixHash, ReplacesWhatWasInTheVector) {
  Hashes out{1, 2, 3, 4, 5};
  hash_prefix(std::as_bytes(std::span(std::string_view("hello world"))), 4, 0, out);
  EXPECT_EQ(out, (Hashes{0x7994d67195b55e07, 0xcce9e2c8a4d4cb6b}));
  hash_prefix({}, 4, 0, out);
  EXPECT_TRUE(out.empty());
}

TEST(PrefixHash, ShorterThanABlockGivesNothing) {
  EXPECT_TRUE(hash("abc", 4, 0).empty());
  EXPECT_TRUE(hash("", 4, 0).empty());
  EXPECT_TRUE(hash("abc", 0, 0).empty());
}

}  // namespace
}  // namespace pd
