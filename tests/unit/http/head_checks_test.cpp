// The acceptance rules as tables of hand-written messages, run through the whole parser.
#include "host/http/head_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/http/piecewise_feed.h"

namespace pd::http {
namespace {

using namespace std::string_literals;

struct Refusal {
  std::string wire;
  std::string code;
  int status;
  std::string in_text;  // what the text must name
};

template <typename Parser>
void expect_refusals(const std::vector<Refusal>& refusals) {
  for (const Refusal& c : refusals) {
    Parser parser;
    std::string wire = c.wire;
    const FeedResult fed = parser.feed(wire);
    ASSERT_EQ(fed.state, ParseState::kError) << c.wire;
    EXPECT_EQ(code_name(fed.error->code), c.code) << c.wire;
    EXPECT_EQ(fed.error->status, c.status) << c.wire;
    EXPECT_THAT(fed.error->text, testing::HasSubstr(c.in_text)) << c.wire;
    EXPECT_EQ(fed.consumed, 0U);
    EXPECT_EQ(parser.feed(wire).state, ParseState::kError) << "an error stays";
  }
}

// A request with these lines behind its request line and Host.
std::string post(const std::string& lines) {
  return "POST /v1/completions HTTP/1.1\r\nHost: gw\r\n" + lines + "\r\n";
}
std::string get(const std::string& target) {
  return "GET " + target + " HTTP/1.1\r\nHost: gw\r\n\r\n";
}
std::string answer(const std::string& lines) {
  return "HTTP/1.1 200 OK\r\n" + lines + "\r\n";
}

TEST(RequestRulesTest, TransferEncodingMustBeOneChunkedField) {
  const std::string te = "Transfer-Encoding: ";
  expect_refusals<RequestParser>({
      {post(te + "identity\r\n"), "http_bad_transfer_encoding", 400, "'identity'"},
      {post(te + "xchunked\r\n"), "http_bad_transfer_encoding", 400, "'xchunked'"},
      {post(te + "chunked, identity\r\n"), "http_bad_transfer_encoding", 400, "chunked, identity"},
      {post(te + "identity, chunked\r\n"), "http_bad_transfer_encoding", 400, "identity, chunked"},
      {post(te + "chunked, chunked\r\n"), "http_bad_transfer_encoding", 400, "chunked, chunked"},
      {post(te + "gzip, chunked\r\n"), "http_bad_transfer_encoding", 400, "gzip"},
      {post(te + "\"chunked\"\r\n"), "http_bad_transfer_encoding", 400, "chunked"},
      {post(te + "chunked;q=1\r\n"), "http_bad_transfer_encoding", 400, "chunked;q=1"},
      {post(te + "\r\n"), "http_bad_transfer_encoding", 400, "''"},
      {post(te + "chunked\r\n" + te + "chunked\r\n"), "http_bad_transfer_encoding", 400, "chunked"},
      {post(te + "chunked\r\n" + te + "identity\r\n"), "http_bad_transfer_encoding", 400,
       "identity"},
      {post(te + "identity\r\n" + te + "chunked\r\n"), "http_bad_transfer_encoding", 400,
       "exactly one"},
      {"POST / HTTP/1.0\r\nHost: gw\r\nTransfer-Encoding: chunked\r\n\r\n",
       "http_transfer_encoding_in_http10", 400, "HTTP/1.0"},
      {post("Transfer-Encoding : chunked\r\n"), "http_bad_field_name", 400, "Transfer-Encoding"},
      {post("Transfer-Encoding: \x0b"
            "chunked\r\n"),
       "http_bad_field_value", 400, "Transfer-Encoding"},
  });
}

TEST(RequestRulesTest, LengthAndTransferEncodingExcludeEachOther) {
  const std::string code = "http_length_and_transfer_encoding";
  expect_refusals<RequestParser>({
      {post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"), code, 400, "both"},
      {post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"), code, 400, "both"},
      {post("Transfer-Encoding: identity\r\nContent-Length: 5\r\n"), code, 400, "both"},
      {post("Content-Length: 5\r\nTransfer-Encoding: identity\r\n"), code, 400, "both"},
      {post("Content-Length: 0\r\nTransfer-Encoding: chunked\r\n"), code, 400, "both"},
  });
}

TEST(RequestRulesTest, ContentLengthMustBeOnePlainNumber) {
  const auto length = [](const std::string& value) {
    return post("Content-Length: " + value + "\r\n");
  };
  expect_refusals<RequestParser>({
      {length("5, 5"), "http_duplicate_content_length", 400, "5, 5"},
      {length("5, 6"), "http_duplicate_content_length", 400, "5, 6"},
      {length("5\r\nContent-Length: 5"), "http_duplicate_content_length", 400, "more than once"},
      {length("5\r\nContent-Length: 6"), "http_duplicate_content_length", 400, "6"},
      {length(""), "http_bad_content_length", 400, "''"},
      {length("+5"), "http_bad_content_length", 400, "+5"},
      {length("-5"), "http_bad_content_length", 400, "-5"},
      {length("0x5"), "http_bad_content_length", 400, "0x5"},
      {length("5 5"), "http_bad_content_length", 400, "5 5"},
      {length("5,"), "http_bad_content_length", 400, "5,"},
      {length("five"), "http_bad_content_length", 400, "five"},
      {length("18446744073709551616"), "http_bad_content_length", 400, "18446744073709551616"},
      {length("18446744073709551615"), "http_content_too_large", 413, "67108864"},
      {length("67108865"), "http_content_too_large", 413, "67108864 bytes"},
  });
}

TEST(RequestRulesTest, HostIsExactlyOne) {
  expect_refusals<RequestParser>({
      {"GET / HTTP/1.1\r\n\r\n", "http_missing_host", 400, "Host"},
      {"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", "http_duplicate_host", 400, "more than one"},
      {"GET / HTTP/1.1\r\nHost: a\r\nhOST: b\r\n\r\n", "http_duplicate_host", 400, "more than one"},
      {"GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", "http_duplicate_host", 400, "more than one"},
      {"GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", "http_bad_host", 400, "a, b"},
      {"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", "http_bad_host", 400, "a/b"},
      {"GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", "http_bad_host", 400, "u@a"},
      {"GET / HTTP/1.1\r\nHost: \xc3\xa4\r\n\r\n", "http_bad_host", 400, "??"},
  });
}

TEST(RequestRulesTest, TargetIsAPathOfPrintableAscii) {
  expect_refusals<RequestParser>({
      {get("http://gw/v1/models"), "http_bad_target", 400, "http://gw/v1/models"},
      {get("v1/models"), "http_bad_target", 400, "begin with '/'"},
      {get("*"), "http_bad_target", 400, "'*'"},
      {get("/a#b"), "http_bad_target", 400, "/a#b"},
      {get("/\xc3\xa4"), "http_bad_target", 400, "/??"},
      {get("/a\tb"), "http_bad_request_line", 400, "GET /a?b"},
      {get("/a\x01"), "http_bad_request_line", 400, "GET /a?"},
      {get("/a\x7f"), "http_bad_request_line", 400, "GET /a?"},
      {get("/a\0b"s), "http_bad_request_line", 400, "GET /a?b"},
      {get("/a b"), "http_bad_request_line", 400, "GET /a b"},
      {get("/" + std::string(8192, 'a')), "http_target_too_long", 414, "8193 bytes"},
      {"CONNECT gw:80 HTTP/1.1\r\nHost: gw\r\n\r\n", "http_bad_target", 400, "gw:80"},
  });
}

TEST(RequestRulesTest, LinesAndBytes) {
  expect_refusals<RequestParser>({
      {"GET / HTTP/1.1\n", "http_bare_line_feed", 400, "CR LF"},
      {"GET / HTTP/1.1\r\nHost: a\n\r\n", "http_bare_line_feed", 400, "CR LF"},
      {"GET / HTTP/1.1\r\nHost: a\r\n\n", "http_bare_line_feed", 400, "CR LF"},
      {"GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n", "http_obsolete_folding", 400, "white space"},
      {"GET / HTTP/1.1\r\n\tHost: a\r\n\r\n", "http_obsolete_folding", 400, "white space"},
      {"GET / HTTP/1.1\r\nHost: a\r\nX:\r\n \r\n\r\n", "http_obsolete_folding", 400, "white space"},
      {post("X: a\rb\r\n"), "http_bad_field_value", 400, "'X'"},
      {post("X: a\r\r\n"), "http_bad_field_value", 400, "'X'"},
      {post("X: a\0b\r\n"s), "http_bad_field_value", 400, "'X'"},
      {post("X: \x1b[0m\r\n"), "http_bad_field_value", 400, "'X'"},
      {post("X: a\x7f\r\n"), "http_bad_field_value", 400, "'X'"},
      {post("X Y: a\r\n"), "http_bad_field_name", 400, "X Y"},
      {post("X\0Y: a\r\n"s), "http_bad_field_name", 400, "X?Y"},
      {post(": a\r\n"), "http_bad_field_name", 400, "''"},
      {post("no colon\r\n"), "http_bad_field_name", 400, "no colon"},
      {"\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "http_bad_request_line", 400, "METHOD"},
      {" GET / HTTP/1.1\r\nHost: a\r\n\r\n", "http_bad_request_line", 400, "METHOD"},
      {"\x16\x03\x01", "http_tls_on_plain_port", 400, "TLS"},
  });
}

TEST(RequestRulesTest, VersionsAndRequestLines) {
  expect_refusals<RequestParser>({
      {"PRI * HTTP/2.0\r\n\r\n", "http_unsupported_version", 505, "HTTP/2.0"},
      {"GET / HTTP/1.2\r\nHost: a\r\n\r\n", "http_unsupported_version", 505, "HTTP/1.2"},
      {"GET / HTTP/0.9\r\nHost: a\r\n\r\n", "http_unsupported_version", 505, "HTTP/0.9"},
      {"GET /\r\nHost: a\r\n\r\n", "http_bad_request_line", 400, "'GET /'"},
      {"GET / http/1.1\r\nHost: a\r\n\r\n", "http_bad_request_line", 400, "http/1.1"},
      {"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", "http_bad_request_line", 400, "GET  /"},
      {"GET / HTTP/1.1 \r\nHost: a\r\n\r\n", "http_bad_request_line", 400, "HTTP/1.1 '"},
      {"G@T / HTTP/1.1\r\nHost: a\r\n\r\n", "http_bad_request_line", 400, "G@T"},
  });
}

TEST(RequestRulesTest, OtherFieldsThatSteerUs) {
  std::string many = "a";
  for (int i = 0; i < 32; ++i) many += ", a";
  expect_refusals<RequestParser>({
      {post("Expect: 200-ok\r\n"), "http_unknown_expectation", 417, "200-ok"},
      {post("Expect: 100-continue\r\nExpect: x\r\n"), "http_unknown_expectation", 417, "'x'"},
      {post("Content-Encoding: identity\r\nContent-Encoding: gzip\r\n"),
       "http_duplicate_content_encoding", 400, "Content-Encoding"},
      {post("Connection: " + many + "\r\n"), "http_bad_connection", 400, "32 tokens"},
      {post("Connection: a b\r\n"), "http_bad_connection", 400, "a b"},
  });
}

TEST(RequestRulesTest, CredentialsAreNotRepeatedInTexts) {
  RequestParser parser;
  std::string wire = post("Authorization: Bearer s3cret\x01\r\n");
  const FeedResult fed = parser.feed(wire);
  ASSERT_EQ(fed.state, ParseState::kError);
  EXPECT_THAT(fed.error->text, testing::HasSubstr("Authorization"));
  EXPECT_THAT(fed.error->text, testing::Not(testing::HasSubstr("s3cret")));
}

struct Acceptance {
  std::string wire;
  std::string head;  // head_text(), without the fields
  std::string payload;
};

template <typename Parser>
void expect_acceptances(const std::vector<Acceptance>& acceptances, ParseState state) {
  for (const Acceptance& c : acceptances) {
    Parser parser;
    const Observed seen = feed_whole(parser, c.wire);
    EXPECT_EQ(seen.state, state) << c.wire << "\n" << seen.error;
    EXPECT_EQ(seen.head.substr(0, seen.head.find('\n')), c.head) << c.wire;
    EXPECT_EQ(seen.payload, c.payload) << c.wire;
  }
}

TEST(RequestRulesTest, Accepted) {
  const std::string te = "Transfer-Encoding: ";
  const std::string base = "POST|/v1/completions|/v1/completions||11|";
  expect_acceptances<RequestParser>(
      {
          {post(""), base + "none|keep||", ""},
          {post("Content-Length: 0\r\n"), base + "length 0|keep||", ""},
          {post("Content-Length: 003\r\n") + "abc", base + "length 3|keep||", "abc"},
          {post(te + "chunked\r\n") + "1\r\na\r\n0\r\n\r\n", base + "chunked|keep||", "a"},
          {post("TRANSFER-encoding:\tCHUNKED \r\n") + "0\r\n\r\n", base + "chunked|keep||", ""},
          {post("Expect: 100-Continue\r\nContent-Length: 1\r\n") + "a",
           base + "length 1|keep|expect|", "a"},
          {post("Content-Encoding: gzip\r\n"), base + "none|keep||gzip", ""},
          {post("Connection: Close\r\n"), base + "none|close||", ""},
          {post("Connection: keep-alive\r\nConnection: x, close\r\n"), base + "none|close||", ""},
          {post("X_Y: under_score\r\nX: \xc3\xa4\r\nEmpty:\r\n"), base + "none|keep||", ""},
          {post("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nContent-Length: 1\r\n") +
               "a",
           base + "length 1|keep||", "a"},
          {"GET / HTTP/1.1\r\nHost:\r\n\r\n", "GET|/|/||11|none|keep||", ""},
          {"GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", "GET|/|/||11|none|keep||", ""},
          {"GET /? HTTP/1.0\r\n\r\n", "GET|/?|/||10|none|close||", ""},
          {"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\nExpect: x\r\n\r\n",
           "GET|/|/||10|none|keep||", ""},
          {"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "OPTIONS|*|*||11|none|keep||", ""},
          {"GET /b HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi",
           "GET|/b|/b||11|length 2|keep||", "hi"},
          {"get /%00 HTTP/1.1\r\nHost: a\r\n\r\n", "get|/%00|/%00||11|none|keep||", ""},
      },
      ParseState::kDone);
}

TEST(ResponseRulesTest, Refused) {
  expect_refusals<ResponseParser>({
      {answer("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"),
       "http_length_and_transfer_encoding", 502, "both"},
      {answer("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"),
       "http_length_and_transfer_encoding", 502, "both"},
      {answer("Content-Length: 5\r\nContent-Length: 6\r\n"), "http_duplicate_content_length", 502,
       "6"},
      {answer("Content-Length: 5, 6\r\n"), "http_duplicate_content_length", 502, "5, 6"},
      {answer("Content-Length: 5x\r\n"), "http_bad_content_length", 502, "5x"},
      {answer("Content-Length: 1099511627777\r\n"), "http_content_too_large", 502, "1099511627776"},
      {answer("Transfer-Encoding: gzip, chunked\r\n"), "http_bad_transfer_encoding", 502, "gzip"},
      {answer("Transfer-Encoding: gzip\r\n"), "http_bad_transfer_encoding", 502, "gzip"},
      {"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "http_transfer_encoding_in_http10",
       502, "HTTP/1.0"},
      {"HTTP/1.1 101 Switching Protocols\r\n\r\n", "http_unexpected_upgrade", 502, "101"},
      {"HTTP/1.1 099 x\r\n\r\n", "http_bad_status", 502, "99"},
      {"HTTP/1.1 600 x\r\n\r\n", "http_bad_status", 502, "600"},
      {"HTTP/1.1 20 x\r\n\r\n", "http_bad_status_line", 502, "HTTP/1.1 20 x"},
      {"HTTP/2.0 200 OK\r\n\r\n", "http_unsupported_version", 502, "HTTP/2.0"},
      {"ICY 200 OK\r\n\r\n", "http_bad_status_line", 502, "'I'"},
      {"HTTP/1.1 200 OK\nX: y\n\n", "http_bare_line_feed", 502, "CR LF"},
      {answer("X: a\r\n b\r\n"), "http_obsolete_folding", 502, "white space"},
      {answer("X: a\0b\r\n"s), "http_bad_field_value", 502, "'X'"},
      {answer("X: " + std::string(65536, 'a') + "\r\n"), "http_header_too_large", 502, "65536"},
  });
}

TEST(ResponseRulesTest, Accepted) {
  expect_acceptances<ResponseParser>(
      {
          {answer("Content-Length: 2\r\n") + "ab", "200|OK|11|length 2|keep", "ab"},
          {answer("Content-Length: 2, 2\r\nContent-Length: 2\r\n") + "ab",
           "200|OK|11|length 2|keep", "ab"},
          {answer("Transfer-Encoding: Chunked\r\n") + "1\r\na\r\n0\r\n\r\n",
           "200|OK|11|chunked|keep", "a"},
          {"HTTP/1.1 503 \r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
           "503||11|length 0|close", ""},
          {"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", "200|OK|10|length 1|close", "a"},
          {"HTTP/1.1 204 No Content\r\n\r\n", "204|No Content|11|none|keep", ""},
      },
      ParseState::kDone);
  expect_acceptances<ResponseParser>(
      {{answer("Connection: keep-alive\r\n") + "ab", "200|OK|11|until close|close", "ab"}},
      ParseState::kNeedBody);
}

}  // namespace
}  // namespace pd::http
