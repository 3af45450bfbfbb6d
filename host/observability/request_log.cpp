#include "host/observability/request_log.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <cmath>

#include "framework/policy/untrusted_text.h"
#include "host/gateway/gateway_error.h"

namespace pd {
namespace {

std::size_t memory_of(const RequestRecord& record) {
  std::size_t bytes = sizeof(RequestRecord);
  for (const DecisionRecord& decision : record.decisions) bytes += decision.memory();
  return bytes;
}

std::string milliseconds(double value) {
  return std::isnan(value) ? "-" : fmt::format("{:.1f}", value);
}

std::string json_milliseconds(double value) {
  return std::isnan(value) ? "null" : fmt::format("{:.3f}", value);
}

// A value in a line for programs: control bytes are spelled out, as terminals show such lines, too.
std::string json_shown(std::string_view text) {
  return json_quoted(printable_text(text));
}

// A value in a line for people: quoted where a blank in it could pose as the next field.
std::string shown(std::string_view text) {
  if (text.empty()) return "-";
  const std::string printable = printable_text(text);
  return printable.find_first_of(" \"=") == std::string::npos ? printable : json_quoted(printable);
}

std::string_view outcome_of(const RequestRecord& record) {
  if (record.client_left) return "client_left";
  if (record.truncated) return "truncated";
  if (!record.error_code.empty()) return "error";
  return record.status < 400 ? "ok" : "engine_error";
}

}  // namespace

void DecisionStore::add(std::shared_ptr<const RequestRecord> record) {
  if (most_records_ == 0) return;
  const std::lock_guard lock(mutex_);
  bytes_ += memory_of(*record);
  by_id_[record->request_id] = record;
  records_.push_back(std::move(record));
  while (records_.size() > most_records_ || (bytes_ > most_bytes_ && records_.size() > 1)) {
    const auto& oldest = records_.front();
    bytes_ -= memory_of(*oldest);
    const auto it = by_id_.find(oldest->request_id);
    if (it != by_id_.end() && it->second == oldest) by_id_.erase(it);
    records_.pop_front();
  }
}

std::shared_ptr<const RequestRecord> DecisionStore::find(const std::string& request_id) const {
  const std::lock_guard lock(mutex_);
  const auto it = by_id_.find(request_id);
  return it == by_id_.end() ? nullptr : it->second;
}

std::vector<std::shared_ptr<const RequestRecord>> DecisionStore::newest(std::size_t count) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<const RequestRecord>> out;
  for (auto it = records_.rbegin(); it != records_.rend() && out.size() < count; ++it) {
    out.push_back(*it);
  }
  return out;
}

RequestRecordQueue::~RequestRecordQueue() {
  while (pop() != nullptr) {
  }
}

void RequestRecordQueue::push(std::unique_ptr<RequestRecord> record) {
  if (ring_.push(record.get())) {
    static_cast<void>(record.release());
  } else {
    dropped_.fetch_add(1, std::memory_order_relaxed);
  }
}

std::unique_ptr<RequestRecord> RequestRecordQueue::pop() {
  RequestRecord* record = nullptr;
  ring_.pop(record);
  return std::unique_ptr<RequestRecord>(record);
}

RequestLog::RequestLog(std::size_t workers, DecisionStore& store, bool json,
                       std::function<void()> housekeeping)
    : store_(store), json_(json), housekeeping_(std::move(housekeeping)) {
  for (std::size_t i = 0; i < workers; ++i)
    queues_.push_back(std::make_unique<RequestRecordQueue>());
  thread_ = std::thread([this] { run(); });
}

RequestLog::~RequestLog() {
  stop();
}

std::uint64_t RequestLog::dropped() const {
  std::uint64_t sum = 0;
  for (const auto& queue : queues_) sum += queue->dropped();
  return sum;
}

void RequestLog::stop() {
  stopping_.store(true, std::memory_order_release);
  if (thread_.joinable()) thread_.join();
}

// A turn every few milliseconds costs less than waking this thread for every request.
void RequestLog::run() {
  constexpr std::chrono::milliseconds kTurn(5);
  while (!stopping_.load(std::memory_order_acquire)) {
    if (!drain()) std::this_thread::sleep_for(kTurn);
    housekeeping_();
  }
  while (drain()) {
  }
  housekeeping_();
}

bool RequestLog::drain() {
  bool any = false;
  for (const auto& queue : queues_) {
    while (auto record = queue->pop()) {
      any = true;
      if (spdlog::should_log(spdlog::level::info)) spdlog::info(format_line(*record, json_));
      store_.add(std::move(record));
    }
  }
  return any;
}

std::string format_line(const RequestRecord& r, bool json) {
  if (json) {
    return fmt::format(
        R"({{"request_id":{},"path":{},"model":{},"status":{},"outcome":"{}","code":{},"prefill":{},)"
        R"("decode":{},"handoff":{},"stream":{},"attempts":{},"request_bytes":{},"answer_bytes":{},)"
        R"("events":{},"selection_ms":{},"prefill_ms":{},"first_byte_ms":{},"total_ms":{}}})",
        json_shown(r.request_id), json_shown(r.path), json_shown(r.model), r.status, outcome_of(r),
        r.error_code.empty() ? "null" : json_shown(r.error_code), json_shown(r.prefill_pod),
        json_shown(r.decode_pod), json_shown(r.handoff), r.stream, r.attempts, r.request_bytes,
        r.answer_bytes, r.events, json_milliseconds(r.selection_ms),
        json_milliseconds(r.prefill_ms), json_milliseconds(r.first_byte_ms),
        json_milliseconds(r.total_ms));
  }
  return fmt::format(
      "request {} {} model={} status={} outcome={}{}{} prefill={} decode={} handoff={} stream={} "
      "attempts={} in={}B out={}B events={} select={}ms prefill={}ms first_byte={}ms total={}ms",
      shown(r.request_id), shown(r.path), shown(r.model), r.status, outcome_of(r),
      r.error_code.empty() ? "" : " code=", r.error_code.empty() ? "" : shown(r.error_code),
      shown(r.prefill_pod), shown(r.decode_pod), shown(r.handoff), r.stream ? "yes" : "no",
      r.attempts, r.request_bytes, r.answer_bytes, r.events, milliseconds(r.selection_ms),
      milliseconds(r.prefill_ms), milliseconds(r.first_byte_ms), milliseconds(r.total_ms));
}

}  // namespace pd
