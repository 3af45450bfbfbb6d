#include "host/http/header_rules.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pd::http {
namespace {

std::string forwarded(const std::vector<Field>& fields) {
  RequestHead head;
  head.fields = fields;
  std::string out;
  append_forwarded(out, head);
  return out;
}

std::string returned(const std::vector<Field>& fields) {
  ResponseHead head;
  head.fields = fields;
  std::string out;
  append_forwarded(out, head);
  return out;
}

constexpr std::string_view kIdentity = "Accept-Encoding: identity\r\n";

TEST(HeaderRulesTest, EndToEndFieldsKeepOrderAndSpelling) {
  EXPECT_EQ(forwarded({{"content-TYPE", "application/json"},
                       {"Authorization", "Bearer k"},
                       {"traceparent", "00-1-2-01"},
                       {"Cookie", "a=b"},
                       {"Cookie", "c=d"},
                       {"x-session-id", "s"},
                       {"X-Empty", ""}}),
            "content-TYPE: application/json\r\nAuthorization: Bearer k\r\n"
            "traceparent: 00-1-2-01\r\nCookie: a=b\r\nCookie: c=d\r\nx-session-id: s\r\n"
            "X-Empty: \r\n" +
                std::string(kIdentity));
}

TEST(HeaderRulesTest, NothingHopByHopCrosses) {
  const std::vector<Field> fields{
      {"Connection", "keep-alive"},
      {"Keep-Alive", "timeout=5"},
      {"TE", "trailers"},
      {"Trailer", "X"},
      {"Transfer-Encoding", "chunked"},
      {"UPGRADE", "h2c"},
      {"HTTP2-Settings", "AAMAAA"},
      {"Proxy-Authorization", "x"},
      {"proxy-connection", "close"},
      {"Content-Length", "5"},
      {"Host", "gw"},
      {"Expect", "100-continue"},
      {"X-Request-Id", "client's"},
      {"x_auth", "a"},
      {"x-pd-prefill-pod", "p"},
      {"X-PD-Anything", "p"},
  };
  EXPECT_EQ(forwarded(fields), kIdentity);
  EXPECT_EQ(returned(fields), "");
}

TEST(HeaderRulesTest, NamesListedInConnectionStay) {
  const std::vector<Field> fields{{"X-A", "1"},
                                  {"X-B", "2"},
                                  {"Connection", "close, x-a,, "},
                                  {"X-Ab", "3"},
                                  {"connection", "X-B"}};
  EXPECT_EQ(forwarded(fields), "X-Ab: 3\r\n" + std::string(kIdentity));
  EXPECT_EQ(returned(fields), "X-Ab: 3\r\n");
}

TEST(HeaderRulesTest, AcceptEncodingBecomesIdentityOnce) {
  EXPECT_EQ(forwarded({{"Accept-Encoding", "gzip"}, {"accept-encoding", "br"}}), kIdentity);
}

TEST(HeaderRulesTest, FirstAuthorizationWins) {
  EXPECT_EQ(forwarded({{"authorization", "Bearer a"}, {"Authorization", "Bearer b"}}),
            "authorization: Bearer a\r\n" + std::string(kIdentity));
}

TEST(HeaderRulesTest, AnswersKeepTheirEncodingAndCookies) {
  EXPECT_EQ(returned({{"Content-Encoding", "gzip"},
                      {"Set-Cookie", "a=b"},
                      {"Set-Cookie", "c=d"},
                      {"Retry-After", "1"},
                      {"target-pod", "10.0.0.1"},
                      {"Prefill-Target-Pod", "10.0.0.2"}}),
            "Content-Encoding: gzip\r\nSet-Cookie: a=b\r\nSet-Cookie: c=d\r\nRetry-After: 1\r\n");
}

TEST(HeaderRulesTest, UnsafeValuesOfAHandMadeHeadAreDropped) {
  EXPECT_EQ(returned({{"X", "a\r\nY: b"}, {"Z", "c"}}), "Z: c\r\n");
}

}  // namespace
}  // namespace pd::http
