#include "host/http/body_reader.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace pd::http {
namespace {

struct Decoded {
  std::string payload;
  std::string rest;   // bytes not consumed
  std::string fault;  // stable code, empty if none
  bool done = false;

  bool operator==(const Decoded&) const = default;
};

// Decodes `wire` in two pieces; a cut at 0 or the end is one piece.
Decoded decode(const std::string& wire, std::size_t cut, const ParserLimits& limits) {
  ChunkDecoder decoder;
  Decoded result;
  result.rest = wire;
  std::string pieces[] = {wire.substr(0, cut), wire.substr(cut)};
  for (std::string& piece : pieces) {
    if (result.done || !result.fault.empty()) break;
    const ChunkDecoder::Outcome out = decoder.decode(piece, limits);
    result.payload += piece.substr(0, out.payload);
    result.rest.erase(0, out.consumed);
    result.done = out.done;
    if (out.fault) result.fault = code_name(*out.fault);
  }
  return result;
}

Decoded decode_at_every_split(const std::string& wire, const ParserLimits& limits) {
  Decoded whole = decode(wire, 0, limits);
  for (std::size_t cut = 1; cut <= wire.size(); ++cut) {
    EXPECT_EQ(decode(wire, cut, limits), whole) << wire << " cut at " << cut;
  }
  return whole;
}

TEST(ChunkDecoderTest, GoodBodies) {
  struct Case {
    std::string wire, payload, rest;
  };
  for (const Case& c : {
           Case{"0\r\n\r\n", "", ""},
           Case{"5\r\nhello\r\n0\r\n\r\nnext", "hello", "next"},
           Case{"000a\r\n0123456789\r\nA\r\nabcdefghij\r\n000\r\n\r\n", "0123456789abcdefghij", ""},
           Case{"3\r\n\r\n0\r\n0\r\n\r\n0", "\r\n0", "0"},
           Case{"1;x\r\na\r\n1;x=y\r\nb\r\n1 ; x=\"a\\\"b\"\r\nc\r\n0;z\r\n\r\n", "abc", ""},
           Case{"1\t\r\na\r\n0 \r\n\r\n", "a", ""},
           Case{"0\r\nX-A: b\r\nX-C:\r\n\r\n", "", ""},
           Case{std::string("2\r\n\0\xff\r\n0\r\n\r\n", 12), std::string("\0\xff", 2), ""},
       }) {
    const Decoded decoded = decode_at_every_split(c.wire, kRequestLimits);
    EXPECT_TRUE(decoded.done) << c.wire;
    EXPECT_EQ(decoded.fault, "") << c.wire;
    EXPECT_EQ(decoded.payload, c.payload) << c.wire;
    EXPECT_EQ(decoded.rest, c.rest) << c.wire;
  }
}

TEST(ChunkDecoderTest, FaultyBodies) {
  struct Case {
    std::string wire, code;
  };
  for (const Case& c : {
           Case{"\r\n", "http_bad_chunk_size"},
           Case{"g\r\n", "http_bad_chunk_size"},
           Case{"-1\r\n", "http_bad_chunk_size"},
           Case{"0x5\r\n", "http_bad_chunk_size"},
           Case{" 5\r\n", "http_bad_chunk_size"},
           Case{"5\nhello", "http_bad_chunk_size"},
           Case{"5\r\r\n", "http_bad_chunk_size"},
           Case{"5 5\r\n", "http_bad_chunk_size"},
           Case{"00000000000000005\r\n", "http_bad_chunk_size"},
           Case{"10000000000000005\r\n", "http_bad_chunk_size"},
           Case{"ffffffffffffffff\r\n", "http_bad_chunk_size"},
           Case{"5;a\nhello", "http_bad_chunk_extension"},
           Case{std::string("5;\0\r\n", 5), "http_bad_chunk_extension"},
           Case{"5\r\nhelloX", "http_bad_chunk_end"},
           Case{"5\r\nhello\n", "http_bad_chunk_end"},
           Case{"5\r\nhello\rX", "http_bad_chunk_end"},
           Case{"5\r\nhello0\r\n\r\n", "http_bad_chunk_end"},
           Case{"0\r\nX", ""},
           Case{"0\r\n X: folded\r\n", "http_bad_trailer"},
           Case{"0\r\nGET / HTTP/1.1\r\n", "http_bad_trailer"},
           Case{"0\r\nX: a\nY: b", "http_bad_trailer"},
           Case{"0\r\n\rX", "http_bad_trailer"},
           Case{"0\r\n\n", "http_bad_trailer"},
       }) {
    const Decoded decoded = decode_at_every_split(c.wire, kRequestLimits);
    EXPECT_FALSE(decoded.done) << c.wire;
    EXPECT_EQ(decoded.fault, c.code) << c.wire;
  }
}

TEST(ChunkDecoderTest, LimitsHoldToTheByte) {
  ParserLimits limits = kRequestLimits;
  limits.body_bytes = 4;
  limits.chunks = 2;
  limits.chunk_extension_bytes = 6;
  limits.trailer_bytes = 6;
  struct Case {
    std::string wire, code;
  };
  for (const Case& c : {
           Case{"2\r\nab\r\n2\r\ncd\r\n0\r\n\r\n", ""},
           Case{"2\r\nab\r\n3\r\ncde\r\n", "http_content_too_large"},
           Case{"7fffffffffffffff\r\n", "http_content_too_large"},
           Case{"1\r\na\r\n1\r\nb\r\n1\r\nc\r\n", "http_too_many_chunks"},
           Case{"1;ab\r\na\r\n1;ab\r\nb\r\n0\r\n\r\n", ""},
           Case{"1;ab\r\na\r\n1;abc\r\nb\r\n0\r\n\r\n", "http_bad_chunk_extension"},
           Case{"0\r\nA:\r\n\r\n", ""},
           Case{"0\r\nA:b\r\n\r\n", "http_bad_trailer"},
       }) {
    EXPECT_EQ(decode_at_every_split(c.wire, limits).fault, c.code) << c.wire;
  }
}

TEST(BodyReaderTest, LengthBodiesPassUntouched) {
  BodyReader reader;
  reader.start(Framing::kLength, 6);
  std::string first = "0\r\n";
  std::string second = "\r\nXrest";
  EXPECT_EQ(reader.read(first, kRequestLimits).payload, 3U);
  EXPECT_FALSE(reader.done());
  const ChunkDecoder::Outcome out = reader.read(second, kRequestLimits);
  EXPECT_EQ(out.payload, 3U);
  EXPECT_EQ(out.consumed, 3U);
  EXPECT_TRUE(out.done);
  EXPECT_EQ(second, "\r\nXrest");
}

TEST(BodyReaderTest, UntilCloseIsBounded) {
  ParserLimits limits = kResponseLimits;
  limits.body_bytes = 5;
  BodyReader reader;
  reader.start(Framing::kUntilClose, 0);
  std::string first = "abc";
  std::string second = "def";
  EXPECT_FALSE(reader.read(first, limits).fault);
  const ChunkDecoder::Outcome out = reader.read(second, limits);
  EXPECT_EQ(out.payload, 2U);
  EXPECT_EQ(out.fault, HttpErrorCode::kContentTooLarge);
}

}  // namespace
}  // namespace pd::http
