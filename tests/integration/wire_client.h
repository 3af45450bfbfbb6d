#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "tests/integration/answer_parser.h"

namespace pd::test {

// Builds a request; `headers` are whole lines, each with its line end. A body gets a
// Content-Length, and a content type of JSON unless the headers name one.
std::string http_request(std::string_view method, std::string_view target,
                         std::string_view body = {}, std::string_view headers = {});

// One connection over a plain blocking socket, for whatever bytes a test wants on the wire.
class WireClient {
 public:
  static constexpr std::chrono::milliseconds kPatience{30000};

  // connected() is false when the port refuses.
  explicit WireClient(std::uint16_t port);
  ~WireClient() { close(); }
  WireClient(WireClient&& other) noexcept;
  WireClient(const WireClient&) = delete;
  WireClient& operator=(const WireClient&) = delete;
  WireClient& operator=(WireClient&&) = delete;

  bool connected() const { return fd_ >= 0; }
  // False when the peer took no more.
  bool send(std::string_view bytes) const;
  // Reads one answer; gives up after `patience` without a byte.
  WireAnswer read(std::chrono::milliseconds patience = kPatience);
  WireAnswer read_head_answer();
  // Reads until `text` has come (and keeps it for read()); false when the connection ended first.
  bool read_until(std::string_view text);
  // Waits for bytes (and keeps them for read()) or for the end; false when nothing came.
  bool await_bytes(std::chrono::milliseconds patience);
  // All bytes up to the end of the connection, or what came within the patience.
  std::string read_to_end(std::chrono::milliseconds patience = kPatience);
  // Whether the peer ends the connection without another byte.
  bool ends(std::chrono::milliseconds patience = kPatience);
  void close();
  // Ends the connection with RST.
  void reset();
  void shutdown_write() const;

 private:
  enum class Got : std::uint8_t { kBytes, kClosed, kReset, kTimeout };
  Got receive(std::chrono::milliseconds patience);
  WireAnswer read_with(AnswerParser parser, std::chrono::milliseconds patience);

  int fd_ = -1;
  std::string pending_;
};

// Waits until the condition holds; false after a generous deadline.
bool eventually(const std::function<bool()>& condition,
                std::chrono::milliseconds deadline = std::chrono::seconds(20));

}  // namespace pd::test
