// C++17 wrapper around the plugin ABI (pd/abi.h): header-only, on the standard library alone.
//
// A policy is a class; a plugin is one PD_PLUGIN line that lists its policies:
//
//   struct FewestRunning {
//     static constexpr char kName[] = "fewest_running";
//     static constexpr char kDescription[] = "The pod with the fewest active decode requests.";
//     void score(const pd::sdk::Request&, const pd::sdk::DecodeBatch& batch,
//                pd::sdk::Scores scores) const {
//       for (std::size_t i = 0; i < batch.size(); ++i) scores[i] = batch.running_reqs()[i];
//     }
//   };
//   PD_PLUGIN("org.example.fewest_running", "1.0", "Example", "MIT", "A first policy",
//             PD_PLUGIN_UNLOAD_SAFE, pd::sdk::Decode<FewestRunning>)
//
// A policy class P has
//   static constexpr char kName[], kDescription[]        required
//   static constexpr std::uint64_t kUses                 PD_USES_*, default 0
//   static constexpr std::uint32_t kFlags                PD_POLICY_*, default 0
//   static constexpr std::array<pd_option, N> kOptions   default none; see float_option() below
//   static constexpr std::array<const char*, N> kReasons why it may exclude a pod; default none
//   P() or explicit P(const Config&)                     may throw: the host shows what()
//   void chosen(const Request&, const pd_choice*) const  optional: what was chosen
//   void outcome(const pd_outcome*) const                optional: what became of an attempt
// and either, for decode,
//   void score(const Request&, const DecodeBatch&, Scores) const
// or, for prefill,
//   void score(const Request&, const PrefillBatch&, Scores) const
//   static constexpr bool kRecordsPrefix                 default: whether kUses has PD_USES_PREFIX
//
// An instance is shared by all threads: const members only, or state of its own that is safe to
// share. An exception that leaves a member is caught here and becomes an error of the call. Structs
// of the ABI stay pointers: a reference would let the compiler read members that the host's version
// of the struct does not have.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "pd/abi.h"

namespace pd::sdk {

// The bytes of `s`; valid as long as what `s` points to.
inline std::string_view view(pd_str s) noexcept {
  return {s.data, static_cast<std::size_t>(s.size)};
}
inline pd_str str(std::string_view s) noexcept {
  return {s.data(), s.size()};
}

// Writes `text` into the caller's error buffer, cut to fit, and returns `status`.
inline pd_status fail(pd_error* error, pd_status status, const char* text) noexcept {
  if (error != nullptr && error->text != nullptr && error->capacity > 0) {
    std::snprintf(error->text, error->capacity, "%s", text);
  }
  return status;
}

// A column of a batch: one double per pod, NaN when not known. False when the host does not have
// it.
class Column {
 public:
  Column(const double* data, std::size_t size) noexcept : data_(data), size_(size) {}
  explicit operator bool() const noexcept { return data_ != nullptr; }
  double operator[](std::size_t i) const noexcept { return data_[i]; }
  std::size_t size() const noexcept { return data_ == nullptr ? 0 : size_; }
  const double* begin() const noexcept { return data_; }
  const double* end() const noexcept { return data_ + size(); }

 private:
  const double* data_;
  std::size_t size_;
};

// The request being routed. Views live until the call returns.
class Request {
 public:
  explicit Request(const pd_request* raw) noexcept : raw_(raw) {}
  std::string_view id() const noexcept { return view(raw_->request_id); }
  std::string_view model() const noexcept { return view(raw_->model); }
  std::string_view session() const noexcept { return view(raw_->session); }
  std::uint64_t prompt_bytes() const noexcept { return raw_->prompt_bytes; }
  const pd_request* raw() const noexcept { return raw_; }

 private:
  const pd_request* raw_;
};

// The candidates of one choice, with what is the same for prefill and decode.
class Candidates {
 public:
  explicit Candidates(const pd_candidates* raw) noexcept : raw_(raw) {}
  std::size_t size() const noexcept { return raw_->count; }
  const pd_pod* pod(std::size_t i) const noexcept { return raw_->pods[i]; }
  std::uint64_t fleet_generation() const noexcept { return raw_->fleet_generation; }

  // A load column by its member of pd_load: load(&pd_load::waiting); declare its bit in kUses.
  Column load(const double* pd_load::*member) const noexcept {
    return {raw_->load->*member, size()};
  }
  const pd_candidates* raw_candidates() const noexcept { return raw_; }

 private:
  const pd_candidates* raw_;
};

class DecodeBatch : public Candidates {
 public:
  explicit DecodeBatch(const pd_decode_batch* raw) noexcept
      : Candidates(raw->candidates), raw_(raw) {}
  Column running_reqs() const noexcept { return {raw_->running_reqs, size()}; }
  Column throughput() const noexcept { return {raw_->throughput, size()}; }
  Column free_gpu_percent() const noexcept { return {raw_->free_gpu_percent, size()}; }
  double max_request_count() const noexcept { return raw_->max_request_count; }
  double max_throughput() const noexcept { return raw_->max_throughput; }
  double max_free_gpu_usage() const noexcept { return raw_->max_free_gpu_usage; }
  const pd_decode_batch* raw() const noexcept { return raw_; }

 private:
  const pd_decode_batch* raw_;
};

class PrefillBatch : public Candidates {
 public:
  explicit PrefillBatch(const pd_prefill_batch* raw) noexcept
      : Candidates(raw->candidates), raw_(raw) {}
  Column request_counts() const noexcept { return {raw_->request_counts, size()}; }
  double max_request_count() const noexcept { return raw_->max_request_count; }
  // With PD_USES_PREFIX only.
  Column match_percent() const noexcept { return {raw_->match_percent, size()}; }
  Column matched_blocks() const noexcept { return {raw_->matched_blocks, size()}; }
  Column matched_bytes() const noexcept { return {raw_->matched_bytes, size()}; }
  const pd_prefill_batch* raw() const noexcept { return raw_; }

 private:
  const pd_prefill_batch* raw_;
};

// Where the scores go: lower is better. What is not written stays "no score", a fault of the
// policy.
class Scores {
 public:
  explicit Scores(pd_scores* raw) noexcept : raw_(raw) {}
  double& operator[](std::size_t i) noexcept { return raw_->values[i]; }
  // Takes pod i out on purpose; `reason` is an index into kReasons, shown to people.
  void exclude(std::size_t i, std::uint32_t reason) noexcept { raw_->reasons[i] = reason + 1; }
  // A word of the policy's own for this choice; comes back in pd_choice and pd_outcome.
  void set_tag(std::uint64_t tag) noexcept { raw_->tag = tag; }

 private:
  pd_scores* raw_;
};

// ---- Options ----------------------------------------------------------------------------------

constexpr pd_option float_option(const char* key, double value, double min, double max,
                                 const char* help) noexcept {
  pd_option o{};
  o.struct_size = sizeof(pd_option);
  o.type = PD_OPTION_FLOAT;
  o.key = key;
  o.help = help;
  o.default_float = value;
  o.min_float = min;
  o.max_float = max;
  return o;
}

constexpr pd_option int_option(const char* key, std::int64_t value, std::int64_t min,
                               std::int64_t max, const char* help) noexcept {
  pd_option o{};
  o.struct_size = sizeof(pd_option);
  o.type = PD_OPTION_INT;
  o.key = key;
  o.help = help;
  o.default_int = value;
  o.min_int = min;
  o.max_int = max;
  return o;
}

constexpr pd_option bool_option(const char* key, bool value, const char* help) noexcept {
  pd_option o{};
  o.struct_size = sizeof(pd_option);
  o.type = PD_OPTION_BOOL;
  o.key = key;
  o.help = help;
  o.default_int = value ? 1 : 0;
  o.max_int = 1;
  return o;
}

constexpr pd_option string_option(const char* key, const char* value, const char* help) noexcept {
  pd_option o{};
  o.struct_size = sizeof(pd_option);
  o.type = PD_OPTION_STRING;
  o.key = key;
  o.help = help;
  o.default_string = value;
  return o;
}

// What a policy's constructor gets: its option values, checked by the host, and the host.
class Config {
 public:
  Config(const pd_policy_config* raw, const pd_option* const* options) noexcept
      : raw_(raw), options_(options) {}

  // Value of an option that the policy declares; throws std::logic_error for one that it does not.
  double number(std::string_view key) const { return value(key, PD_OPTION_FLOAT).float_value; }
  std::int64_t integer(std::string_view key) const { return value(key, PD_OPTION_INT).int_value; }
  bool flag(std::string_view key) const { return value(key, PD_OPTION_BOOL).int_value != 0; }
  std::string_view text(std::string_view key) const {
    return view(value(key, PD_OPTION_STRING).string_value);
  }

  const pd_host* host() const noexcept { return raw_->host; }

  // A host service by id, or nullptr: service<pd_clock_v1>(PD_SERVICE_CLOCK).
  template <class Table>
  const Table* service(const char* id) const noexcept {
    return static_cast<const Table*>(raw_->host->service(raw_->host, id));
  }

 private:
  const pd_option_value& value(std::string_view key, std::uint32_t type) const {
    for (std::uint32_t i = 0; i < raw_->value_count; ++i) {
      if (key == options_[i]->key && raw_->values[i]->type == type) return *raw_->values[i];
    }
    throw std::logic_error("the policy asks for option \"" + std::string(key) +
                           "\", which it does not declare with that type");
  }

  const pd_policy_config* raw_;
  const pd_option* const* options_;
};

// ---- Tables, made from a policy class ---------------------------------------------------------

namespace detail {

template <class P, class = void>
struct Uses : std::integral_constant<std::uint64_t, 0> {};
template <class P>
struct Uses<P, std::void_t<decltype(P::kUses)>> : std::integral_constant<std::uint64_t, P::kUses> {
};

template <class P, class = void>
struct Flags : std::integral_constant<std::uint32_t, 0> {};
template <class P>
struct Flags<P, std::void_t<decltype(P::kFlags)>>
    : std::integral_constant<std::uint32_t, P::kFlags> {};

template <class P, class = void>
struct OptionTable {
  static constexpr const pd_option* const* kPointers = nullptr;
  static constexpr std::uint32_t kCount = 0;
};
template <class P>
struct OptionTable<P, std::void_t<decltype(P::kOptions)>> {
  static constexpr std::size_t kCount = std::tuple_size_v<std::decay_t<decltype(P::kOptions)>>;
  static constexpr auto make() {
    std::array<const pd_option*, kCount> pointers{};
    for (std::size_t i = 0; i < kCount; ++i) pointers[i] = &P::kOptions[i];
    return pointers;
  }
  static constexpr auto kArray = make();
  static constexpr const pd_option* const* kPointers = kArray.data();
};

template <class P, class = void>
struct ReasonTable {
  static constexpr const char* const* kPointers = nullptr;
  static constexpr std::uint32_t kCount = 0;
};
template <class P>
struct ReasonTable<P, std::void_t<decltype(P::kReasons)>> {
  static constexpr const char* const* kPointers = P::kReasons.data();
  static constexpr std::size_t kCount = std::tuple_size_v<std::decay_t<decltype(P::kReasons)>>;
};

template <class P, class = void>
struct RecordsPrefix : std::bool_constant<(Uses<P>::value & PD_USES_PREFIX) != 0> {};
template <class P>
struct RecordsPrefix<P, std::void_t<decltype(P::kRecordsPrefix)>>
    : std::bool_constant<P::kRecordsPrefix> {};

template <class P, class = void>
struct NamesOutcome : std::false_type {};
template <class P>
struct NamesOutcome<P, std::void_t<decltype(&P::outcome)>> : std::true_type {};

template <class P, class = void>
struct NamesChosen : std::false_type {};
template <class P>
struct NamesChosen<P, std::void_t<decltype(&P::chosen)>> : std::true_type {};

template <class P, class = void>
struct HasOutcome : std::false_type {};
template <class P>
struct HasOutcome<
    P, std::void_t<decltype(std::declval<const P&>().outcome(std::declval<const pd_outcome*>()))>>
    : std::true_type {};

template <class P, class = void>
struct HasChosen : std::false_type {};
template <class P>
struct HasChosen<P, std::void_t<decltype(std::declval<const P&>().chosen(
                        std::declval<const Request&>(), std::declval<const pd_choice*>()))>>
    : std::true_type {};

// Runs `body` at the boundary: no exception leaves, each becomes an error of the call.
template <class Body>
pd_status guarded(pd_error* error, Body&& body) noexcept {
  try {
    body();
    return PD_OK;
  } catch (const std::exception& e) {
    return fail(error, PD_ERR_FAILED, e.what());
  } catch (...) {
    return fail(error, PD_ERR_FAILED, "an exception that is no std::exception");
  }
}

template <class P>
struct PolicyTable {
  // A member with another signature would be ignored without a word.
  static_assert(!NamesChosen<P>::value || HasChosen<P>::value,
                "write it as: void chosen(const pd::sdk::Request&, const pd_choice*) const");
  static_assert(!NamesOutcome<P>::value || HasOutcome<P>::value,
                "write it as: void outcome(const pd_outcome*) const");

  static pd_status create(const pd_policy_config* config, void** instance,
                          pd_error* error) noexcept {
    return guarded(error, [&] {
      if constexpr (std::is_constructible_v<P, const Config&>) {
        *instance = new P(Config(config, OptionTable<P>::kPointers));
      } else {
        *instance = new P();
      }
    });
  }

  static void destroy(void* instance) noexcept { delete static_cast<P*>(instance); }

  // Feedback has no error channel: a note that fails is lost.
  static void chosen(void* instance, const pd_request* request, const pd_choice* choice) noexcept {
    static_cast<void>(guarded(
        nullptr, [&] { static_cast<const P*>(instance)->chosen(Request(request), choice); }));
  }
  static void outcome(void* instance, const pd_outcome* outcome) noexcept {
    static_cast<void>(guarded(nullptr, [&] { static_cast<const P*>(instance)->outcome(outcome); }));
  }

  static constexpr pd_feedback_v1 make_feedback() noexcept {
    pd_feedback_v1 table{sizeof(pd_feedback_v1), 0, nullptr, nullptr};
    if constexpr (HasChosen<P>::value) table.chosen = &chosen;
    if constexpr (HasOutcome<P>::value) table.outcome = &outcome;
    return table;
  }

  static const void* service(void*, const char* id) noexcept {
    if constexpr (HasChosen<P>::value || HasOutcome<P>::value) {
      static constexpr pd_feedback_v1 kFeedback = make_feedback();
      if (std::string_view(id) == PD_SERVICE_FEEDBACK) return &kFeedback;
    }
    static_cast<void>(id);
    return nullptr;
  }

  static constexpr pd_policy kPolicy{sizeof(pd_policy),
                                     Flags<P>::value,
                                     P::kName,
                                     P::kDescription,
                                     Uses<P>::value,
                                     OptionTable<P>::kPointers,
                                     OptionTable<P>::kCount,
                                     ReasonTable<P>::kCount,
                                     ReasonTable<P>::kPointers,
                                     &create,
                                     &destroy,
                                     &service};
};

}  // namespace detail

// Registers P as a decode policy; an argument of PD_PLUGIN.
template <class P>
struct Decode {
  static pd_status score(void* instance, const pd_request* request, const pd_decode_batch* batch,
                         pd_scores* scores, pd_error* error) noexcept {
    return detail::guarded(error, [&] {
      static_cast<const P*>(instance)->score(Request(request), DecodeBatch(batch), Scores(scores));
    });
  }

  static constexpr pd_decode_policy kTable{sizeof(pd_decode_policy), 0,
                                           &detail::PolicyTable<P>::kPolicy, &score};

  static pd_status add(pd_registrar* registrar, pd_error* error) noexcept {
    return registrar->register_decode_policy(registrar, &kTable, error);
  }
};

// Registers P as a prefill policy; an argument of PD_PLUGIN.
template <class P>
struct Prefill {
  static_assert(
      !detail::RecordsPrefix<P>::value || (detail::Uses<P>::value & PD_USES_PREFIX) != 0,
      "kRecordsPrefix needs PD_USES_PREFIX in kUses: there are no block hashes without it");

  static pd_status prepare(void*, const pd_request*, const pd_prefill_batch*, void**,
                           pd_error*) noexcept {
    return PD_OK;  // everything a stateless policy needs is in the batch that score() gets again
  }

  static pd_status score(void* instance, void*, const pd_request* request,
                         const pd_prefill_batch* batch, pd_scores* scores,
                         pd_error* error) noexcept {
    return detail::guarded(error, [&] {
      static_cast<const P*>(instance)->score(Request(request), PrefillBatch(batch), Scores(scores));
    });
  }

  static pd_status prefix_hashes(void*, void*, const pd_request* request, const pd_choice*,
                                 pd_prefix_record* record, pd_error*) noexcept {
    record->hashes = request->block_hashes;
    record->count = request->block_count;
    return PD_OK;
  }

  static constexpr pd_prefill_policy kTable{
      sizeof(pd_prefill_policy),
      0,
      &detail::PolicyTable<P>::kPolicy,
      &prepare,
      &score,
      detail::RecordsPrefix<P>::value ? &prefix_hashes : nullptr,
      nullptr};

  static pd_status add(pd_registrar* registrar, pd_error* error) noexcept {
    return registrar->register_prefill_policy(registrar, &kTable, error);
  }
};

// Registers every policy of the list, in order; stops at the first refusal.
template <class... Policies>
pd_status add_all(pd_registrar* registrar, pd_error* error) noexcept {
  pd_status status = PD_OK;
  static_cast<void>((((status = Policies::add(registrar, error)) == PD_OK) && ...));
  return status;
}

}  // namespace pd::sdk

#if defined(__SANITIZE_ADDRESS__)
#define PD_SDK_SANITIZER " asan"
#elif defined(__SANITIZE_THREAD__)
#define PD_SDK_SANITIZER " tsan"
#else
#define PD_SDK_SANITIZER ""
#endif

// Defines the plugin's one exported symbol. The trailing arguments are Decode<P> and Prefill<P>.
#define PD_PLUGIN(id, version, vendor, licence, description, flags, ...)                     \
  extern "C" PD_EXPORT const pd_plugin* pd_plugin_entry(void) {                              \
    static constexpr pd_plugin kPlugin{                                                      \
        PD_PLUGIN_MAGIC,                                                                     \
        sizeof(pd_plugin),                                                                   \
        PD_ABI_MAJOR,                                                                        \
        PD_NEEDS_MINOR,                                                                      \
        flags,                                                                               \
        PD_ABI_MINOR,                                                                        \
        0,                                                                                   \
        id,                                                                                  \
        version,                                                                             \
        vendor,                                                                              \
        licence,                                                                             \
        description,                                                                         \
        "C++ " __VERSION__ PD_SDK_SANITIZER,                                                 \
        [](const pd_host*, pd_registrar* registrar, pd_error* error) noexcept -> pd_status { \
          return ::pd::sdk::add_all<__VA_ARGS__>(registrar, error);                          \
        },                                                                                   \
        nullptr};                                                                            \
    return &kPlugin;                                                                         \
  }
