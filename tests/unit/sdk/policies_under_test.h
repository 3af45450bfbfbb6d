// Policies for policy_wrapper_test: each shows one thing that the C++ wrapper does with a class.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "pd/policy.hpp"

namespace pd::test {

using sdk::Config;
using sdk::DecodeBatch;
using sdk::PrefillBatch;
using sdk::Request;
using sdk::Scores;

// As little as a policy can be.
struct Plain {
  static constexpr char kName[] = "plain";
  static constexpr char kDescription[] = "Counts the requests.";
  void score(const Request&, const DecodeBatch& batch, Scores scores) const {
    for (std::size_t i = 0; i < batch.size(); ++i) scores[i] = batch.running_reqs()[i];
  }
};

// Reads an option of each type; the score shows what was read.
struct Tunable {
  static constexpr char kName[] = "tunable";
  static constexpr char kDescription[] = "Has options.";
  static constexpr std::array<pd_option, 4> kOptions{
      sdk::float_option("weight", 1.5, 0.5, 2.5, "A number."),
      sdk::int_option("limit", 7, -3, 9, "A whole number."),
      sdk::bool_option("strict", true, "A flag."),
      sdk::string_option("zone", "north", "A text."),
  };
  explicit Tunable(const Config& config)
      : weight(config.number("weight")),
        limit(config.integer("limit")),
        strict(config.flag("strict")),
        zone(config.text("zone")),
        clock(config.service<pd_clock_v1>(PD_SERVICE_CLOCK)),
        random(config.service<pd_random_v1>(PD_SERVICE_RANDOM)),
        host(config.host()) {}
  void score(const Request&, const DecodeBatch&, Scores) const {}

  double weight;
  std::int64_t limit;
  bool strict;
  std::string zone;
  const pd_clock_v1* clock;
  const pd_random_v1* random;
  const pd_host* host;
};

// Asks for a key that no option has, or for one with the type of another.
struct WrongKey {
  static constexpr char kName[] = "wrong_key";
  static constexpr char kDescription[] = "Asks for what it has not declared.";
  static constexpr std::array<pd_option, 1> kOptions{
      sdk::float_option("weight", 1.0, 0.0, 1.0, "A number.")};
  explicit WrongKey(const Config& config) { static_cast<void>(config.number("wieght")); }
  void score(const Request&, const DecodeBatch&, Scores) const {}
};
struct WrongType {
  static constexpr char kName[] = "wrong_type";
  static constexpr char kDescription[] = "Asks for a number as a text.";
  static constexpr std::array<pd_option, 1> kOptions{
      sdk::float_option("weight", 1.0, 0.0, 1.0, "A number.")};
  explicit WrongType(const Config& config) { static_cast<void>(config.text("weight")); }
  void score(const Request&, const DecodeBatch&, Scores) const {}
};

// Throws from wherever `Where` says, a std::exception or something else.
enum class Throws { kInConstructor, kInScore, kInFeedback };
template <Throws Where, bool Standard>
struct Throwing {
  static constexpr char kName[] = "throwing";
  static constexpr char kDescription[] = "Throws.";
  static constexpr std::uint64_t kUses = PD_USES_PREFIX;
  Throwing() { raise_in(Throws::kInConstructor); }
  void score(const Request&, const DecodeBatch&, Scores) const { raise_in(Throws::kInScore); }
  void score(const Request&, const PrefillBatch&, Scores) const { raise_in(Throws::kInScore); }
  void chosen(const Request&, const pd_choice*) const { raise_in(Throws::kInFeedback); }
  void outcome(const pd_outcome*) const { raise_in(Throws::kInFeedback); }

  static void raise_in(Throws here) {
    if (here != Where) return;
    if constexpr (Standard) throw std::runtime_error("the cellar is flooded");
    throw 7;
  }
};

// Writes a score, an exclusion and a tag.
struct Choosy {
  static constexpr char kName[] = "choosy";
  static constexpr char kDescription[] = "Excludes pods.";
  static constexpr std::uint64_t kUses = PD_USES_WAITING;
  static constexpr std::uint32_t kFlags = PD_POLICY_NO_SHORTCUTS;
  static constexpr std::array<const char*, 2> kReasons{"too far", "too full"};
  void score(const Request& request, const DecodeBatch& batch, Scores scores) const {
    scores[0] = batch.load(&pd_load::waiting)[0];
    scores.exclude(1, 1);
    scores[2] = request.raw()->attempt;
    scores.set_tag(request.raw()->decision_ns + 1);
  }
};

// Prefill policies: one that works on the host's hashes, one that does not, one that has the
// matches and records nothing.
struct Hashing {
  static constexpr char kName[] = "hashing";
  static constexpr char kDescription[] = "Uses the prefix index.";
  static constexpr std::uint64_t kUses = PD_USES_PREFIX;
  void score(const Request& request, const PrefillBatch& batch, Scores scores) const {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      scores[i] = static_cast<double>(request.prompt_bytes()) - batch.matched_bytes()[i] +
                  batch.request_counts()[i] / batch.max_request_count();
    }
  }
};
struct Counting {
  static constexpr char kName[] = "counting";
  static constexpr char kDescription[] = "Counts the requests.";
  void score(const Request&, const PrefillBatch& batch, Scores scores) const {
    for (std::size_t i = 0; i < batch.size(); ++i) scores[i] = batch.request_counts()[i];
  }
};
struct HashingSilently : Hashing {
  static constexpr bool kRecordsPrefix = false;
};

// Feedback: what was heard last.
struct HearsChoices : Plain {
  void chosen(const Request& request, const pd_choice* choice) const {
    heard = std::string(request.id()) + ":" + std::to_string(choice->decode_index);
  }
  mutable std::string heard;
};
struct HearsOutcomes : Plain {
  void outcome(const pd_outcome* outcome) const { heard = outcome->tag; }
  mutable std::uint64_t heard = 0;
};

// Counts its instances.
struct Counted : Plain {
  Counted() { ++alive; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --alive; }
  static inline std::atomic<int> alive{0};
};

}  // namespace pd::test
