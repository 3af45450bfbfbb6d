#include "host/http/message_parser.h"

#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <string>

#include "tests/unit/http/message_corpus.h"
#include "tests/unit/http/piecewise_feed.h"

namespace pd::http {
namespace {

std::vector<std::size_t> every_offset(std::size_t size) {
  std::vector<std::size_t> cuts;
  for (std::size_t i = 1; i < size; ++i) cuts.push_back(i);
  return cuts;
}

TEST(RequestParserTest, ReadsHeadThenBodyThenLeavesTheNextRequest) {
  std::string wire =
      "POST /v1/completions?a=b?c HTTP/1.1\r\nHost: gw\r\ncontent-type:  text/x \t\r\n"
      "Content-Length: 5\r\n\r\nhelloGET / HTTP/1.1\r\n";
  RequestParser parser;
  std::span<char> data(wire);

  const FeedResult head = parser.feed(data);
  ASSERT_EQ(head.state, ParseState::kNeedBody);
  EXPECT_EQ(wire.substr(head.consumed, 5), "hello");
  EXPECT_TRUE(head.payload.empty());
  EXPECT_EQ(parser.head().method, "POST");
  EXPECT_EQ(parser.head().path, "/v1/completions");
  EXPECT_EQ(parser.head().query, "a=b?c");
  EXPECT_EQ(parser.head().version, 11);
  EXPECT_EQ(parser.head().framing, Framing::kLength);
  EXPECT_EQ(parser.head().content_length, 5U);
  EXPECT_TRUE(parser.head().keep_alive);
  EXPECT_FALSE(parser.head().expect_continue);
  EXPECT_EQ(parser.head().find("Content-Type"), "text/x");
  EXPECT_EQ(parser.head().find("Content-Typ"), std::nullopt);
  EXPECT_EQ(parser.head().method.data(), wire.data()) << "views point into the caller's buffer";

  const FeedResult body = parser.feed(data.subspan(head.consumed));
  EXPECT_EQ(body.state, ParseState::kDone);
  EXPECT_EQ(body.consumed, 5U);
  EXPECT_EQ(std::string(body.payload.begin(), body.payload.end()), "hello");
  const FeedResult after = parser.feed(data.subspan(head.consumed + body.consumed));
  EXPECT_EQ(after.state, ParseState::kDone);
  EXPECT_EQ(after.consumed, 0U);
}

TEST(RequestParserTest, PipelinedRequestsComeOneByOne) {
  std::string wire =
      "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n"
      "POST /2 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"
      "POST /3 HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"
      "GET /4 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
  RequestParser parser;
  std::string targets;
  std::string payloads;
  std::span<char> rest(wire);
  while (!rest.empty()) {
    parser.reset();
    FeedResult fed = parser.feed(rest);
    ASSERT_NE(fed.state, ParseState::kError) << fed.error->text;
    ASSERT_NE(fed.state, ParseState::kNeedHead);
    targets += parser.head().target;
    rest = rest.subspan(fed.consumed);
    if (fed.state != ParseState::kNeedBody) continue;
    fed = parser.feed(rest);
    ASSERT_EQ(fed.state, ParseState::kDone);
    payloads.append(fed.payload.data(), fed.payload.size());
    rest = rest.subspan(fed.consumed);
  }
  EXPECT_EQ(targets, "/1/2/3/4");
  EXPECT_EQ(payloads, "hi");
  EXPECT_FALSE(parser.head().keep_alive);
}

TEST(RequestParserTest, PayloadOfManyChunksIsOnePieceAtTheFront) {
  std::string body = "1\r\na\r\n2\r\nbc\r\n3\r\ndef\r\n4\r\ngh";
  RequestParser parser;
  std::string head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  ASSERT_EQ(parser.feed(head).state, ParseState::kNeedBody);
  const FeedResult fed = parser.feed(body);
  EXPECT_EQ(fed.state, ParseState::kNeedBody);
  EXPECT_EQ(fed.consumed, body.size());
  EXPECT_EQ(fed.payload.data(), body.data());
  EXPECT_EQ(std::string(fed.payload.begin(), fed.payload.end()), "abcdefgh");
}

TEST(RequestParserTest, EmptyPayloadIsNotTheEnd) {
  RequestParser parser;
  std::string head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  ASSERT_EQ(parser.feed(head).state, ParseState::kNeedBody);
  for (std::string piece : {"5", "\r\n", "", "hello", "\r", "\n0\r\n", "T: x\r\n", "\r"}) {
    EXPECT_EQ(parser.feed(piece).state, ParseState::kNeedBody) << piece;
  }
  std::string last = "\nnext";
  const FeedResult fed = parser.feed(last);
  EXPECT_EQ(fed.state, ParseState::kDone);
  EXPECT_EQ(fed.consumed, 1U);
  EXPECT_EQ(last, "\nnext") << "bytes behind the message are not touched";
}

TEST(RequestParserTest, TrailersNeverBecomeFields) {
  RequestParser parser;
  const Observed seen = feed_whole(parser,
                                   "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n"
                                   "\r\n1\r\nx\r\n0\r\nX-Auth-User: root\r\n\r\n");
  EXPECT_EQ(seen.state, ParseState::kDone);
  EXPECT_EQ(parser.head().fields.size(), 2U);
}

TEST(RequestParserTest, HeadLimitHoldsToTheByte) {
  const std::string wire = "GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(50, 'x') + "\r\n\r\n";
  ParserLimits limits = kRequestLimits;
  limits.head_bytes = wire.size();
  RequestParser fits(limits);
  EXPECT_EQ(feed_whole(fits, wire).state, ParseState::kDone);
  --limits.head_bytes;
  RequestParser tight(limits);
  const Observed seen = feed_whole(tight, wire);
  EXPECT_EQ(seen.error, "http_header_too_large");
  EXPECT_EQ(seen.status, 431);
  tight.reset();
  EXPECT_EQ(feed_whole(tight, "GET / HTTP/1.1\r\nHost: a\r\n\r\n").state, ParseState::kDone)
      << "reset() makes the parser usable again";
}

TEST(RequestParserTest, FieldLimitHoldsToTheField) {
  const auto request_with = [](std::size_t fields) {
    std::string wire = "GET / HTTP/1.1\r\nHost: a\r\n";
    for (std::size_t i = 1; i < fields; ++i) wire += "X: 1\r\n";
    return wire + "\r\n";
  };
  RequestParser parser;
  EXPECT_EQ(feed_whole(parser, request_with(kMaxFields)).state, ParseState::kDone);
  parser.reset();
  const Observed seen = feed_whole(parser, request_with(kMaxFields + 1));
  EXPECT_EQ(seen.error, "http_too_many_fields");
  EXPECT_EQ(seen.status, 431);
}

TEST(RequestParserTest, BodyLimitCountsPayloadInBothFramings) {
  ParserLimits limits = kRequestLimits;
  limits.body_bytes = 10;
  const std::string chunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string length = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ";
  const auto status_of = [&](const std::string& wire) {
    RequestParser parser(limits);
    return feed_whole(parser, wire).status;
  };
  EXPECT_EQ(status_of(length + "10\r\n\r\n0123456789"), 0);
  EXPECT_EQ(status_of(length + "11\r\n\r\n"), 413);
  EXPECT_EQ(status_of(chunked + "5\r\n01234\r\n5\r\n56789\r\n0\r\n\r\n"), 0);
  EXPECT_EQ(status_of(chunked + "5\r\n01234\r\n6\r\n"), 413);
  EXPECT_EQ(status_of(chunked + "7fffffffffffffff\r\n"), 413);
}

TEST(RequestParserTest, EofIsTypedByWhatWasMissing) {
  const auto error_of = [](std::string_view wire) {
    RequestParser parser;
    return feed_whole(parser, wire, true).error;
  };
  EXPECT_EQ(error_of(""), "http_closed_before_head");
  EXPECT_EQ(error_of("G"), "http_truncated_head");
  EXPECT_EQ(error_of("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nx"),
            "http_truncated_body");
  EXPECT_EQ(error_of("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), "");
}

TEST(ResponseParserTest, EofEndsOnlyBodiesFramedByIt) {
  struct Case {
    std::string_view wire, error, payload;
  };
  for (const Case& c : {
           Case{"HTTP/1.1 200 OK\r\n\r\nabc", "", "abc"},
           Case{"HTTP/1.1 200 OK\r\n\r\n", "", ""},
           Case{"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc", "http_truncated_body", "abc"},
           Case{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
                "http_truncated_body", "abc"},
           Case{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n",
                "http_truncated_body", "abc"},
           Case{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", "",
                "abc"},
           Case{"HTTP/1.1 200", "http_truncated_head", ""},
           Case{"HTTP/1.1 100 Continue\r\n\r\n", "http_truncated_head", ""},
           Case{"", "http_closed_before_head", ""},
       }) {
    ResponseParser parser;
    const Observed seen = feed_whole(parser, c.wire, true);
    EXPECT_EQ(seen.error, c.error) << c.wire;
    EXPECT_EQ(seen.payload, c.payload) << c.wire;
    EXPECT_EQ(seen.status, c.error.empty() ? 0 : 502) << c.wire;
  }
}

TEST(ResponseParserTest, InterimAnswersAreSkippedButNotForever) {
  const std::string interim = "HTTP/1.1 100 Continue\r\n\r\n";
  const std::string final_answer = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx";
  std::string wire;
  for (int i = 0; i < 8; ++i) wire += interim;
  ResponseParser parser;
  const Observed seen = feed_whole(parser, wire + final_answer);
  EXPECT_EQ(seen.state, ParseState::kDone);
  EXPECT_EQ(seen.payload, "x");
  EXPECT_EQ(parser.head().status, 200);
  parser.reset();
  EXPECT_EQ(feed_whole(parser, wire + interim + final_answer).error,
            "http_too_many_interim_answers");
}

TEST(ResponseParserTest, AnswersWithoutBody) {
  const std::string fields = "Content-Length: 5\r\n\r\n";
  for (const std::string start : {"HTTP/1.1 204 No Content\r\n", "HTTP/1.1 304 Not Modified\r\n"}) {
    ResponseParser parser;
    const Observed seen = feed_whole(parser, start + fields + "extra");
    EXPECT_EQ(seen.state, ParseState::kDone) << start;
    EXPECT_EQ(seen.taken, (start + fields).size()) << start;
    EXPECT_TRUE(parser.head().keep_alive);
  }
  ResponseParser parser;
  parser.reset(true);
  EXPECT_EQ(feed_whole(parser, "HTTP/1.1 200 OK\r\n" + fields).state, ParseState::kDone);
  parser.reset();
  EXPECT_EQ(feed_whole(parser, "HTTP/1.1 200 OK\r\n" + fields).state, ParseState::kNeedBody);
}

// --- splits ------------------------------------------------------------------------------------

template <typename Parser>
void expect_same_result_for_every_split(const std::vector<std::string>& corpus) {
  for (const std::string& wire : corpus) {
    for (const bool close : {false, true}) {
      Parser parser;
      const Observed whole = feed_whole(parser, wire, close);
      parser.reset();
      EXPECT_EQ(feed_in_pieces(parser, wire, every_offset(wire.size()), close), whole) << wire;
      for (std::size_t cut = 1; cut < wire.size(); ++cut) {
        parser.reset();
        EXPECT_EQ(feed_in_pieces(parser, wire, {cut}, close), whole) << wire << " cut at " << cut;
      }
    }
  }
}

TEST(MessageSplitTest, RequestsDoNotDependOnHowTheyArrive) {
  expect_same_result_for_every_split<RequestParser>(request_corpus());
}

TEST(MessageSplitTest, ResponsesDoNotDependOnHowTheyArrive) {
  expect_same_result_for_every_split<ResponseParser>(response_corpus());
}

// --- mutation ----------------------------------------------------------------------------------

std::string mutate(std::string wire, std::mt19937& random) {
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  static const std::string spice = std::string("\r\n:; \t,0aF\x7f\xff_-#?", 16) + '\0';
  for (std::size_t edits = 1 + below(4); edits > 0 && !wire.empty(); --edits) {
    const std::size_t at = below(wire.size());
    switch (below(4)) {
      case 0:
        wire[at] = spice[below(spice.size())];
        break;
      case 1:
        wire.erase(at, 1 + below(4));
        break;
      case 2:
        wire.insert(at, 1, spice[below(spice.size())]);
        break;
      default:
        wire.insert(at, wire.substr(below(wire.size()), below(40)));
        break;
    }
  }
  return wire;
}

template <typename Parser>
void mutate_for_a_second(const std::vector<std::string>& corpus) {
  std::mt19937 random(20240607);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  Parser parser;
  int rounds = 0;
  for (; rounds < 200000 && std::chrono::steady_clock::now() < deadline; ++rounds) {
    const std::string wire = mutate(corpus[random() % corpus.size()], random);
    std::vector<std::size_t> cuts;
    for (std::size_t at = 1 + random() % 9; at < wire.size(); at += 1 + random() % 9) {
      cuts.push_back(at);
    }
    const bool close = random() % 2 == 0;
    parser.reset();
    const Observed whole = feed_whole(parser, wire, close);
    parser.reset();
    ASSERT_EQ(feed_in_pieces(parser, wire, cuts, close), whole) << wire;
  }
  EXPECT_GT(rounds, 100);
}

TEST(MessageMutationTest, RequestsNeverCrashAndNeverDependOnSplits) {
  mutate_for_a_second<RequestParser>(request_corpus());
}

TEST(MessageMutationTest, ResponsesNeverCrashAndNeverDependOnSplits) {
  mutate_for_a_second<ResponseParser>(response_corpus());
}

}  // namespace
}  // namespace pd::http
