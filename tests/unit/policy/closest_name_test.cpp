#include "framework/policy/closest_name.h"

#include <gtest/gtest.h>

namespace pd {
namespace {

const std::vector<std::string> kKnown = {"conductor", "least_request", "load_balancing"};

TEST(ClosestNameTest, FindsSlips) {
  EXPECT_EQ(closest_name("condcutor", kKnown), "conductor");
  EXPECT_EQ(closest_name("load-balancing", kKnown), "load_balancing");
  EXPECT_EQ(closest_name("leastrequest", kKnown), "least_request");
}

TEST(ClosestNameTest, IsSilentWhenNothingIsClose) {
  EXPECT_EQ(closest_name("round_robin", kKnown), "");
  EXPECT_EQ(closest_name("", kKnown), "");
  EXPECT_EQ(closest_name("x", {}), "");
  EXPECT_EQ(closest_name(std::string(1000, 'c'), kKnown), "");
}

}  // namespace
}  // namespace pd
