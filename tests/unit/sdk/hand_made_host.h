// The host's side of the ABI, made by hand for one call at a time: what a plugin gets from a host,
// without any code of ours behind it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pd/abi.h"

namespace pd::test {

inline pd_str text(std::string_view s) {
  return {s.data(), s.size()};
}

// An error buffer as the contract wants it: empty on entry, guarded behind its end.
class ErrorBuffer {
 public:
  explicit ErrorBuffer(std::uint32_t capacity = 256)
      : bytes_(capacity + kGuard, '#'), error_{sizeof(pd_error), capacity, bytes_.data()} {
    bytes_[0] = '\0';
  }
  ErrorBuffer(const ErrorBuffer&) = delete;
  ErrorBuffer& operator=(const ErrorBuffer&) = delete;

  pd_error* get() { return &error_; }
  std::string message() const { return bytes_.data(); }
  bool overrun() const {
    return std::string_view(bytes_.data() + error_.capacity, kGuard) != std::string(kGuard, '#');
  }

 private:
  static constexpr std::size_t kGuard = 16;
  std::vector<char> bytes_;
  pd_error error_;
};

// Keeps the tables that load() registers; refuses the n-th when told to.
class RecordingRegistrar {
 public:
  RecordingRegistrar() {
    raw_.struct_size = sizeof(pd_registrar);
    raw_.host_data = this;
    raw_.register_decode_policy = [](pd_registrar* r, const pd_decode_policy* policy,
                                     pd_error* error) {
      return self(r).add(self(r).decode, policy, error);
    };
    raw_.register_prefill_policy = [](pd_registrar* r, const pd_prefill_policy* policy,
                                      pd_error* error) {
      return self(r).add(self(r).prefill, policy, error);
    };
  }
  RecordingRegistrar(const RecordingRegistrar&) = delete;
  RecordingRegistrar& operator=(const RecordingRegistrar&) = delete;

  pd_registrar* get() { return &raw_; }

  std::vector<const pd_decode_policy*> decode;
  std::vector<const pd_prefill_policy*> prefill;
  std::size_t refuse_after = 1000;

 private:
  static RecordingRegistrar& self(pd_registrar* r) {
    return *static_cast<RecordingRegistrar*>(r->host_data);
  }

  template <class Table>
  pd_status add(std::vector<const Table*>& tables, const Table* table, pd_error* error) {
    if (decode.size() + prefill.size() >= refuse_after) {
      constexpr std::string_view kWhy = "refused by the test";
      kWhy.copy(error->text, kWhy.size());
      error->text[kWhy.size()] = '\0';
      return PD_ERR_INVALID;
    }
    tables.push_back(table);
    return PD_OK;
  }

  pd_registrar raw_{};
};

// A host that offers one clock, which always says 42, and no other service.
class ClockHost {
 public:
  ClockHost() {
    raw_.struct_size = sizeof(pd_host);
    raw_.abi_major = PD_ABI_MAJOR;
    raw_.abi_minor = PD_ABI_MINOR;
    raw_.name = text("test");
    raw_.version = text("0");
    raw_.service = [](const pd_host*, const char* id) -> const void* {
      static const pd_clock_v1 clock{
          sizeof(pd_clock_v1), 0,
          [](const pd_host*, const pd_request*) -> std::uint64_t { return 42; }};
      return std::string_view(id) == PD_SERVICE_CLOCK ? &clock : nullptr;
    };
  }
  const pd_host* get() const { return &raw_; }

 private:
  pd_host raw_{};
};

// Option values in the order of a policy's declarations, as the host hands them to create().
class OptionValues {
 public:
  OptionValues& number(double value) {
    pd_option_value v{sizeof(pd_option_value), PD_OPTION_FLOAT, value, 0, {nullptr, 0}};
    return add(v);
  }
  OptionValues& integer(std::int64_t value) {
    return add({sizeof(pd_option_value), PD_OPTION_INT, 0, value, {nullptr, 0}});
  }
  OptionValues& flag(bool value) {
    return add({sizeof(pd_option_value), PD_OPTION_BOOL, 0, value ? 1 : 0, {nullptr, 0}});
  }
  OptionValues& string(std::string_view value) {
    return add({sizeof(pd_option_value), PD_OPTION_STRING, 0, 0, test::text(value)});
  }

  // The configuration for create(); alive as this object and `host`.
  pd_policy_config config(const ClockHost& host, std::uint32_t role) {
    pointers_.clear();
    for (const pd_option_value& value : values_) pointers_.push_back(&value);
    return {sizeof(pd_policy_config),
            static_cast<std::uint32_t>(pointers_.size()),
            pointers_.data(),
            host.get(),
            role,
            1,
            64,
            0};
  }

 private:
  OptionValues& add(const pd_option_value& value) {
    values_.push_back(value);
    return *this;
  }

  std::vector<pd_option_value> values_;
  std::vector<const pd_option_value*> pointers_;
};

}  // namespace pd::test
