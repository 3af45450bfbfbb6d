// Reads along an SSE answer that is relayed as it is: whether it ended as it should, and whether
// the engine reported an error in it. Remembers a few bytes, never a line.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace pd {

// Lines may end with LF, CRLF or CR, and pieces may break anywhere.
class SseWatcher {
 public:
  void feed(std::string_view bytes);

  std::uint64_t events() const { return events_; }  // data lines so far
  bool done() const { return done_; }               // `data: [DONE]` was seen
  bool line_seen() const { return line_seen_; }     // some line has ended
  // A data line whose JSON begins with the key "error", or an event of that name.
  bool error() const { return error_; }
  bool finished() const { return finished_; }  // some choice had a finish_reason

 private:
  void end_line();
  void look_for_finish(std::string_view bytes);

  static constexpr std::size_t kLineStart = 32;
  std::array<char, kLineStart> line_{};  // the beginning of the current line
  std::size_t line_size_ = 0;            // bytes of it, at most kLineStart
  std::array<char, 64> tail_{};          // the end of the last piece
  std::size_t tail_size_ = 0;
  std::uint64_t events_ = 0;
  bool line_seen_ = false;
  bool done_ = false;
  bool error_ = false;
  bool finished_ = false;
};

}  // namespace pd
