#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/integration/deployment.h"

namespace pd::test {

// What an engine writes as its answer, byte for byte.
struct EngineScript {
  enum class Framing : std::uint8_t {
    kChunked,  // every send is one chunk
    kClose,
    kPlain,  // the headers say whatever the script says
  };
  enum class End : std::uint8_t {
    kClean,  // the last chunk; for kClose the end of the connection
    kFin,    // closes without the last chunk
    kReset,
    kOpen,  // nothing more, the connection stays
  };
  struct Step {
    std::string send;
    std::chrono::milliseconds pause{0};  // after it
  };

  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers{{"Content-Type", "text/event-stream"}};
  Framing framing = Framing::kChunked;
  std::vector<Step> steps;
  End end = End::kClean;
  // A second POST on one connection gets no answer but the end: what a client meets whose
  // request crosses the engine's close of an idle connection.
  bool drop_second_post = false;
};

// An engine that plays its script for every POST, on a port that the kernel picked. A GET gets a
// small plain answer, so that scrapes succeed.
class ScriptedEngine {
 public:
  explicit ScriptedEngine(EngineScript script);
  ~ScriptedEngine();
  ScriptedEngine(const ScriptedEngine&) = delete;
  ScriptedEngine& operator=(const ScriptedEngine&) = delete;

  std::uint16_t port() const { return port_; }
  // The POSTs that came in, in order.
  std::vector<SeenRequest> posts() const;
  // Connections that the peer closed while a script left them open.
  std::size_t closed_by_peer() const { return closed_by_peer_; }
  // The next POST plays this one.
  void play(EngineScript script);

 private:
  void accept_all();
  void serve(int fd);
  // Reads one request; false at the end of the connection.
  bool read_request(int fd, std::string& wire, SeenRequest& request) const;
  // False when the connection is over.
  bool answer(int fd, const EngineScript& script);

  mutable std::mutex mutex_;
  EngineScript script_;
  std::vector<SeenRequest> posts_;
  std::vector<int> open_;
  std::vector<std::thread> threads_;
  std::atomic<std::size_t> closed_by_peer_{0};
  std::atomic<bool> stopping_{false};
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::thread acceptor_;
};

// A prefill answer with a whole hand-off, as a plain JSON answer.
EngineScript good_prefill();
// A plain JSON answer.
EngineScript json_answer(int status, const std::string& body);
// One event of a streamed chat answer; `finish` is JSON, null or a quoted reason.
std::string chat_event(std::string_view content, std::string_view finish = "null");

}  // namespace pd::test
