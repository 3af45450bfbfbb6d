#include "host/http/head_writer.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace pd::http {
namespace {

using namespace std::string_view_literals;

TEST(HeadWriterTest, WritesARequest) {
  std::string out;
  ASSERT_TRUE(append_request_start(out, "POST", "/v1/completions?a=b", "[::1]:8000"));
  append_field(out, "Content-Type", "application/json");
  append_content_length(out, std::numeric_limits<std::uint64_t>::max());
  end_head(out);
  EXPECT_EQ(out,
            "POST /v1/completions?a=b HTTP/1.1\r\nHost: [::1]:8000\r\n"
            "Content-Type: application/json\r\nContent-Length: 18446744073709551615\r\n\r\n");
}

TEST(HeadWriterTest, WritesAResponse) {
  std::string out;
  append_response_start(out, 503);
  append_chunked(out);
  append_connection_close(out);
  end_head(out);
  EXPECT_EQ(out,
            "HTTP/1.1 503 Service Unavailable\r\nTransfer-Encoding: chunked\r\n"
            "Connection: close\r\n\r\n");
  out.clear();
  append_response_start(out, 299);
  EXPECT_EQ(out, "HTTP/1.1 299 Unknown\r\n");
}

TEST(HeadWriterTest, NothingBreaksOutOfItsLine) {
  std::string out;
  for (const std::string_view value : {"a\r\nX: y"sv, "a\nb"sv, "a\rb"sv, "a\0b"sv, "a\x7f"sv}) {
    EXPECT_FALSE(append_field(out, "X", value));
    EXPECT_FALSE(append_request_start(out, "GET", "/", value));
    EXPECT_FALSE(append_request_start(out, "GET", value, "h"));
    EXPECT_FALSE(append_request_start(out, value, "/", "h"));
    EXPECT_FALSE(append_field(out, value, "v"));
  }
  EXPECT_FALSE(append_field(out, "", "v"));
  EXPECT_FALSE(append_field(out, "X:", "v"));
  EXPECT_FALSE(append_request_start(out, "GET", "", "h"));
  EXPECT_FALSE(append_request_start(out, "GET", "/a b", "h"));
  EXPECT_FALSE(append_request_start(out, "GE T", "/", "h"));
  EXPECT_EQ(out, "");
  EXPECT_TRUE(append_field(out, "X", "tab\t\xc3\xa4"));
}

TEST(HeadWriterTest, ChunkHeads) {
  char head[kMaxChunkHead];
  const auto text = [&](std::size_t size) {
    return std::string(head, format_chunk_head(head, size));
  };
  EXPECT_EQ(text(1), "1\r\n");
  EXPECT_EQ(text(255), "ff\r\n");
  EXPECT_EQ(text(std::numeric_limits<std::size_t>::max()), "ffffffffffffffff\r\n");
  EXPECT_EQ(text(0), "") << "an empty chunk would end the body";
}

}  // namespace
}  // namespace pd::http
