// A plugin that uses all that the C++ wrapper offers: compiled with a policy author's strictest
// warnings, as C++17 and C++20. Never loaded.
#include "pd/policy.hpp"

namespace {

class Everything {
 public:
  static constexpr char kName[] = "everything";
  static constexpr char kDescription[] = "Uses each part of the wrapper once.";
  static constexpr std::uint64_t kUses = PD_USES_PREFIX | PD_USES_WAITING;
  static constexpr std::uint32_t kFlags = PD_POLICY_NO_SHORTCUTS;
  static constexpr std::array<pd_option, 4> kOptions{
      pd::sdk::float_option("weight", 1.0, 0.0, 10.0, "Weight of the queue."),
      pd::sdk::int_option("limit", 8, 1, 64, "Longest queue."),
      pd::sdk::bool_option("strict", true, "Exclude pods beyond the limit."),
      pd::sdk::string_option("zone", "", "Zone to prefer."),
  };
  static constexpr std::array<const char*, 1> kReasons{"its queue is too long"};

  explicit Everything(const pd::sdk::Config& config)
      : weight_(config.number("weight")),
        limit_(static_cast<double>(config.integer("limit"))),
        strict_(config.flag("strict") && config.text("zone").empty()),
        clock_(config.service<pd_clock_v1>(PD_SERVICE_CLOCK)) {}

  void score(const pd::sdk::Request& request, const pd::sdk::PrefillBatch& batch,
             pd::sdk::Scores scores) const {
    rate(batch, scores);
    if (clock_ == nullptr) scores.set_tag(request.id().size());
  }
  void score(const pd::sdk::Request& request, const pd::sdk::DecodeBatch& batch,
             pd::sdk::Scores scores) const {
    rate(batch, scores);
    scores.set_tag(request.raw()->decision_ns);
  }
  void chosen(const pd::sdk::Request&, const pd_choice*) const {}
  void outcome(const pd_outcome*) const {}

 private:
  void rate(const pd::sdk::Candidates& candidates, pd::sdk::Scores scores) const {
    const pd::sdk::Column waiting = candidates.load(&pd_load::waiting);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      scores[i] = weight_ * waiting[i];
      if (strict_ && waiting[i] > limit_) scores.exclude(i, 0);
    }
  }

  double weight_;
  double limit_;
  bool strict_;
  const pd_clock_v1* clock_;
};

}  // namespace

PD_PLUGIN("org.example.everything", "1.0", "Example", "MIT", "Uses each part of the wrapper once",
          PD_PLUGIN_UNLOAD_SAFE, pd::sdk::Decode<Everything>, pd::sdk::Prefill<Everything>)
