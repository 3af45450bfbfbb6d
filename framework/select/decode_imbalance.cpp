#include "framework/select/decode_imbalance.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace pd {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Smallest and largest of some value over the candidates that are left, and one of the rows that
// have the smallest, each with the same chance.
class Extremes {
 public:
  explicit Extremes(RoutingContext& context) : context_(context) {}

  void add(std::uint32_t row, double value) {
    ++count_;
    most_ = std::max(most_, value);
    if (value < least_) {
      least_ = value;
      row_ = row;
      equals_ = 1;
    } else if (value == least_) {
      ++equals_;
      if (context_.shuffle && context_.stream(RandomStream::kRouter).below(equals_) == 0)
        row_ = row;
    }
  }

  std::uint32_t count() const { return count_; }
  double least() const { return least_; }
  double most() const { return most_; }
  std::uint32_t row() const { return row_; }

 private:
  RoutingContext& context_;
  double least_ = kInfinity;
  double most_ = -kInfinity;
  std::uint32_t row_ = 0;
  std::uint32_t equals_ = 0;
  std::uint32_t count_ = 0;
};

void keep_only(std::uint32_t chosen, SelectScratch& scratch) {
  CandidateTable& decode = scratch.decode;
  for (std::uint32_t row = 0; row < decode.size(); ++row) {
    if (row != chosen && decode.drops[row] == Drop::kNone) decode.drops[row] = Drop::kImbalance;
  }
  const std::uint32_t roleset = decode.pods[chosen]->roleset;
  CandidateTable& prefill = scratch.prefill;
  const auto stays = [&](std::uint32_t row) {
    return prefill.drops[row] == Drop::kNone && prefill.pods[row]->roleset == roleset;
  };
  bool any = false;
  for (std::uint32_t row = 0; row < prefill.size(); ++row) any = any || stays(row);
  if (!any) return;
  for (std::uint32_t row = 0; row < prefill.size(); ++row) {
    if (prefill.drops[row] == Drop::kNone && !stays(row)) prefill.drops[row] = Drop::kImbalance;
  }
}

}  // namespace

std::uint8_t prefer_least_loaded_decode(RoutingContext& context, const SelectSettings& settings,
                                        SelectScratch& scratch) {
  const CandidateTable& decode = scratch.decode;
  Extremes requests(context);
  Extremes throughput(context);
  Extremes per_drain_rate(context);
  bool every_drain_rate_known = true;
  for (std::uint32_t row = 0; row < decode.size(); ++row) {
    if (decode.drops[row] != Drop::kNone) continue;
    if (!std::isnan(decode.running[row])) requests.add(row, decode.requests[row]);
    if (!std::isnan(decode.throughput[row])) throughput.add(row, decode.throughput[row]);
    if (decode.drain_rate[row] > 0) {
      per_drain_rate.add(row, decode.requests[row] / std::max(decode.drain_rate[row], 0.1));
    } else {
      every_drain_rate_known = false;
    }
  }

  if (requests.count() > 1 && requests.most() - requests.least() >= settings.decode_min_spread) {
    keep_only(requests.row(), scratch);
    return kStageDecodeRequests;
  }
  if (throughput.count() > 1 &&
      throughput.most() - throughput.least() > settings.throughput_min_spread) {
    keep_only(throughput.row(), scratch);
    return kStageDecodeThroughput;
  }
  if (every_drain_rate_known && per_drain_rate.count() > 1 && per_drain_rate.least() > 0 &&
      per_drain_rate.most() / per_drain_rate.least() > settings.score_ratio) {
    keep_only(per_drain_rate.row(), scratch);
    return kStageDecodeRatio;
  }
  return kStageScores;
}

}  // namespace pd
