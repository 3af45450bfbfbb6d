// Keeps the floating-point environment of a thread through a call into a plugin.
#pragma once

#include <cfenv>

namespace pd {

/// A plugin linked with -ffast-math sets flush-to-zero for the thread that loads it, after which
/// every score of the host would be computed by other rules. Rounding, exception masks and
/// flush-to-zero are restored on destruction. Used on one thread.
class FloatingPointGuard {
 public:
  FloatingPointGuard();
  FloatingPointGuard(const FloatingPointGuard&) = delete;
  FloatingPointGuard& operator=(const FloatingPointGuard&) = delete;
  ~FloatingPointGuard() { restore(); }

  /// Restores the environment; whether it had changed since construction. Sticky exception flags
  /// ("inexact"), which any computation sets, do not count as a change.
  bool restore();

 private:
  std::fenv_t saved_{};
};

}  // namespace pd
