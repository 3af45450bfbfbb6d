#include "host/gateway/request_identity.h"

#include <gtest/gtest.h>

#include <vector>

namespace pd {
namespace {

http::RequestHead head_with(const std::vector<http::Field>& fields) {
  http::RequestHead head;
  head.fields = fields;
  return head;
}

std::string id_of(std::string_view value, std::uint64_t random = 1) {
  const std::vector<http::Field> fields = {{"X-Request-ID", value}};
  return request_id_of(head_with(fields), random);
}

bool is_sane(const std::string& id) {
  if (id.empty() || id.size() > 128) return false;
  for (const char c : id) {
    if (c <= ' ' || c > '~') return false;
  }
  return true;
}

TEST(RequestIdTest, ASaneIdIsKept) {
  for (const std::string& id :
       {std::string("a"), std::string("req-1/2:3"), std::string(128, 'x'), std::string("!\"#~")}) {
    EXPECT_EQ(id_of(id), id);
  }
}

TEST(RequestIdTest, OthersAreReplaced) {
  for (const std::string& id :
       {std::string(), std::string(129, 'x'), std::string("a b"), std::string("a\tb"),
        std::string("a\x7f"), std::string("\xC3\xBC"), std::string("a\nb"), std::string("\0", 1)}) {
    const std::string made = id_of(id);
    EXPECT_NE(made, id);
    EXPECT_TRUE(is_sane(made)) << made;
  }
  EXPECT_TRUE(is_sane(request_id_of(http::RequestHead{}, 0)));
}

TEST(RequestIdTest, MadeIdsDifferWithTheRandomNumber) {
  const http::RequestHead head;
  EXPECT_NE(request_id_of(head, 1), request_id_of(head, 2));
  EXPECT_NE(request_id_of(head, 1), request_id_of(head, std::uint64_t{1} << 63U));
}

TEST(SessionTest, OurHeaderComesFirst) {
  const std::vector<http::Field> both = {{"x-session-id", "b"}, {"X-PD-Session", "a"}};
  EXPECT_EQ(session_of(head_with(both)), "a");
  const std::vector<http::Field> other = {{"X-Session-Id", "b"}};
  EXPECT_EQ(session_of(head_with(other)), "b");
  EXPECT_EQ(session_of(http::RequestHead{}), "");
}

}  // namespace
}  // namespace pd
