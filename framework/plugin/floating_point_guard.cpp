#include "framework/plugin/floating_point_guard.h"

namespace pd {
namespace {

// The part of an environment that changes results.
struct Controls {
  unsigned first;
  unsigned second;
};

Controls controls_of(const std::fenv_t& environment) {
#if defined(__x86_64__)
  constexpr unsigned kMxcsrFlags = 0x3f;
  return {environment.__control_word, environment.__mxcsr & ~kMxcsrFlags};
#elif defined(__aarch64__)
  return {environment.__fpcr, 0};
#else
  static_cast<void>(environment);
  return {static_cast<unsigned>(std::fegetround()), 0};
#endif
}

}  // namespace

FloatingPointGuard::FloatingPointGuard() {
  std::fegetenv(&saved_);
}

bool FloatingPointGuard::restore() {
  std::fenv_t now{};
  std::fegetenv(&now);
  const Controls before = controls_of(saved_);
  const Controls after = controls_of(now);
  if (before.first == after.first && before.second == after.second) return false;
  std::fesetenv(&saved_);
  return true;
}

}  // namespace pd
