#include "host/gateway/buffer_pool.h"

#include <gtest/gtest.h>

namespace pd {
namespace {

constexpr std::size_t kMiB = 1024 * 1024;

void fill(BodyBuffer& buffer, char c) {
  std::memset(buffer.data.get(), c, buffer.capacity + kBodyPadding);
  buffer.size = buffer.capacity;
}

TEST(BufferPoolTest, GivesAtLeastWhatIsAskedAndThePadding) {
  BufferPool pool(4 * kMiB);
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{65536}, kMiB}) {
    BodyBuffer buffer = pool.take(size);
    EXPECT_GE(buffer.capacity, size);
    EXPECT_EQ(buffer.size, 0u);
    fill(buffer, 'x');
  }
}

TEST(BufferPoolTest, LargeBuffersAreUsedAgainEmpty) {
  BufferPool pool(4 * kMiB);
  BodyBuffer buffer = pool.take(kMiB);
  const char* const data = buffer.data.get();
  fill(buffer, 'x');
  pool.give_back(std::move(buffer));
  BodyBuffer again = pool.take(kMiB / 2);
  EXPECT_EQ(again.data.get(), data);
  EXPECT_EQ(again.view(), "");
}

TEST(BufferPoolTest, ASmallBodyDoesNotHoldAHugeBuffer) {
  BufferPool pool(64 * kMiB);
  BodyBuffer huge = pool.take(32 * kMiB);
  const char* const data = huge.data.get();
  pool.give_back(std::move(huge));
  EXPECT_NE(pool.take(1000).data.get(), data);
}

TEST(BufferPoolTest, KeepsNoMoreThanItsLimit) {
  BufferPool pool(kMiB);
  BodyBuffer a = pool.take(kMiB), b = pool.take(kMiB);
  const char* const first = a.data.get();
  pool.give_back(std::move(a));
  pool.give_back(std::move(b));
  BodyBuffer again = pool.take(kMiB);
  EXPECT_EQ(again.data.get(), first);
}

TEST(BufferPoolTest, GrowingKeepsTheContent) {
  BufferPool pool(4 * kMiB);
  BodyBuffer buffer = pool.take(8);
  std::memcpy(buffer.data.get(), "12345678", 8);
  buffer.size = 8;
  buffer = pool.grow(std::move(buffer), 200'000);
  EXPECT_EQ(buffer.view(), "12345678");
  EXPECT_GE(buffer.capacity, 200'000u);
}

}  // namespace
}  // namespace pd
