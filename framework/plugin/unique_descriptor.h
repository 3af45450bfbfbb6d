// Owns a file descriptor.
#pragma once

#include <unistd.h>

#include <utility>

namespace pd {

/// Closes on destruction. -1: none.
class UniqueDescriptor {
 public:
  explicit UniqueDescriptor(int value = -1) noexcept : value_(value) {}
  UniqueDescriptor(UniqueDescriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  UniqueDescriptor& operator=(UniqueDescriptor&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~UniqueDescriptor() {
    if (value_ >= 0) ::close(value_);
  }

  int get() const noexcept { return value_; }
  explicit operator bool() const noexcept { return value_ >= 0; }

 private:
  int value_;
};

}  // namespace pd
