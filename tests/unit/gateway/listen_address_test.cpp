#include "host/gateway/listen_address.h"

#include <gtest/gtest.h>

namespace pd {
namespace {

TEST(ListenAddressTest, ReadsAndWritesBothFamilies) {
  for (const std::string address :
       {"0.0.0.0:8080", "127.0.0.1:0", "[::]:8080", "[::1]:65535", "[fd00::12]:80"}) {
    const auto endpoint = parse_listen_address(address);
    ASSERT_TRUE(endpoint) << address << ": " << endpoint.error();
    EXPECT_EQ(format_address(*endpoint), address);
  }
}

TEST(ListenAddressTest, SaysWhatIsWrong) {
  for (const std::string address :
       {"", ":", "8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1",
        "127.0.0.1:80x", "127.0.0.1: 80", "127.0.0.1:+80", "::1:80", "[::1]", "[::1:80", "[]:80",
        "[::1]80", "[127.0.0.1]:80", "256.0.0.1:80", "1.2.3:80",
        "127.0.0.1:99999999999999999999"}) {
    const auto endpoint = parse_listen_address(address);
    ASSERT_FALSE(endpoint) << address;
    EXPECT_FALSE(endpoint.error().empty());
    if (!address.empty()) {
      EXPECT_NE(endpoint.error().find(address), std::string::npos) << endpoint.error();
    }
  }
}

}  // namespace
}  // namespace pd
