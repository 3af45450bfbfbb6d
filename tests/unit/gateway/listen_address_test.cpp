#include "host/gateway/listen_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>

namespace pd {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

void close_all(const Listeners& listeners) {
  for (const int fd : listeners.sockets) ::close(fd);
}

TEST(ListenAddressTest, TheKernelPicksOnePortForAllSockets) {
  const auto listeners = listen_on("127.0.0.1:0", 3, "server.listen");
  ASSERT_TRUE(listeners) << listeners.error();
  EXPECT_EQ(listeners->sockets.size(), 3U);
  EXPECT_THAT(listeners->address, HasSubstr("127.0.0.1:"));
  EXPECT_THAT(listeners->address, Not(HasSubstr(":0")));
  EXPECT_TRUE(listeners->socket_file.empty());
  close_all(*listeners);
}

TEST(ListenAddressTest, NamesAndIpv6AreAddressesToo) {
  const auto by_name = listen_on("localhost:0", 1, "server.listen");
  ASSERT_TRUE(by_name) << by_name.error();
  close_all(*by_name);
  const auto ipv6 = listen_on("[::1]:0", 1, "server.listen");
  if (!ipv6) GTEST_SKIP() << "no IPv6 here: " << ipv6.error();
  EXPECT_THAT(ipv6->address, HasSubstr("[::1]:"));
  close_all(*ipv6);
}

TEST(ListenAddressTest, AUnixSocketIsSharedAndItsDeadFileReplaced) {
  const std::string path = std::filesystem::temp_directory_path() / "pd_listen_address_test.sock";
  ::unlink(path.c_str());
  const auto first = listen_on("unix:" + path, 2, "server.listen");
  ASSERT_TRUE(first) << first.error();
  EXPECT_EQ(first->sockets.size(), 2U);
  EXPECT_EQ(first->socket_file, path);
  const auto taken = listen_on("unix:" + path, 1, "server.listen");
  ASSERT_FALSE(taken) << "somebody listens there";
  close_all(*first);  // the file stays behind, as after a crash
  const auto second = listen_on("unix:" + path, 1, "server.listen");
  ASSERT_TRUE(second) << second.error();
  close_all(*second);
  ::unlink(path.c_str());
}

TEST(ListenAddressTest, FailuresNameKeyAndAddress) {
  for (const char* address : {"127.0.0.1", "no.such.host.invalid:80", "203.0.113.1:80"}) {
    const auto refused = listen_on(address, 1, "server.admin");
    ASSERT_FALSE(refused) << address;
    EXPECT_THAT(refused.error(), HasSubstr(address));
    EXPECT_THAT(refused.error(), HasSubstr("server.admin"));
  }
}

}  // namespace
}  // namespace pd
