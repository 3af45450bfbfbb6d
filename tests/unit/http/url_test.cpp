#include "host/http/url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace pd::http {
namespace {

TEST(UrlTest, GoodAddresses) {
  struct Case {
    std::string_view text;
    Url url;
    std::string_view host_header;
  };
  for (const Case& c : {
           Case{"http://10.0.0.1:8000", {"10.0.0.1", 8000, false}, "10.0.0.1:8000"},
           Case{"http://pod-1.ns.svc", {"pod-1.ns.svc", 80, false}, "pod-1.ns.svc"},
           Case{"HTTP://pod_1:80/", {"pod_1", 80, false}, "pod_1"},
           Case{"http://[::1]:8000", {"::1", 8000, true}, "[::1]:8000"},
           Case{"http://[2001:db8::2]/", {"2001:db8::2", 80, true}, "[2001:db8::2]"},
           Case{"http://h:65535", {"h", 65535, false}, "h:65535"},
       }) {
    const auto url = parse_url(c.text);
    ASSERT_TRUE(url) << c.text << ": " << url.error().text;
    EXPECT_EQ(*url, c.url) << c.text;
    EXPECT_EQ(url->host_header(), c.host_header) << c.text;
  }
}

TEST(UrlTest, BadAddresses) {
  struct Case {
    std::string_view text, code, in_text;
  };
  for (const Case& c : {
           Case{"", "url_missing_scheme", "http://host:port"},
           Case{"10.0.0.1:8000", "url_missing_scheme", "10.0.0.1:8000"},
           Case{"https://pod:8000", "url_tls_unsupported", "TLS to engines is not supported yet"},
           Case{"grpc://pod:8000", "url_unknown_scheme", "grpc://pod:8000"},
           Case{"http://", "url_bad_host", "http://"},
           Case{"http://:8000", "url_bad_host", "host"},
           Case{"http://a b:1", "url_bad_host", "a b"},
           Case{"http://a\r\nb:1", "url_bad_host", "a??b"},
           Case{"http://::1:8000", "url_bad_host", "brackets"},
           Case{"http://[::1:8000", "url_bad_host", "brackets"},
           Case{"http://[::1]8000", "url_bad_host", "brackets"},
           Case{"http://[pod]:8000", "url_bad_host", "brackets"},
           Case{"http://[::1%eth0]:1", "url_bad_host", "brackets"},
           Case{"http://pod:", "url_bad_port", "1 to 65535"},
           Case{"http://pod:0", "url_bad_port", "1 to 65535"},
           Case{"http://pod:65536", "url_bad_port", "1 to 65535"},
           Case{"http://pod:80x", "url_bad_port", "1 to 65535"},
           Case{"http://pod:-1", "url_bad_port", "1 to 65535"},
           Case{"http://pod:80:80", "url_bad_port", "1 to 65535"},
           Case{"http://pod:80/v1", "url_path", "path"},
           Case{"http://pod?x", "url_path", "query"},
       }) {
    const auto url = parse_url(c.text);
    ASSERT_FALSE(url) << c.text;
    EXPECT_EQ(code_name(url.error().code), c.code) << c.text;
    EXPECT_THAT(url.error().text, testing::HasSubstr(c.in_text)) << c.text;
  }
}

TEST(UrlTest, PasswordsAreNotRepeated) {
  for (const std::string_view text : {"http://user:s3cret@pod:1", "https://user:s3cret@pod:1"}) {
    const auto url = parse_url(text);
    ASSERT_FALSE(url);
    EXPECT_THAT(url.error().text, testing::Not(testing::HasSubstr("s3cret")));
  }
}

}  // namespace
}  // namespace pd::http
