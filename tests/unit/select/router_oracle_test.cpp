// Router::select against the oracle on random small fleets, with many absent metrics, zeros, ties.
#include <gtest/gtest.h>

#include <random>
#include <sstream>

#include "tests/unit/select/selection_oracle.h"

namespace pd {
namespace {

using test::OracleResult;
using test::OracleRules;
using test::PodState;

class RouterOracleTest : public test::SelectionTest {
 protected:
  double any_of(std::initializer_list<double> values) {
    return values.begin()[random_() % values.size()];
  }

  std::vector<PodState> random_fleet() {
    std::vector<PodState> pods;
    const std::uint64_t rolesets = 1 + random_() % 3;
    // Each fleet has a style, so that fast paths, cold pods and ties all come up often.
    const bool busy_prefill = random_() % 4 == 0, busy_decode = random_() % 4 == 0;
    const bool fast_decode = random_() % 4 == 0, all_drain = random_() % 3 == 0;
    const std::uint64_t known = 1 + random_() % 4;
    for (std::uint64_t n = 2 + random_() % 7; n > 0; --n) {
      PodState pod;
      pod.name = "pod" + std::to_string(n);
      pod.role = random_() % 2 == 0 ? Role::kPrefill : Role::kDecode;
      pod.roleset = "rs" + std::to_string(random_() % rolesets);
      if (random_() % 30 == 0) pod.roleset = std::nullopt;
      if (random_() % 30 == 0) pod.health = PodHealth::kUnready;
      if (random_() % 30 == 0) pod.group_index = random_() % 2 == 0 ? "0" : "1";
      if (random_() % 40 == 0) pod.role = Role::kOther;
      pod.prefill_requests =
          static_cast<std::uint32_t>(random_() % (busy_prefill ? 40 : 1 + random_() % 7));
      pod.pending = static_cast<std::uint32_t>(random_() % 3 == 0 ? random_() % 4 : 0);
      const auto is_known = [&] { return random_() % known != 0 || known == 1; };
      if (is_known()) pod.running = static_cast<double>(random_() % (busy_decode ? 40 : 6));
      if (is_known()) {
        pod.throughput = fast_decode ? static_cast<double>(random_() % 5000)
                                     : any_of({0, 0.5, 1, 100, 100, 2048, 250.25});
      }
      if (is_known()) pod.kv_usage = any_of({0, 0.125, 0.5, 0.5, 0.95, 0.996, 1});
      if (all_drain || random_() % 2 == 0) {
        pod.drain_rate = any_of({0.01, 0.05, 0.5, 1, 1, 2, 4});
        if (random_() % 20 == 0) pod.drain_rate = 0;
      }
      pods.push_back(pod);
    }
    return pods;
  }

  static std::string describe(const std::vector<PodState>& pods) {
    std::ostringstream out;
    for (const auto& p : pods) {
      out << p.name << " role " << role_name(p.role) << " roleset " << p.roleset.value_or("(none)")
          << " group " << p.group_index.value_or("(none)") << " health " << health_name(p.health)
          << " prefill " << p.prefill_requests << " pending " << p.pending << " running "
          << p.running << " throughput " << p.throughput << " kv " << p.kv_usage << " drain "
          << p.drain_rate << "\n";
    }
    return out.str();
  }

  static void expect_scores(const std::map<std::string, double>& expected,
                            const CandidateTable& table) {
    std::map<std::string, double> found;
    for (std::size_t i = 0; i < table.size(); ++i) {
      if (table.drops[i] == Drop::kNone) found[table.pods[i]->spec.name] = table.scores[i];
      EXPECT_EQ(std::isnan(table.scores[i]), table.drops[i] != Drop::kNone)
          << table.pods[i]->spec.name;
    }
    ASSERT_EQ(found.size(), expected.size());
    for (const auto& [name, score] : expected) {
      ASSERT_EQ(found.count(name), 1u) << name;
      EXPECT_NEAR(found[name], score, 1e-9 * std::max(1.0, std::abs(score))) << name;
    }
  }

  // One fleet; gives the stage, or "error".
  std::string compare(const std::vector<PodState>& pods, const OracleRules& rules) {
    set_fleet(pods);
    const auto decision = select(random_());
    OracleResult expected = test::SelectionOracle(pods, rules)
                                .follow(decision ? decision->prefill->spec.name : "",
                                        decision ? decision->decode->spec.name : "");
    if (expected.error || !decision) {
      EXPECT_EQ(expected.error, !decision);
      return "error";
    }
    EXPECT_EQ(expected.problem, "");
    EXPECT_EQ(stage_name(decision->stages), expected.stage);
    expect_scores(expected.prefill_scores, scratch_.prefill);
    expect_scores(expected.decode_scores, scratch_.decode);
    EXPECT_NEAR(scratch_.prefill.max_score, expected.max_prefill, 1e-9);
    EXPECT_NEAR(scratch_.decode.max_score, expected.max_decode, 1e-9 * (1 + expected.max_decode));
    EXPECT_FALSE(decision->fallback_used);
    return expected.stage;
  }

  std::mt19937_64 random_{41};
};

TEST_F(RouterOracleTest, AgreesOnRandomFleets) {
  std::map<std::string, int> stages;
  for (const bool prefix_cache : {false, true}) {
    for (const bool load_balancing : {false, true}) {
      choice_.prefill = prefix_cache ? "prefix_cache" : "least_request";
      choice_.decode = load_balancing ? "load_balancing" : "least_request";
      build_router();
      const OracleRules rules{settings_.prefill_min_spread,
                              settings_.decode_min_spread,
                              settings_.throughput_min_spread,
                              settings_.score_ratio,
                              settings_.prefill_stddev_factor,
                              prefix_cache,
                              load_balancing};
      for (int round = 0; round < 5000; ++round) {
        const auto pods = random_fleet();
        ++stages[compare(pods, rules)];
        if (HasFailure()) FAIL() << selected(1) << "\n" << describe(pods);
      }
    }
  }
  for (const char* stage :
       {"error", "scores", "prefill_imbalance", "decode_requests", "decode_throughput",
        "decode_ratio", "prefill_imbalance+decode_requests"}) {
    EXPECT_GT(stages[stage], 50) << stage;
  }
}

TEST_F(RouterOracleTest, AgreesWithOtherSettings) {
  settings_.prefill_min_spread = 2;
  settings_.decode_min_spread = 3;
  settings_.throughput_min_spread = 99;
  settings_.score_ratio = 4;
  settings_.prefill_stddev_factor = 0.5;
  choice_.decode = "load_balancing";
  build_router();
  const OracleRules rules{2, 3, 99, 4, 0.5, false, true};
  for (int round = 0; round < 4000; ++round) {
    const auto pods = random_fleet();
    compare(pods, rules);
    if (HasFailure()) FAIL() << selected(1) << "\n" << describe(pods);
  }
}

}  // namespace
}  // namespace pd
