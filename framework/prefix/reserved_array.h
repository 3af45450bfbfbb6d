// A large array of which only the touched pages cost memory.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <type_traits>
#include <utility>

namespace pd {

/// Zero-filled elements straight from the operating system; address space is reserved at once,
/// memory is taken page by page on first use. Movable, not copyable. No thread rule of its own.
///
/// T must be valid as all zero bits and need no destructor.
template <typename T>
class ReservedArray {
  static_assert(std::is_trivially_destructible_v<T>);

 public:
  ReservedArray() = default;
  ReservedArray(ReservedArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  ReservedArray& operator=(ReservedArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~ReservedArray() {
    if (data_ != nullptr) ::munmap(data_, bytes());
  }

  /// False when the operating system refuses; errno says why. REQUIRES: size > 0, called once.
  bool reserve(std::size_t size) {
    // A refusal is better now than the out-of-memory killer later, but only address space is
    // checked here: with MAP_NORESERVE the pages count when they are touched.
    void* pages = ::mmap(nullptr, size * sizeof(T), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED) return false;
    // Reads are scattered over the whole array: with small pages most of them miss the TLB as well
    // as the cache. A refusal costs speed only.
    static_cast<void>(::madvise(pages, size * sizeof(T), MADV_HUGEPAGE));
    data_ = static_cast<T*>(pages);
    size_ = size;
    return true;
  }

  T& operator[](std::size_t index) { return data_[index]; }
  const T& operator[](std::size_t index) const { return data_[index]; }
  std::size_t size() const { return size_; }
  std::size_t bytes() const { return size_ * sizeof(T); }

 private:
  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace pd
