#include "framework/select/load_gather.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace pd {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

bool is_fresh(std::uint64_t sampled_at, std::uint64_t now_ns, const SelectSettings& settings) {
  if (sampled_at == 0) return false;
  return settings.stale_ns == 0 || now_ns < sampled_at || now_ns - sampled_at <= settings.stale_ns;
}

// Reads the columns of one pod; everything is unknown when its last sample is too old.
class SampleReader {
 public:
  SampleReader(const Fleet& fleet, std::uint64_t now_ns, const SelectSettings& settings)
      : columns_(fleet.columns()), now_ns_(now_ns), settings_(settings) {}

  bool fresh(const Pod& pod) const {
    return is_fresh(columns_.sampled_at(pod.index), now_ns_, settings_);
  }
  double value(EngineColumn column, const Pod& pod) const {
    return fresh(pod) ? columns_.value(column, pod.index) : kUnknown;
  }
  std::uint64_t now_ns() const { return now_ns_; }
  double age_s(const Pod& pod) const {
    const std::uint64_t at = columns_.sampled_at(pod.index);
    if (at == 0) return kUnknown;
    return now_ns_ > at ? static_cast<double>(now_ns_ - at) / 1e9 : 0.0;
  }

 private:
  const EngineColumns& columns_;
  std::uint64_t now_ns_;
  const SelectSettings& settings_;
};

double own_count(const std::atomic<std::uint32_t>& count) {
  return count.load(std::memory_order_relaxed);
}

double active_decode_requests(double engine_running, double own) {
  if (std::isnan(engine_running)) return own > 0 ? own : kUnknown;
  return std::max(engine_running, own);
}

double free_percent(double kv_usage) {
  if (std::isnan(kv_usage)) return 100;
  const double free = std::round(100 - 100 * kv_usage);
  return free <= 0 ? 0.1 : free;
}

// Largest value of the rows that are left, at least 1; NaN never is the largest.
double max_of(const CandidateTable& table, const std::vector<double>& values) {
  double max = 1;
  for (std::size_t row = 0; row < table.size(); ++row) {
    if (table.drops[row] == Drop::kNone && values[row] > max) max = values[row];
  }
  return max;
}

// One pd_load column: the bit that asks for it, where it goes, and how to read it for one pod.
struct LoadColumn {
  std::uint64_t bit;
  const double* pd_load::*target;
  double (*read)(const SampleReader& samples, const Pod& pod);
};

template <EngineColumn kColumn>
double read_sample(const SampleReader& samples, const Pod& pod) {
  return samples.value(kColumn, pod);
}

constexpr std::array<LoadColumn, 20> kLoadColumns{{
    {PD_USES_RUNNING, &pd_load::running, read_sample<EngineColumn::kRunning>},
    {PD_USES_WAITING, &pd_load::waiting, read_sample<EngineColumn::kWaiting>},
    {PD_USES_THROUGHPUT, &pd_load::throughput, read_sample<EngineColumn::kThroughput>},
    {PD_USES_KV_USAGE, &pd_load::kv_usage, read_sample<EngineColumn::kKvUsage>},
    {PD_USES_KV_BLOCKS, &pd_load::kv_blocks, read_sample<EngineColumn::kKvBlocks>},
    {PD_USES_KV_BLOCKS, &pd_load::kv_block_tokens, read_sample<EngineColumn::kKvBlockTokens>},
    {PD_USES_PREFILL_TIME, &pd_load::prefill_time_ms, read_sample<EngineColumn::kPrefillTimeMs>},
    {PD_USES_DRAIN_RATE, &pd_load::drain_rate, read_sample<EngineColumn::kDrainRate>},
    {PD_USES_PREALLOC, &pd_load::prefill_prealloc, read_sample<EngineColumn::kPrefillPrealloc>},
    {PD_USES_PREALLOC, &pd_load::decode_prealloc, read_sample<EngineColumn::kDecodePrealloc>},
    {PD_USES_SAMPLE_AGE, &pd_load::sample_age_s,
     [](const SampleReader& samples, const Pod& pod) { return samples.age_s(pod); }},
    {PD_USES_OWN_REQUESTS, &pd_load::prefill_requests,
     [](const SampleReader&, const Pod& pod) { return own_count(pod.slot->prefill_requests); }},
    {PD_USES_OWN_REQUESTS, &pd_load::decode_requests,
     [](const SampleReader&, const Pod& pod) { return own_count(pod.slot->decode_requests); }},
    {PD_USES_OWN_REQUESTS, &pd_load::pending_decode,
     [](const SampleReader&, const Pod& pod) { return own_count(pod.slot->pending_decode); }},
    {PD_USES_OWN_TOKENS, &pd_load::prefill_tokens,
     [](const SampleReader&, const Pod& pod) {
       return static_cast<double>(pod.slot->prefill_tokens.load(std::memory_order_relaxed));
     }},
    {PD_USES_OWN_TOKENS, &pd_load::decode_tokens,
     [](const SampleReader&, const Pod& pod) {
       return static_cast<double>(pod.slot->decode_tokens.load(std::memory_order_relaxed));
     }},
    {PD_USES_IDLE_TIME, &pd_load::idle_s,
     [](const SampleReader& samples, const Pod& pod) {
       return pod.slot->averages.idle_s(samples.now_ns());
     }},
    {PD_USES_OUTCOME_AVERAGES, &pd_load::ttft_ms,
     [](const SampleReader&, const Pod& pod) { return pod.slot->averages.ttft_ms(); }},
    {PD_USES_OUTCOME_AVERAGES, &pd_load::inter_token_ms,
     [](const SampleReader&, const Pod& pod) { return pod.slot->averages.inter_token_ms(); }},
    {PD_USES_OUTCOME_AVERAGES, &pd_load::error_rate,
     [](const SampleReader&, const Pod& pod) { return pod.slot->averages.error_rate(); }},
}};

}  // namespace

void gather_prefill_load(CandidateTable& table) {
  table.requests.clear();
  for (const Pod* pod : table.pods)
    table.requests.push_back(own_count(pod->slot->prefill_requests));
}

void gather_decode_load(CandidateTable& table, const Fleet& fleet, std::uint64_t now_ns,
                        const SelectSettings& settings) {
  const SampleReader samples(fleet, now_ns, settings);
  for (const Pod* pod : table.pods) {
    const double pending = own_count(pod->slot->pending_decode);
    const double running = active_decode_requests(samples.value(EngineColumn::kRunning, *pod),
                                                  own_count(pod->slot->decode_requests));
    table.running.push_back(running);
    table.pending.push_back(pending);
    table.requests.push_back((std::isnan(running) ? 0 : running) + pending);
    table.throughput.push_back(samples.value(EngineColumn::kThroughput, *pod));
    table.free_gpu_percent.push_back(free_percent(samples.value(EngineColumn::kKvUsage, *pod)));
    table.drain_rate.push_back(samples.value(EngineColumn::kDrainRate, *pod));
  }
}

void gather_maxima(CandidateTable& table) {
  table.max_requests = max_of(table, table.requests);
}

void gather_decode_maxima(CandidateTable& table) {
  table.max_requests = max_of(table, table.requests);
  table.max_throughput = max_of(table, table.throughput);
  table.max_free_gpu = max_of(table, table.free_gpu_percent);
}

void gather_load_columns(BatchColumns& batch, const CandidateTable& table, std::uint64_t uses,
                         const Fleet& fleet, std::uint64_t now_ns, const SelectSettings& settings) {
  const SampleReader samples(fleet, now_ns, settings);
  const std::size_t count = batch.rows.size();
  batch.load = pd_load{};
  batch.load.struct_size = sizeof(pd_load);
  batch.load_columns.resize(kLoadColumns.size() * count);
  double* next = batch.load_columns.data();
  for (const LoadColumn& column : kLoadColumns) {
    if ((uses & column.bit) == 0) continue;
    for (std::size_t i = 0; i < count; ++i) {
      next[i] = column.read(samples, *table.pods[batch.rows[i]]);
    }
    batch.load.*column.target = next;
    next += count;
  }
}

}  // namespace pd
