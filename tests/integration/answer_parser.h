#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pd::test {

// One HTTP answer as a strict client reads it.
struct WireAnswer {
  enum class End : std::uint8_t {
    kWhole,   // as long as its framing says
    kClosed,  // the connection ended first, or the body was framed by the end of the connection
    kReset,
    kTimeout,  // nothing came for the client's patience
    kBroken,   // not HTTP; `problem` says why
  };

  int status = 0;  // 0: no status line came
  std::string version;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;  // chunks decoded
  End end = End::kTimeout;
  std::string problem;
  std::size_t interim = 0;  // 1xx answers in front
  bool close_framed = false;

  bool whole() const { return end == End::kWhole; }
  // The first header of that name in any case; empty without one.
  std::string header(std::string_view name) const;
  std::size_t count(std::string_view name) const;
  // All headers, one a line: for messages.
  std::string head() const;
};

// Takes the bytes of one answer in any pieces; what follows the answer stays in rest().
class AnswerParser {
 public:
  // `to_head`: the answer to HEAD, without a body whatever its headers say.
  explicit AnswerParser(bool to_head = false) : to_head_(to_head) {}

  // True when the answer is whole or broken.
  bool feed(std::string_view bytes);
  // The connection ended.
  void end(WireAnswer::End how);
  const WireAnswer& answer() const { return answer_; }
  std::string rest() { return std::exchange(wire_, {}); }

 private:
  enum class State : std::uint8_t { kHead, kLength, kChunks, kUntilClose, kDone };
  bool read_head();
  void choose_framing();
  bool read_chunks();
  void fail(std::string why);

  bool to_head_;
  State state_ = State::kHead;
  std::string wire_;
  std::size_t missing_ = 0;
  WireAnswer answer_;
};

}  // namespace pd::test
