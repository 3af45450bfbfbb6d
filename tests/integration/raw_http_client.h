#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pd::test {

// How an answer ended on the wire.
enum class Ending : std::uint8_t { kComplete, kClosed, kReset, kTimeout };

struct RawAnswer {
  int status = 0;  // 0: no status line came
  std::string head;
  std::string body;  // chunks decoded
  Ending ending = Ending::kComplete;
  std::size_t bytes = 0;  // on the wire
  std::size_t reads = 0;  // recv calls that brought something

  // The data of the server-sent events.
  std::vector<std::string> events() const;
};

// One keep-alive connection over a plain blocking socket.
class RawHttpClient {
 public:
  // connected() is false when the port refuses.
  explicit RawHttpClient(std::uint16_t port);
  ~RawHttpClient();
  RawHttpClient(const RawHttpClient&) = delete;
  RawHttpClient& operator=(const RawHttpClient&) = delete;

  bool connected() const { return fd_ >= 0; }
  void send(std::string_view bytes) const;
  // `headers` are whole lines, each with its line end.
  void post(std::string_view path, std::string_view body, std::string_view headers = {}) const;
  void get(std::string_view path) const;
  // Reads one answer; gives up after `patience_ms` without a byte.
  RawAnswer read(int patience_ms = 10000);
  // Reads until `text` has come; false when the connection ended first.
  bool read_until(std::string_view text);
  void close();

 private:
  enum class Got : std::uint8_t { kBytes, kClosed, kReset, kTimeout };
  Got receive();
  int fd_ = -1;
  std::string pending_;
  std::size_t reads_ = 0;
};

}  // namespace pd::test
