#include "examples/pd-sim/fault_injection.h"

#include <gtest/gtest.h>

#include <string>

namespace pd::sim {
namespace {

std::string joined(const std::vector<std::string_view>& pieces) {
  std::string text;
  for (const auto piece : pieces) text += piece;
  return text;
}

TEST(FaultInjection, AwkwardPiecesCutInsideDataAndCharacters) {
  const auto pieces = awkward_pieces("data: \xe6\xbc\xa2!\n\n");
  EXPECT_EQ(pieces, (std::vector<std::string_view>{"da", "ta: \xe6", "\xbc", "\xa2!", "\n", "\n"}));
  EXPECT_EQ(joined(pieces), "data: \xe6\xbc\xa2!\n\n");
}

TEST(FaultInjection, CountedFaultsEnd) {
  FaultSet faults;
  Fault fault;
  fault.kind = FaultKind::kStatus;
  fault.remaining = 2;
  faults.add(fault);
  EXPECT_FALSE(faults.take_wire("/health")) << "other paths are left alone";
  EXPECT_TRUE(faults.take_wire("/v1/completions"));
  EXPECT_TRUE(faults.take_wire("/v1/completions"));
  EXPECT_FALSE(faults.take_wire("/v1/completions"));
  EXPECT_TRUE(faults.empty());
}

TEST(FaultInjection, ResetCutsAtTheExactByte) {
  Fault fault;
  fault.kind = FaultKind::kReset;
  fault.after_bytes = 7;
  WireScript script(fault);
  EXPECT_EQ(script.head("head\r\n", {})[0].bytes, "head\r\n");
  const auto steps = script.event("5\r\nevent\r\n", "event");
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[0].bytes, "5");
  EXPECT_EQ(steps[1].then, WireStep::Then::kReset);
  EXPECT_TRUE(script.event("5\r\nevent\r\n", "event").empty());
}

}  // namespace
}  // namespace pd::sim
