// A fleet for one side of Router::select at a time.
#pragma once

#include <gmock/gmock.h>

#include <cmath>

#include "tests/unit/select/selection_fixture.h"

namespace pd::test {

class RouterTest : public SelectionTest {
 protected:
  // One idle prefill pod, for tests of the decode side.
  static std::vector<PodState> with_prefill(std::vector<PodState> decodes) {
    decodes.push_back(prefill_pod("p1"));
    return decodes;
  }
  static std::vector<PodState> with_decode(std::vector<PodState> prefills) {
    decodes_for(prefills);
    return prefills;
  }
  // One decode pod for every roleset.
  static void decodes_for(std::vector<PodState>& pods) {
    std::map<std::string, int> rolesets;
    for (const auto& p : pods) ++rolesets[*p.roleset];
    for (const auto& [roleset, n] : rolesets) pods.push_back(decode_pod("d-" + roleset, roleset));
  }
};

}  // namespace pd::test
