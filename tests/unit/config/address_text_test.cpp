#include "framework/config/address_text.h"

#include <gtest/gtest.h>

#include <string>

namespace pd {
namespace {

TEST(AddressText, ListenAddresses) {
  for (const char* text : {"0.0.0.0:8080", "127.0.0.1:0", "[::]:8080", "[::1]:65535",
                           "localhost:80", "unix:/run/pd/pd.sock"}) {
    EXPECT_TRUE(is_listen_address(text)) << text;
  }
  for (const char* text : {"", "8080", ":8080", "0.0.0.0", "0.0.0.0:", "0.0.0.0:65536",
                           "0.0.0.0:-1", "0.0.0.0:80x", "::1:80", "[::1]80", "[]:80", "[g::]:80",
                           "http://0.0.0.0:80", "a b:80", "unix:", "unix:pd.sock", "unix:/"}) {
    EXPECT_FALSE(is_listen_address(text)) << text;
  }
  EXPECT_TRUE(is_listen_address("unix:/" + std::string(106, 'a')));
  EXPECT_FALSE(is_listen_address("unix:/" + std::string(107, 'a')));
}

TEST(AddressText, PodUrls) {
  for (const char* text : {"http://10.0.0.1:8000", "http://10.0.0.1:8000/", "http://[fd00::1]:1",
                           "http://pod-0.svc:65535"}) {
    EXPECT_TRUE(is_pod_url(text)) << text;
  }
  for (const char* text :
       {"", "/", "http://", "http:///", "http://a", "http://a:", "http://a:0", "http://a:65536",
        "https://a:1", "HTTP://a:1", "a:1", "http://u@a:1", "http://a:1/v1", "http://a:1//",
        "http://a:1?x", "http://a b:1", "http://:1"}) {
    EXPECT_FALSE(is_pod_url(text)) << text;
  }
}

TEST(AddressText, MetricsUrlsMayHaveAPath) {
  EXPECT_TRUE(is_http_url("http://a:9400/metrics"));
  EXPECT_TRUE(is_http_url("http://a:9400"));
  EXPECT_FALSE(is_http_url("http://a:9400/met rics"));
  EXPECT_FALSE(is_http_url("http://a:9400/m\xc3\xa4"));
  EXPECT_FALSE(is_http_url("http://a/metrics"));
}

TEST(AddressText, Names) {
  EXPECT_TRUE(is_plain_name("p0"));
  EXPECT_TRUE(is_plain_name("Pod_1.zone-a"));
  EXPECT_TRUE(is_plain_name(std::string(253, 'a')));
  EXPECT_FALSE(is_plain_name(std::string(254, 'a')));
  for (const char* text : {"", "a b", "a/b", "a\n", "\xc3\xa4", "a:1"}) {
    EXPECT_FALSE(is_plain_name(text)) << text;
  }
}

TEST(AddressText, PolicyNamesAreTrimmedAndFolded) {
  EXPECT_EQ(canonical_policy_name(" \tLoad_Balancing "), "load_balancing");
  EXPECT_EQ(canonical_policy_name("  "), "");
}

TEST(AddressText, ControlCharactersAreNoPlainText) {
  EXPECT_TRUE(is_plain_text("Llama 3 \xc3\xa4"));
  EXPECT_FALSE(is_plain_text("a\nb"));
  EXPECT_FALSE(is_plain_text(std::string_view("a\0b", 3)));
  EXPECT_FALSE(is_plain_text("\x7f"));
}

}  // namespace
}  // namespace pd
