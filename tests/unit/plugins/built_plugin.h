// A built-in policy as a host has it: the .so of this build, through the C ABI alone.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "pd/abi.h"
#include "tests/unit/sdk/hand_made_host.h"

namespace pd::test {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

// Loads lib`name`.so and keeps what it registers. It stays mapped: leak checkers need its symbols.
class BuiltPlugin {
 public:
  explicit BuiltPlugin(const std::string& name) {
    const std::string path = PD_PLUGIN_FOLDER "/libpd_" + name + ".so";
    void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      ADD_FAILURE() << ::dlerror();
      return;
    }
    const auto entry =
        reinterpret_cast<pd_plugin_entry_fn>(::dlsym(library, PD_PLUGIN_ENTRY_SYMBOL));
    if (entry == nullptr) {
      ADD_FAILURE() << path << " has no " PD_PLUGIN_ENTRY_SYMBOL;
      return;
    }
    plugin = entry();
    ErrorBuffer error;
    EXPECT_EQ(plugin->load(host.get(), registrar.get(), error.get()), PD_OK) << error.message();
  }
  BuiltPlugin(const BuiltPlugin&) = delete;
  BuiltPlugin& operator=(const BuiltPlugin&) = delete;

  ClockHost host;
  RecordingRegistrar registrar;
  const pd_plugin* plugin = nullptr;
};

// An instance of one policy table.
class PolicyHandle {
 public:
  PolicyHandle(const pd_policy* policy, const ClockHost& host, std::uint32_t role,
               OptionValues values)
      : policy_(policy) {
    const pd_policy_config config = values.config(host, role);
    ErrorBuffer error;
    EXPECT_EQ(policy_->create(&config, &handle_, error.get()), PD_OK) << error.message();
  }
  PolicyHandle(const PolicyHandle&) = delete;
  PolicyHandle& operator=(const PolicyHandle&) = delete;
  ~PolicyHandle() { policy_->destroy(handle_); }
  void* get() const { return handle_; }

 private:
  const pd_policy* policy_;
  void* handle_ = nullptr;
};

// The candidates of a batch: pods that differ in their incarnation, and load columns to fill.
class PodRows {
 public:
  explicit PodRows(std::size_t count) : pods_(count) {
    for (std::size_t i = 0; i < count; ++i) {
      pods_[i].struct_size = sizeof(pd_pod);
      pods_[i].slot = static_cast<std::uint32_t>(i);
      pods_[i].incarnation = i + 1;
      pods_[i].role = PD_ROLE_COMBINED;
      pointers_.push_back(&pods_[i]);
    }
    load.struct_size = sizeof(pd_load);
    raw_ = {sizeof(pd_candidates), static_cast<std::uint32_t>(count), pointers_.data(), &load, 1};
  }
  PodRows(const PodRows&) = delete;
  PodRows& operator=(const PodRows&) = delete;
  const pd_candidates* get() const { return &raw_; }

  pd_load load{};

 private:
  std::vector<pd_pod> pods_;
  std::vector<const pd_pod*> pointers_;
  pd_candidates raw_{};
};

// The host's side of an answer, filled with "no score" first.
struct Answer {
  explicit Answer(std::size_t count) : values(count, kNan), reasons(count, 0) {
    raw = {sizeof(pd_scores), static_cast<std::uint32_t>(count), values.data(), reasons.data(), 0};
  }
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;

  std::vector<double> values;
  std::vector<std::uint32_t> reasons;
  pd_scores raw{};
};

struct DecodePod {
  double running;
  double throughput;
  double free_percent;
};

struct DecodeMaxima {
  double running;
  double throughput;
  double free_percent;
};

// The maxima as the host sets them: over the candidates, at least 1.
inline DecodeMaxima maxima_of(const std::vector<DecodePod>& pods) {
  DecodeMaxima maxima{1, 1, 1};
  for (const DecodePod& pod : pods) {
    maxima.running = std::max(maxima.running, pod.running);
    maxima.throughput = std::max(maxima.throughput, pod.throughput);
    maxima.free_percent = std::max(maxima.free_percent, pod.free_percent);
  }
  return maxima;
}

// Scores `pods` with the one decode policy of the plugin `name`.
class BuiltDecodePolicy {
 public:
  explicit BuiltDecodePolicy(const std::string& name, OptionValues values = {})
      : plugin_(name), handle_(table().policy, plugin_.host, PD_ROLE_DECODE, std::move(values)) {}

  const pd_decode_policy& table() const { return *plugin_.registrar.decode.at(0); }
  const BuiltPlugin& plugin() const { return plugin_; }

  std::vector<double> score(const std::vector<DecodePod>& pods, const DecodeMaxima& maxima) const {
    std::vector<double> running, throughput, free_percent;
    for (const DecodePod& pod : pods) {
      running.push_back(pod.running);
      throughput.push_back(pod.throughput);
      free_percent.push_back(pod.free_percent);
    }
    PodRows rows(pods.size());
    pd_request request{};
    request.struct_size = sizeof(pd_request);
    const pd_decode_batch batch{sizeof(pd_decode_batch),
                                0,
                                rows.get(),
                                running.data(),
                                throughput.data(),
                                free_percent.data(),
                                maxima.running,
                                maxima.throughput,
                                maxima.free_percent};
    Answer answer(pods.size());
    ErrorBuffer error;
    EXPECT_EQ(table().score(handle_.get(), &request, &batch, &answer.raw, error.get()), PD_OK)
        << error.message();
    EXPECT_EQ(answer.reasons, std::vector<std::uint32_t>(pods.size(), 0));
    return answer.values;
  }
  std::vector<double> score(const std::vector<DecodePod>& pods) const {
    return score(pods, maxima_of(pods));
  }

 private:
  BuiltPlugin plugin_;
  PolicyHandle handle_;
};

struct PrefillPod {
  double requests;
  double match_percent = 0;
  double prefill_time_ms = kNan;
};

// Scores `pods` with the one prefill policy of the plugin `name`, through its whole life cycle.
class BuiltPrefillPolicy {
 public:
  explicit BuiltPrefillPolicy(const std::string& name)
      : plugin_(name), handle_(table().policy, plugin_.host, PD_ROLE_PREFILL, {}) {}

  const pd_prefill_policy& table() const { return *plugin_.registrar.prefill.at(0); }
  const BuiltPlugin& plugin() const { return plugin_; }

  // The hashes that the policy asks to record for the first pod are in `recorded` afterwards.
  std::vector<double> score(const std::vector<PrefillPod>& pods, std::uint64_t prompt_bytes = 0) {
    std::vector<double> requests, percent, blocks, bytes, prefill_time;
    double max_requests = 1;
    for (const PrefillPod& pod : pods) {
      requests.push_back(pod.requests);
      percent.push_back(pod.match_percent);
      blocks.push_back(0);
      bytes.push_back(pod.match_percent * static_cast<double>(prompt_bytes) / 100);
      prefill_time.push_back(pod.prefill_time_ms);
      max_requests = std::max(max_requests, pod.requests);
    }
    PodRows rows(pods.size());
    rows.load.prefill_time_ms = prefill_time.data();
    const std::vector<std::uint64_t> hashes{11, 22, 33};
    pd_request request{};
    request.struct_size = sizeof(pd_request);
    request.prompt_bytes = prompt_bytes;
    request.block_hashes = hashes.data();
    request.block_count = hashes.size();
    const pd_prefill_batch batch{sizeof(pd_prefill_batch),
                                 0,
                                 rows.get(),
                                 requests.data(),
                                 max_requests,
                                 percent.data(),
                                 blocks.data(),
                                 bytes.data()};
    Answer answer(pods.size());
    run(request, batch, answer);
    return answer.values;
  }

  std::vector<std::uint64_t> recorded;

 private:
  void run(const pd_request& request, const pd_prefill_batch& batch, Answer& answer) {
    ErrorBuffer error;
    void* scorer = nullptr;
    ASSERT_EQ(table().prepare(handle_.get(), &request, &batch, &scorer, error.get()), PD_OK);
    EXPECT_EQ(table().score(handle_.get(), scorer, &request, &batch, &answer.raw, error.get()),
              PD_OK)
        << error.message();
    EXPECT_EQ(answer.reasons, std::vector<std::uint32_t>(answer.values.size(), 0));
    const pd_choice choice{sizeof(pd_choice), 0, batch.candidates->pods[0], nullptr, 0,
                           PD_NO_INDEX,       0};
    if (table().prefix_hashes != nullptr) {
      pd_prefix_record record{sizeof(pd_prefix_record), 0, nullptr, 0};
      EXPECT_EQ(
          table().prefix_hashes(handle_.get(), scorer, &request, &choice, &record, error.get()),
          PD_OK);
      recorded.assign(record.hashes, record.hashes + record.count);
    }
    if (table().release != nullptr) table().release(handle_.get(), scorer, &choice);
  }

  BuiltPlugin plugin_;
  PolicyHandle handle_;
};

// Equal but for the last digits of the arithmetic; NaN equals NaN.
inline testing::AssertionResult same_score(double actual, double expected) {
  if (std::isnan(expected) ? std::isnan(actual) : actual == expected) {
    return testing::AssertionSuccess();
  }
  if (std::isfinite(expected) && std::isfinite(actual) &&
      std::abs(actual - expected) <= 1e-12 * std::max(1.0, std::abs(expected))) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << actual << " instead of " << expected;
}

// Draws plain, extreme and missing numbers; the seed is fixed, so that a failure repeats.
class Numbers {
 public:
  // 0, tiny, small, large or huge; never NaN, never negative.
  double known() {
    switch (pick_(engine_) % 6) {
      case 0:
        return 0;
      case 1:
        return std::pow(10.0, -9 + unit_(engine_));
      case 2:
        return 1e9 * unit_(engine_);
      case 3:
        return 1e150 * unit_(engine_);
      default:
        return std::floor(200 * unit_(engine_));
    }
  }
  double known_or_nan() { return pick_(engine_) % 4 == 0 ? kNan : known(); }
  double whole_percent() { return static_cast<double>(pick_(engine_) % 101); }
  double free_percent() { return std::max(0.1, 100 * unit_(engine_)); }
  double weight() { return pick_(engine_) % 5 == 0 ? 0 : 10 * unit_(engine_); }
  std::size_t pod_count() { return 1 + static_cast<std::size_t>(pick_(engine_) % 40); }
  std::uint64_t bytes() { return pick_(engine_) % 3 == 0 ? 0 : pick_(engine_) % 2'000'000; }

 private:
  std::mt19937_64 engine_{20240917};
  std::uniform_int_distribution<std::uint64_t> pick_;
  std::uniform_real_distribution<double> unit_{0, 1};
};

constexpr int kRounds = 3000;

}  // namespace pd::test
