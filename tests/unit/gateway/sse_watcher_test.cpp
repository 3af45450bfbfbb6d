#include "host/gateway/sse_watcher.h"

#include <gtest/gtest.h>

#include <ostream>
#include <random>
#include <string>
#include <vector>

namespace pd {
namespace {

struct Seen {
  std::uint64_t events = 0;
  bool done = false;
  bool error = false;
  bool finished = false;
  bool operator==(const Seen&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Seen& seen) {
  return out << seen.events << " events" << (seen.done ? " done" : "")
             << (seen.error ? " error" : "") << (seen.finished ? " finished" : "");
}

Seen seen_of(const std::vector<std::string_view>& pieces) {
  SseWatcher watcher;
  for (const auto piece : pieces) watcher.feed(piece);
  return {watcher.events(), watcher.done(), watcher.error(), watcher.finished()};
}

struct Stream {
  const char* name;
  std::string text;  // with LF
  Seen expected;
};

void PrintTo(const Stream& stream, std::ostream* out) {
  *out << stream.name;
}

std::string chunk(const std::string& content, const std::string& finish) {
  return R"(data: {"id":"chatcmpl-t1","object":"chat.completion.chunk","created":1700000000,)"
         R"("model":"m-small","choices":[{"index":0,"delta":{"content":")" +
         content + R"("},"finish_reason":)" + finish + "}]}\n\n";
}

std::vector<Stream> streams() {
  const std::string usage =
      R"(data: {"id":"c","choices":[],"usage":{"prompt_tokens":9,"total_tokens":14}})"
      "\n\n";
  const std::string error = R"(data: {"error":{"message":"CUDA out of memory","code":500}})"
                            "\n\n";
  const std::string done = "data: [DONE]\n\n";
  return {
      {"complete",
       chunk("Isar", "null") + chunk(", Inn", "\"stop\"") + usage + done,
       {4, true, false, true}},
      {"done_without_a_blank",
       chunk("a", "\"length\"") + "data:[DONE]\n\n",
       {2, true, false, true}},
      {"finish_but_no_done",
       chunk("Isar, ", "null") + chunk("Lech.", "\"stop\""),
       {2, false, false, true}},
      {"blank_in_front_of_the_reason", chunk("a", " \"tool_calls\""), {1, false, false, true}},
      {"cut", chunk("Isar, ", "null") + chunk("Lech, ", "null"), {2, false, false, false}},
      {"error_first", error + done, {2, true, true, false}},
      {"error_after_role", chunk("", "null") + error + done, {3, true, true, false}},
      {"named_error_event", chunk("a", "null") + "event: error\n" + error, {2, false, true, false}},
      {"error_with_blanks", "data:  { \"error\" : {\"code\":500}}\n\n", {1, false, true, false}},
      {"word_error_in_content",
       chunk(R"({\"error\":{\"code\":500}} is an example)", "null") + chunk("", "\"stop\"") + done,
       {3, true, false, true}},
      {"word_finish_in_content",
       chunk(R"(\"finish_reason\":\"stop\")", "null"),
       {1, false, false, false}},
      {"done_in_content", chunk("data: [DONE]", "null"), {1, false, false, false}},
      {"done_in_a_comment", ": data: [DONE]\n\n", {0, false, false, false}},
      {"done_behind_more", "data: [DONE] x\n\ndata: [DONE]x\n\n", {2, false, false, false}},
      {"done_in_the_middle_of_a_line",
       "x data: [DONE]\n\ndatax: [DONE]\n\n",
       {0, false, false, false}},
      {"indented_done", " data: [DONE]\n\n", {0, false, false, false}},
      {"line_separators_are_text",
       "data: {\"x\":\"a\xE2\x80\xA8"
       "data: [DONE]\xE2\x80\xA9\xC2\x85"
       "data: [DONE]\"}\n\n",
       {1, false, false, false}},
      {"multi_line_data",
       "event: message\nid: 1\ndata: {\"id\":\"chatcmpl-t1\",\ndata: \"choices\":[]}\n\n" + done,
       {3, true, false, false}},
      {"comments_and_fields", ": ping\n\nretry: 5\n\nid\n\n" + done, {1, true, false, false}},
      {"errors_is_not_error",
       "data: {\"errors\":0}\n\ndata: {\"error_count\":0}\n\n",
       {2, false, false, false}},
      {"null_error_is_none", "data: {\"error\":null,\"choices\":[]}\n\n", {1, false, false, false}},
      {"long_line_with_done_at_its_end",
       "data: " + std::string(1000, 'x') + "data: [DONE]\n\n",
       {1, false, false, false}},
      {"empty", "", {0, false, false, false}},
  };
}

std::string with_line_ends(const std::string& text, const std::string& end) {
  std::string out;
  for (const char c : text) out += c == '\n' ? end : std::string(1, c);
  return out;
}

class SseWatcherTest
    : public ::testing::TestWithParam<std::tuple<Stream, std::pair<const char*, const char*>>> {
 protected:
  const Stream& stream() const { return std::get<0>(GetParam()); }
  std::string text() const { return with_line_ends(stream().text, std::get<1>(GetParam()).second); }
};

TEST_P(SseWatcherTest, WholeIsRead) {
  EXPECT_EQ(seen_of({text()}), stream().expected);
}

TEST_P(SseWatcherTest, AnySplitIsTheSame) {
  const std::string bytes = text();
  for (std::size_t at = 0; at <= bytes.size(); ++at) {
    ASSERT_EQ(seen_of({bytes.substr(0, at), bytes.substr(at)}), stream().expected)
        << "split at " << at << " in front of " << bytes.substr(at, 20);
  }
}

TEST_P(SseWatcherTest, ByteByByteIsTheSame) {
  SseWatcher watcher;
  for (const char c : text()) watcher.feed({&c, 1});
  EXPECT_EQ((Seen{watcher.events(), watcher.done(), watcher.error(), watcher.finished()}),
            stream().expected);
}

TEST_P(SseWatcherTest, RandomPiecesAreTheSame) {
  const std::string bytes = text();
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    SseWatcher watcher;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t size = std::min<std::size_t>(bytes.size() - at, random() % 90);
      watcher.feed(std::string_view(bytes).substr(at, size));
      at += size;
    }
    ASSERT_EQ((Seen{watcher.events(), watcher.done(), watcher.error(), watcher.finished()}),
              stream().expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Streams, SseWatcherTest,
                         ::testing::Combine(::testing::ValuesIn(streams()),
                                            ::testing::Values(std::pair{"lf", "\n"},
                                                              std::pair{"crlf", "\r\n"},
                                                              std::pair{"cr", "\r"})),
                         [](const auto& test_case) {
                           return std::string(std::get<0>(test_case.param).name) + "_" +
                                  std::get<1>(test_case.param).first;
                         });

TEST(SseWatcherEndTest, DoneIsSeenAtTheEndOfItsLine) {
  SseWatcher watcher;
  watcher.feed("data: [DONE");
  EXPECT_FALSE(watcher.done());
  watcher.feed("]");
  watcher.feed("\n");
  EXPECT_TRUE(watcher.done());
}

TEST(SseWatcherEndTest, MegabytesWithoutALineEndAreHarmless) {
  SseWatcher watcher;
  const std::string piece(1 << 16, 'd');
  for (int i = 0; i < 100; ++i) watcher.feed(piece);
  watcher.feed("\ndata: [DONE]\r");
  EXPECT_TRUE(watcher.done());
  EXPECT_EQ(watcher.events(), 1u);
}

}  // namespace
}  // namespace pd
