// A choice allocates nothing once its thread's scratch has grown. A program of its own: it counts
// every allocation.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "tests/unit/select/selection_fixture.h"

namespace {
std::atomic<std::size_t> allocations{0};
}

void* operator new(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace pd {
namespace {

class SelectAllocationsTest : public test::SelectionTest {
 protected:
  static std::vector<test::PodState> fleet_of(int rolesets, int pods) {
    std::vector<test::PodState> out;
    for (int r = 0; r < rolesets; ++r) {
      const std::string roleset = "roleset-with-a-long-name-" + std::to_string(r);
      for (int i = 0; i < pods; ++i) {
        const std::string id = std::to_string(r) + "-" + std::to_string(i);
        out.push_back(test::prefill_pod("p" + id, roleset, static_cast<std::uint32_t>(i % 3)));
        out.push_back(test::decode_pod("d" + id, roleset, i % 4, 100 + i, 0.5));
      }
    }
    return out;
  }

  // Allocations of one choice with warm buffers.
  std::size_t allocations_of_a_choice() {
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(select());
    std::size_t least = SIZE_MAX;
    for (int i = 0; i < 5; ++i) {
      const std::size_t before = allocations.load();
      const auto decision = router_->select(context_, *fleet_, index_.get(), scratch_);
      const std::size_t used = allocations.load() - before;
      EXPECT_TRUE(decision);
      least = std::min(least, used);
    }
    return least;
  }
};

TEST_F(SelectAllocationsTest, NothingWithLeastRequest) {
  set_fleet(fleet_of(4, 8));
  EXPECT_EQ(allocations_of_a_choice(), 0u);
}

TEST_F(SelectAllocationsTest, NothingWithPrefixesAndManyPods) {
  choice_.prefill = "prefix_cache";
  choice_.decode = "load_balancing";
  set_prompt(std::string(4000, 'x'));
  set_fleet(fleet_of(8, 16));
  record_prefix("p0-0", std::string(2000, 'x'));
  EXPECT_EQ(allocations_of_a_choice(), 0u);
}

TEST_F(SelectAllocationsTest, NothingOnTheFastPaths) {
  auto pods = fleet_of(2, 4);
  pods[0].prefill_requests = 90;
  pods[1].running = 90;
  set_fleet(pods);
  EXPECT_EQ(allocations_of_a_choice(), 0u);
}

}  // namespace
}  // namespace pd
