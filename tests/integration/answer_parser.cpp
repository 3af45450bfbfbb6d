#include "tests/integration/answer_parser.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

namespace pd::test {
namespace {

bool same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

std::optional<std::size_t> number(std::string_view text, int base) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

}  // namespace

std::string WireAnswer::header(std::string_view name) const {
  const auto found = std::ranges::find_if(
      headers, [&](const auto& field) { return same_name(field.first, name); });
  return found == headers.end() ? std::string() : found->second;
}

std::size_t WireAnswer::count(std::string_view name) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      headers, [&](const auto& field) { return same_name(field.first, name); }));
}

std::string WireAnswer::head() const {
  std::string all = version + " " + std::to_string(status) + "\n";
  for (const auto& [name, value] : headers) all.append(name).append(": ").append(value) += '\n';
  return all;
}

bool AnswerParser::feed(std::string_view bytes) {
  wire_.append(bytes);
  if (state_ == State::kHead && !read_head()) return state_ == State::kDone;
  if (state_ == State::kChunks && !read_chunks()) return state_ == State::kDone;
  if (state_ == State::kLength) {
    const std::size_t taken = std::min(missing_, wire_.size());
    answer_.body.append(wire_, 0, taken);
    wire_.erase(0, taken);
    missing_ -= taken;
    if (missing_ > 0) return false;
  }
  if (state_ == State::kUntilClose) {
    answer_.body += std::exchange(wire_, {});
    return false;
  }
  if (state_ != State::kDone) answer_.end = WireAnswer::End::kWhole;
  state_ = State::kDone;
  return true;
}

void AnswerParser::end(WireAnswer::End how) {
  if (state_ == State::kDone) return;
  answer_.end = how;
  if (state_ == State::kHead && !wire_.empty()) answer_.problem = "cut inside the head: " + wire_;
}

bool AnswerParser::read_head() {
  for (;;) {
    const std::size_t end = wire_.find("\r\n\r\n");
    if (end == std::string::npos) return false;
    const std::string head = wire_.substr(0, end + 2);
    wire_.erase(0, end + 4);
    const std::size_t first = head.find("\r\n");
    const std::string_view line = std::string_view(head).substr(0, first);
    const std::size_t status = line.size() < 12 ? 0 : number(line.substr(9, 3), 10).value_or(0);
    if (!line.starts_with("HTTP/1.") || status < 100) {
      fail("status line: " + std::string(line));
      return false;
    }
    if (status < 200 && status != 101) {
      ++answer_.interim;
      continue;
    }
    answer_.status = static_cast<int>(status);
    answer_.version = line.substr(0, 8);
    std::size_t at = first + 2;
    while (at < head.size()) {
      const std::size_t stop = head.find("\r\n", at);
      const std::string_view field = std::string_view(head).substr(at, stop - at);
      const std::size_t colon = field.find(':');
      if (colon == std::string_view::npos || colon == 0) {
        fail("header line: " + std::string(field));
        return false;
      }
      answer_.headers.emplace_back(field.substr(0, colon), trimmed(field.substr(colon + 1)));
      at = stop + 2;
    }
    choose_framing();
    return state_ != State::kDone;
  }
}

void AnswerParser::choose_framing() {
  const bool chunked = answer_.count("transfer-encoding") > 0;
  const std::size_t lengths = answer_.count("content-length");
  state_ = State::kLength;
  if (to_head_ || answer_.status == 204 || answer_.status == 304) return;
  if (chunked && lengths > 0) return fail("Content-Length and Transfer-Encoding");
  if (lengths > 1) return fail("two Content-Length");
  if (chunked) {
    if (!same_name(answer_.header("transfer-encoding"), "chunked")) return fail("transfer coding");
    state_ = State::kChunks;
    return;
  }
  if (lengths == 0) {
    answer_.close_framed = true;
    state_ = State::kUntilClose;
    return;
  }
  const auto length = number(answer_.header("content-length"), 10);
  if (!length) return fail("Content-Length " + answer_.header("content-length"));
  missing_ = *length;
}

bool AnswerParser::read_chunks() {
  for (;;) {
    const std::size_t line = wire_.find("\r\n");
    if (line == std::string::npos) return false;
    const auto size = number(std::string_view(wire_).substr(0, line), 16);
    if (!size) {
      fail("chunk size: " + wire_.substr(0, line));
      return false;
    }
    if (wire_.size() < line + 2 + *size + 2) return false;
    if (wire_.compare(line + 2 + *size, 2, "\r\n") != 0) {
      fail("no line end behind a chunk");
      return false;
    }
    answer_.body.append(wire_, line + 2, *size);
    wire_.erase(0, line + 2 + *size + 2);
    if (*size == 0) return true;
  }
}

void AnswerParser::fail(std::string why) {
  answer_.problem = std::move(why);
  answer_.end = WireAnswer::End::kBroken;
  state_ = State::kDone;
}

}  // namespace pd::test
