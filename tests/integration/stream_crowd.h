#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/integration/answer_parser.h"

namespace pd::test {

struct CrowdMember {
  std::string request;
  // Closes its connection after that many bytes of the answer; 0: stays to the end.
  std::size_t leave_after = 0;
};

// Many clients at once from one thread: all connect, all send, all read until their answers are
// whole or nothing came for the patience. The answers stand in the order of the members; one that
// left has what it had read.
std::vector<WireAnswer> run_crowd(std::uint16_t port, const std::vector<CrowdMember>& members,
                                  std::chrono::milliseconds patience);

}  // namespace pd::test
