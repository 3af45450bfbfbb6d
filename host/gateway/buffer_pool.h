// Large buffers for request bodies, kept per thread: freeing and faulting their pages anew for each
// request costs as much as sending them.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

#include "framework/request/request_view.h"

namespace pd {

// Bytes with room to grow, and kBodyPadding readable zero bytes behind them.
struct BodyBuffer {
  std::unique_ptr<char[]> data;
  std::size_t size = 0;
  std::size_t capacity = 0;  // without the padding

  std::string_view view() const { return {data.get(), size}; }
};

// Not thread-safe.
class BufferPool {
 public:
  explicit BufferPool(std::size_t most_kept_bytes) : most_kept_bytes_(most_kept_bytes) {}

  // An empty buffer with room for `capacity` bytes.
  BodyBuffer take(std::size_t capacity) {
    for (auto it = kept_.begin(); it != kept_.end(); ++it) {
      if (it->capacity < capacity || it->capacity > 4 * capacity + kSmall) continue;
      BodyBuffer buffer = std::move(*it);
      kept_.erase(it);
      kept_bytes_ -= buffer.capacity;
      buffer.size = 0;
      return buffer;
    }
    BodyBuffer buffer;
    buffer.data.reset(new char[capacity + kBodyPadding]);
    buffer.capacity = capacity;
    return buffer;
  }

  // A buffer of at least `capacity` bytes with the content of `buffer`.
  BodyBuffer grow(BodyBuffer buffer, std::size_t capacity) {
    BodyBuffer larger = take(capacity);
    std::memcpy(larger.data.get(), buffer.data.get(), buffer.size);
    larger.size = buffer.size;
    give_back(std::move(buffer));
    return larger;
  }

  void give_back(BodyBuffer buffer) {
    if (buffer.capacity < kSmall || kept_bytes_ + buffer.capacity > most_kept_bytes_) return;
    kept_bytes_ += buffer.capacity;
    kept_.push_back(std::move(buffer));
  }

 private:
  static constexpr std::size_t kSmall = 64 * 1024;  // malloc serves these well

  const std::size_t most_kept_bytes_;
  std::size_t kept_bytes_ = 0;
  std::vector<BodyBuffer> kept_;
};

}  // namespace pd
