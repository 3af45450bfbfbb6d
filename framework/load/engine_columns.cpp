#include "framework/load/engine_columns.h"

namespace pd {

namespace {

std::unique_ptr<std::atomic<double>[]> unknown_column(std::size_t size) {
  auto column = std::make_unique<std::atomic<double>[]>(size);
  for (std::size_t i = 0; i < size; ++i) {
    column[i].store(std::numeric_limits<double>::quiet_NaN(), std::memory_order_relaxed);
  }
  return column;
}

}  // namespace

EngineColumns::EngineColumns(std::size_t pods)
    : series_(unknown_column(pods * kMaxWantedSeries)),
      sampled_at_(std::make_unique<std::atomic<std::uint64_t>[]>(pods)) {
  for (Column& column : columns_) column = unknown_column(pods);
}

void EngineColumns::store(std::size_t pod, const EngineSample& sample, std::uint64_t now_ns) {
  const auto put = [&](EngineColumn column, double value) {
    columns_[static_cast<std::size_t>(column)][pod].store(value, std::memory_order_relaxed);
  };
  put(EngineColumn::kRunning, sample.running);
  put(EngineColumn::kWaiting, sample.waiting);
  put(EngineColumn::kThroughput, sample.throughput);
  put(EngineColumn::kKvUsage, sample.kv_usage);
  put(EngineColumn::kKvBlocks, sample.kv_blocks);
  put(EngineColumn::kKvBlockTokens, sample.kv_block_tokens);
  put(EngineColumn::kPrefillTimeMs, sample.prefill_time_ms);
  put(EngineColumn::kDrainRate, sample.drain_rate);
  put(EngineColumn::kPrefillPrealloc, sample.prefill_prealloc);
  put(EngineColumn::kDecodePrealloc, sample.decode_prealloc);
  sampled_at_[pod].store(now_ns, std::memory_order_relaxed);
}

void EngineColumns::copy_row(std::size_t pod, const EngineColumns& from, std::size_t from_pod) {
  for (std::size_t c = 0; c < kEngineColumnCount; ++c) {
    columns_[c][pod].store(from.columns_[c][from_pod].load(std::memory_order_relaxed),
                           std::memory_order_relaxed);
  }
  for (std::uint32_t s = 0; s < kMaxWantedSeries; ++s)
    store_series(s, pod, from.series(s, from_pod));
  sampled_at_[pod].store(from.sampled_at(from_pod), std::memory_order_relaxed);
}

}  // namespace pd
