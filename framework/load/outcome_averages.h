// Averages of what recent requests met on one pod: exponentially weighted, one request counts 1/16.
#pragma once

#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>

namespace pd {

// Any thread. Concurrent updates may lose one observation of an average, never corrupt it.
class OutcomeAverages {
 public:
  void note_chosen(std::uint64_t now_ns) { chosen_at_.store(now_ns, std::memory_order_relaxed); }
  void note_ttft_ms(double ms) { fold(ttft_ms_, ms); }
  void note_inter_token_ms(double ms) { fold(inter_token_ms_, ms); }
  void note_result(bool failed) { fold(error_rate_, failed ? 1.0 : 0.0); }

  // Seconds since the pod was last chosen; NaN: never.
  double idle_s(std::uint64_t now_ns) const {
    const std::uint64_t at = chosen_at_.load(std::memory_order_relaxed);
    if (at == 0) return std::numeric_limits<double>::quiet_NaN();
    return now_ns > at ? static_cast<double>(now_ns - at) / 1e9 : 0.0;
  }
  // NaN: no request yet.
  double ttft_ms() const { return ttft_ms_.load(std::memory_order_relaxed); }
  double inter_token_ms() const { return inter_token_ms_.load(std::memory_order_relaxed); }
  double error_rate() const { return error_rate_.load(std::memory_order_relaxed); }

 private:
  static void fold(std::atomic<double>& average, double value) {
    constexpr double kWeight = 1.0 / 16;
    const double before = average.load(std::memory_order_relaxed);
    average.store(std::isnan(before) ? value : before + kWeight * (value - before),
                  std::memory_order_relaxed);
  }

  std::atomic<std::uint64_t> chosen_at_{0};
  std::atomic<double> ttft_ms_{std::numeric_limits<double>::quiet_NaN()};
  std::atomic<double> inter_token_ms_{std::numeric_limits<double>::quiet_NaN()};
  std::atomic<double> error_rate_{std::numeric_limits<double>::quiet_NaN()};
};

}  // namespace pd
