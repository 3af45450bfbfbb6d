// The selection rules once more, straight from their description and one line each: what
// Router::select is compared with. Knows prefix_cache without any prefix, least_request and
// load_balancing.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/select/selection_fixture.h"

namespace pd::test {

struct OracleRules {
  double prefill_spread, decode_spread, throughput_spread, ratio, deviations;
  bool prefix_cache = false;   // else least_request
  bool load_balancing = true;  // else least_request
};

struct OracleResult {
  bool error = false;
  std::string problem;  // the pair that was given breaks a rule; empty: it does not
  std::string stage;
  std::map<std::string, double> prefill_scores, decode_scores;
  double max_prefill = 0, max_decode = 0;
  std::map<std::string, double> finals;
};

// Follows the rules with `prefill` and `decode` as the ones that were drawn wherever a rule leaves
// a choice.
class SelectionOracle {
 public:
  SelectionOracle(const std::vector<PodState>& pods, const OracleRules& rules) : rules_(rules) {
    std::set<std::string> with_prefill, with_decode;
    for (const auto& pod : pods) {
      if (!is_candidate(pod)) continue;
      (pod.role == Role::kPrefill ? with_prefill : with_decode).insert(*pod.roleset);
    }
    for (const auto& pod : pods) {
      if (!is_candidate(pod)) continue;
      if (with_prefill.count(*pod.roleset) == 0 || with_decode.count(*pod.roleset) == 0) continue;
      (pod.role == Role::kPrefill ? prefills_ : decodes_).push_back(pod);
    }
  }

  OracleResult follow(const std::string& prefill, const std::string& decode) {
    if (prefills_.empty()) {
      result_.error = true;
      return result_;
    }
    prefill_fast_path(prefill);
    const double max_requests = floor1(max_of(decodes_, requests));
    const double max_throughput = floor1(max_of(
        decodes_, [](const PodState& p) { return std::isnan(p.throughput) ? 0 : p.throughput; }));
    const double max_free = floor1(max_of(decodes_, free_percent));
    decode_fast_paths(decode);
    if (result_.stage.empty()) result_.stage = "scores";
    score_prefills();
    score_decodes(max_requests, max_throughput, max_free);
    check_final(prefill, decode);
    return result_;
  }

  static double requests(const PodState& p) {
    return (std::isnan(p.running) ? 0 : p.running) + p.pending;
  }
  static double free_percent(const PodState& p) {
    if (std::isnan(p.kv_usage)) return 100;
    const double free = std::round(100 - 100 * p.kv_usage);
    return free <= 0 ? 0.1 : free;
  }

 private:
  using Pods = std::vector<PodState>;

  static bool is_candidate(const PodState& p) {
    return p.health == PodHealth::kReady && p.roleset.has_value() &&
           (!p.group_index.has_value() || *p.group_index == "0") &&
           (p.role == Role::kPrefill || p.role == Role::kDecode);
  }
  static double floor1(double value) { return std::max(value, 1.0); }

  template <class Value>
  static double max_of(const Pods& pods, Value value) {
    double most = 0;
    for (const auto& p : pods) most = std::max(most, value(p));
    return most;
  }
  template <class Value>
  static double min_of(const Pods& pods, Value value) {
    double least = kInfinity;
    for (const auto& p : pods) least = std::min(least, value(p));
    return least;
  }
  static const PodState* find(const Pods& pods, const std::string& name) {
    for (const auto& p : pods) {
      if (p.name == name) return &p;
    }
    return nullptr;
  }
  template <class Wanted>
  static void keep(Pods& pods, Wanted wanted) {
    pods.erase(
        std::remove_if(pods.begin(), pods.end(), [&](const PodState& p) { return !wanted(p); }),
        pods.end());
  }
  void applied(const char* stage) {
    result_.stage += (result_.stage.empty() ? "" : "+") + std::string(stage);
  }
  void problem(const std::string& text) {
    if (result_.problem.empty()) result_.problem = text;
  }

  void prefill_fast_path(const std::string& chosen) {
    const auto count = [](const PodState& p) { return double{p.prefill_requests * 1.0}; };
    const double least = min_of(prefills_, count);
    if (max_of(prefills_, count) - least <= rules_.prefill_spread) return;
    applied("prefill_imbalance");
    const PodState* pod = find(prefills_, chosen);
    if (pod == nullptr || count(*pod) != least) return problem(chosen + " is not least loaded");
    const std::string roleset = *pod->roleset;
    keep(prefills_, [&](const PodState& p) { return p.name == chosen; });
    keep(decodes_, [&](const PodState& p) { return *p.roleset == roleset; });
  }

  // Keeps `chosen`, which must have the lowest `value` of `pods`.
  template <class Value>
  void keep_lowest(const char* stage, const Pods& pods, Value value, const std::string& chosen) {
    applied(stage);
    const PodState* pod = find(pods, chosen);
    if (pod == nullptr || value(*pod) != min_of(pods, value)) {
      return problem(chosen + " is not the lowest of " + stage);
    }
    const std::string roleset = *pod->roleset;
    keep(decodes_, [&](const PodState& p) { return p.name == chosen; });
    if (std::any_of(prefills_.begin(), prefills_.end(),
                    [&](const PodState& p) { return *p.roleset == roleset; })) {
      keep(prefills_, [&](const PodState& p) { return *p.roleset == roleset; });
    }
  }

  void decode_fast_paths(const std::string& chosen) {
    Pods warm = decodes_;
    keep(warm, [](const PodState& p) { return !std::isnan(p.running); });
    if (!warm.empty() && max_of(warm, requests) - min_of(warm, requests) >= rules_.decode_spread) {
      return keep_lowest("decode_requests", warm, requests, chosen);
    }
    const auto throughput = [](const PodState& p) { return p.throughput; };
    Pods rated = decodes_;
    keep(rated, [](const PodState& p) { return !std::isnan(p.throughput); });
    if (!rated.empty() &&
        max_of(rated, throughput) - min_of(rated, throughput) > rules_.throughput_spread) {
      return keep_lowest("decode_throughput", rated, throughput, chosen);
    }
    if (!std::all_of(decodes_.begin(), decodes_.end(),
                     [](const PodState& p) { return p.drain_rate > 0; })) {
      return;
    }
    const auto ratio = [](const PodState& p) { return requests(p) / std::max(p.drain_rate, 0.1); };
    const double least = min_of(decodes_, ratio);
    if (least > 0 && max_of(decodes_, ratio) / least > rules_.ratio) {
      keep_lowest("decode_ratio", decodes_, ratio, chosen);
    }
  }

  void score_prefills() {
    const auto n = static_cast<double>(prefills_.size());
    double sum = 0, squares = 0;
    for (const auto& p : prefills_) sum += p.prefill_requests;
    const double mean = sum / n;
    for (const auto& p : prefills_) squares += std::pow(p.prefill_requests - mean, 2);
    const double deviation = n > 1 ? std::sqrt(squares / (n - 1)) : 0;
    const double most =
        floor1(max_of(prefills_, [](const PodState& p) { return p.prefill_requests * 1.0; }));
    for (const auto& p : prefills_) {
      if (p.prefill_requests > mean + rules_.deviations * deviation) continue;
      const double score =
          rules_.prefix_cache ? 100 * 0.1 + p.prefill_requests / most : p.prefill_requests * 1.0;
      result_.prefill_scores[p.name] = score;
      result_.max_prefill = std::max(result_.max_prefill, score);
    }
  }

  void score_decodes(double max_requests, double max_throughput, double max_free) {
    const bool some_warm = std::any_of(decodes_.begin(), decodes_.end(),
                                       [](const PodState& p) { return !std::isnan(p.running); });
    for (const auto& p : decodes_) {
      const double throughput = std::isnan(p.throughput) ? 0 : p.throughput;
      double score = requests(p);
      if (rules_.load_balancing) {
        score = (requests(p) / max_requests + (1 - throughput / max_throughput)) /
                (free_percent(p) / max_free);
      }
      if (some_warm && std::isnan(p.running)) score = 1.0 + p.pending;
      result_.decode_scores[p.name] = score;
      result_.max_decode = std::max(result_.max_decode, score);
    }
  }

  void check_final(const std::string& prefill, const std::string& decode) {
    std::map<std::string, double> best_prefill, best_decode;
    const auto best = [](const Pods& pods, const std::map<std::string, double>& scores,
                         std::map<std::string, double>& out) {
      for (const auto& p : pods) {
        const auto score = scores.find(p.name);
        if (score == scores.end()) continue;
        const auto [entry, fresh] = out.emplace(*p.roleset, score->second);
        if (!fresh) entry->second = std::min(entry->second, score->second);
      }
    };
    best(prefills_, result_.prefill_scores, best_prefill);
    best(decodes_, result_.decode_scores, best_decode);
    double least = kInfinity;
    for (const auto& [roleset, score] : best_prefill) {
      if (best_decode.count(roleset) == 0) continue;
      const double final_score = score / std::max(result_.max_prefill, 1.0) +
                                 best_decode[roleset] / std::max(result_.max_decode, 0.01);
      result_.finals[roleset] = final_score;
      least = std::min(least, final_score);
    }
    if (result_.finals.empty()) {
      result_.error = true;
      return;
    }
    const PodState* p = find(prefills_, prefill);
    const PodState* d = find(decodes_, decode);
    if (p == nullptr || d == nullptr) return problem("the pair is not among the candidates left");
    if (*p->roleset != *d->roleset) return problem("the pair is of two rolesets");
    if (result_.finals[*p->roleset] > least + 1e-12) return problem("another roleset is better");
    const auto score = result_.prefill_scores.find(prefill);
    if (score == result_.prefill_scores.end()) return problem("the prefill pod is overloaded");
    if (score->second != best_prefill[*p->roleset]) problem("another prefill pod is better");
    if (result_.decode_scores[decode] != best_decode[*p->roleset]) {
      problem("another decode pod is better");
    }
  }

  OracleRules rules_;
  Pods prefills_, decodes_;
  OracleResult result_;
};

}  // namespace pd::test
