#pragma once
// Finds the end of a message head in a growing buffer, and refuses on the way what can be seen
// line by line, so that a peer which never sends a well-formed end is answered at once.

#include <cstddef>
#include <optional>
#include <string_view>

#include "host/http/http_error.h"

namespace pd::http {

// Not thread-safe; one per connection.
class HeadScanner {
 public:
  explicit HeadScanner(Sender sender) : sender_(sender) {}

  struct Outcome {
    bool complete = false;
    std::string_view head;               // from the start line through the empty line
    std::size_t end = 0;                 // offset behind the head
    std::optional<HttpErrorCode> fault;  // set: the head can never become valid
  };

  // Looks at `data`, which begins where the message begins and holds at least what earlier calls
  // for this message were given. Each byte is looked at once over all calls, and the outcome does
  // not depend on how the bytes were split. `limit` is the largest head allowed, in bytes.
  // One empty line in front of a request is skipped (RFC 9112, 2.2).
  Outcome scan(std::string_view data, std::size_t limit);

  // True once a byte of this message was seen.
  bool started() const { return scanned_ > 0; }

  void reset() { scanned_ = line_start_ = begin_ = 0; }

 private:
  std::optional<HttpErrorCode> check_first_byte(char c) const;

  Sender sender_;
  std::size_t scanned_ = 0;     // bytes looked at
  std::size_t line_start_ = 0;  // offset of the line that is not yet finished
  std::size_t begin_ = 0;       // offset of the start line
};

}  // namespace pd::http
