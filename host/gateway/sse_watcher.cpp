#include "host/gateway/sse_watcher.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace pd {
namespace {

constexpr std::string_view kFinishKey = "\"finish_reason\":";

// Is this `"finish_reason": "..."`, from the key on? null and an incomplete value are not.
bool names_a_reason(std::string_view from_key) {
  from_key.remove_prefix(kFinishKey.size());
  const std::size_t at = from_key.find_first_not_of(' ');
  return at != std::string_view::npos && from_key[at] == '"';
}

bool holds_reason(std::string_view bytes) {
  for (std::size_t at = bytes.find(kFinishKey); at != std::string_view::npos;
       at = bytes.find(kFinishKey, at + 1)) {
    if (names_a_reason(bytes.substr(at))) return true;
  }
  return false;
}

// Does the JSON object begin with the key "error", and is that not null?
bool begins_with_error(std::string_view json) {
  std::string compact;  // without blanks; the line's beginning is short
  for (const char c : json) {
    if (c != ' ') compact.push_back(c);
  }
  constexpr std::string_view kKey = "{\"error\":";
  return compact.starts_with(kKey) &&
         !std::string_view(compact).substr(kKey.size()).starts_with("null");
}

}  // namespace

void SseWatcher::feed(std::string_view bytes) {
  if (!finished_) look_for_finish(bytes);
  std::size_t at = 0;
  // Two searches for one byte each are many times faster than one for either.
  std::size_t line_feed = std::min(bytes.find('\n'), bytes.size());
  std::size_t carriage_return = std::min(bytes.find('\r'), bytes.size());
  while (at < bytes.size()) {
    if (line_feed < at) line_feed = std::min(bytes.find('\n', at), bytes.size());
    if (carriage_return < at) carriage_return = std::min(bytes.find('\r', at), bytes.size());
    const std::size_t end = std::min(line_feed, carriage_return);
    if (line_size_ < kLineStart) {
      const std::size_t size = std::min(end - at, kLineStart - line_size_);
      std::memcpy(line_.data() + line_size_, bytes.data() + at, size);
      line_size_ += size;
    }
    if (end == bytes.size()) return;
    end_line();
    at = end + 1;
  }
}

void SseWatcher::end_line() {
  std::string_view line(line_.data(), line_size_);
  line_size_ = 0;
  line_seen_ = true;
  if (line == "event: error" || line == "event:error") error_ = true;
  if (line.substr(0, 5) != "data:") return;
  ++events_;
  line.remove_prefix(5);
  if (!line.empty() && line.front() == ' ') line.remove_prefix(1);
  if (line == "[DONE]") done_ = true;
  if (begins_with_error(line)) error_ = true;
}

// The key and its value may be split over two pieces.
void SseWatcher::look_for_finish(std::string_view bytes) {
  std::array<char, 128> seam;
  const std::size_t head = std::min<std::size_t>(bytes.size(), tail_.size());
  std::memcpy(seam.data(), tail_.data(), tail_size_);
  std::memcpy(seam.data() + tail_size_, bytes.data(), head);
  finished_ = holds_reason({seam.data(), tail_size_ + head}) || holds_reason(bytes);

  const std::size_t kept = std::min(tail_size_ + head, tail_.size());
  if (bytes.size() >= tail_.size()) {
    std::memcpy(tail_.data(), bytes.data() + bytes.size() - tail_.size(), tail_.size());
  } else {
    std::memcpy(tail_.data(), seam.data() + tail_size_ + head - kept, kept);
  }
  tail_size_ = kept;
}

}  // namespace pd
