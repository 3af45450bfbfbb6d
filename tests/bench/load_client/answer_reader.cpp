#include "tests/bench/load_client/answer_reader.h"

#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <charconv>

namespace pd::bench {
namespace {

constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kHeadEnd = "\r\n\r\n";
constexpr std::string_view kDoneEvent = "data: [DONE]\n\n";
constexpr std::string_view kContent = "\"content\":\"";

// Value of a header, without blanks around it; data() is nullptr when there is none.
std::string_view header(std::string_view head, std::string_view name) {
  std::size_t at = head.find(kLineEnd);
  while (at != std::string_view::npos) {
    at += kLineEnd.size();
    const std::string_view line = head.substr(at, head.find(kLineEnd, at) - at);
    if (line.size() > name.size() && line[name.size()] == ':' &&
        strncasecmp(line.data(), name.data(), name.size()) == 0) {
      const std::string_view value = line.substr(name.size() + 1);
      return value.substr(std::min(value.find_first_not_of(' '), value.size()));
    }
    at = head.find(kLineEnd, at);
  }
  return {};
}

bool parse(std::string_view text, int base, std::size_t& value) {
  const char* end = text.data() + text.size();
  return !text.empty() && std::from_chars(text.data(), end, value, base).ptr == end;
}

// The inside of the JSON string that starts at `at`.
std::string_view json_string_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
  return text.substr(at, end - at);
}

std::string stream_fault(const ChatRequest& request, std::string_view body) {
  if (!body.ends_with(kDoneEvent)) return "the stream does not end with [DONE]";
  std::size_t events = 0;
  std::size_t told = 0;
  while (!body.empty()) {
    const std::size_t end = body.find("\n\n");
    if (end == std::string_view::npos || !body.starts_with("data: ")) return "a malformed event";
    const std::string_view event = body.substr(0, end);
    body.remove_prefix(end + 2);
    ++events;
    const std::size_t content = event.find(kContent);
    if (content == std::string_view::npos) continue;
    const std::string_view text = json_string_at(event, content + kContent.size());
    if (!std::string_view(request.answer).substr(told).starts_with(text)) return "a wrong token";
    told += text.size();
  }
  if (told != request.answer.size()) return "the text of the stream is too short";
  const std::size_t expected = std::size_t{request.tokens} + 2;  // the role before, [DONE] behind
  return events == expected ? "" : fmt::format("{} events instead of {}", events, expected);
}

std::string whole_fault(const ChatRequest& request, std::string_view body) {
  const std::size_t content = body.find(kContent);
  if (content == std::string_view::npos) return "no content";
  if (json_string_at(body, content + kContent.size()) != request.answer) return "a wrong text";
  return body.ends_with('}') ? "" : "the body does not end with }";
}

}  // namespace

AnswerReader::State AnswerReader::feed(std::string_view bytes) {
  pending_.append(bytes);
  while (state_ != State::kDone && state_ != State::kBroken && step()) {
  }
  if (state_ == State::kDone && at_ != pending_.size()) broken("bytes behind the answer");
  return state_;
}

void AnswerReader::reset() {
  state_ = State::kHead;
  pending_.clear();
  at_ = 0;
  body_.clear();
}

// One part of the message; false when it needs more bytes.
bool AnswerReader::step() {
  switch (state_) {
    case State::kHead:
      return read_head();
    case State::kFixed:
      return read_fixed();
    case State::kChunkSize:
      return read_chunk_size();
    case State::kChunkData:
      return read_chunk_data();
    case State::kTrailer:
      return read_trailer();
    case State::kDone:
    case State::kBroken:
      break;
  }
  return false;
}

bool AnswerReader::read_head() {
  const std::size_t end = pending_.find(kHeadEnd);
  if (end == std::string::npos) return false;
  const std::string_view head(pending_.data(), end);
  at_ = end + kHeadEnd.size();
  std::size_t code = 0;
  if (!head.starts_with("HTTP/1.1 ") || !parse(head.substr(9, 3), 10, code)) {
    return broken("no HTTP/1.1 status line");
  }
  status_ = static_cast<int>(code);
  const std::string_view length = header(head, "content-length");
  chunked_ = header(head, "transfer-encoding") == "chunked";
  if (chunked_ == (length.data() != nullptr)) return broken("not exactly one kind of framing");
  if (!chunked_ && !parse(length, 10, left_)) return broken("a malformed Content-Length");
  state_ = chunked_ ? State::kChunkSize : State::kFixed;
  return true;
}

bool AnswerReader::read_fixed() {
  const std::size_t take = std::min(left_, pending_.size() - at_);
  body_.append(pending_, at_, take);
  at_ += take;
  left_ -= take;
  if (left_ > 0) return false;
  state_ = State::kDone;
  return true;
}

bool AnswerReader::read_chunk_size() {
  const std::size_t end = pending_.find(kLineEnd, at_);
  if (end == std::string::npos) return false;
  if (!parse(std::string_view(pending_).substr(at_, end - at_), 16, left_)) {
    return broken("a malformed chunk size");
  }
  at_ = end + kLineEnd.size();
  state_ = left_ == 0 ? State::kTrailer : State::kChunkData;
  return true;
}

bool AnswerReader::read_chunk_data() {
  if (pending_.size() - at_ < left_ + kLineEnd.size()) return false;
  body_.append(pending_, at_, left_);
  at_ += left_;
  if (pending_.compare(at_, kLineEnd.size(), kLineEnd) != 0) return broken("a chunk without end");
  at_ += kLineEnd.size();
  state_ = State::kChunkSize;
  return true;
}

bool AnswerReader::read_trailer() {
  if (pending_.size() - at_ < kLineEnd.size()) return false;
  if (pending_.compare(at_, kLineEnd.size(), kLineEnd) != 0) return broken("trailers");
  at_ += kLineEnd.size();
  state_ = State::kDone;
  return true;
}

bool AnswerReader::broken(std::string why) {
  fault_ = std::move(why);
  state_ = State::kBroken;
  return false;
}

std::string answer_fault(const ChatRequest& request, const AnswerReader& answer) {
  if (answer.status() != 200) {
    return fmt::format("status {}: {}", answer.status(), answer.body().substr(0, 300));
  }
  if (answer.chunked() != request.stream) return "framing of the other kind of answer";
  return request.stream ? stream_fault(request, answer.body())
                        : whole_fault(request, answer.body());
}

}  // namespace pd::bench
