// One client connection: reads requests, hands each to an exchange, writes answers. Knows HTTP/1.1
// towards the client, and nothing of pods.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/gateway/gateway_error.h"
#include "host/gateway/worker.h"
#include "host/http/head_writer.h"
#include "host/http/message_parser.h"
#include "host/upstream/gather_writer.h"

namespace pd {

class Exchange;

// The beginning of an answer that is relayed piece by piece.
struct AnswerHead {
  int status = 200;
  std::string fields;                           // ready header lines, each with CRLF
  std::optional<std::uint64_t> content_length;  // absent: chunked, or until close for HTTP/1.0
};

// Kept alive by its pending operations. Used by its worker's thread.
class ClientConnection final : public std::enable_shared_from_this<ClientConnection>,
                               public Supervised {
 public:
  using Written = std::function<void(bool ok)>;

  ClientConnection(Worker& worker, ClientSocket socket);
  ~ClientConnection() override;

  void start();

  // For the exchange of the current request:
  const http::RequestHead& request_head() const { return parser_.head(); }

  // A complete answer. Ends the request.
  void answer(int status, std::string_view fields, std::string_view content_type, std::string body);
  void answer(const GatewayError& error, std::string_view fields);

  // An answer in pieces: begin_answer, then write_piece as often as needed, then one end_answer or
  // abort_answer. `written` comes when the piece may be reused. One piece at a time.
  void begin_answer(AnswerHead head);
  void write_piece(std::string_view payload, bool last, Written written);
  // Ends an answer that broke off: with `event` as a last event where the framing allows it, else
  // by closing the connection so that it cannot look whole.
  void abort_answer(const std::string& event);

  std::uint64_t answer_bytes() const { return answer_bytes_; }

  // Checks the deadlines of this connection; called by the worker's timer.
  void check_deadlines(Worker::Clock::time_point now) override;
  void close();
  void cut() override { close(); }
  bool idle() const override { return phase_ == Phase::kHead && begin_ == end_; }

 private:
  enum class Phase { kHead, kBody, kExchange, kLinger, kClosed };

  void read();
  void on_received(const boost::system::error_code& error, std::size_t size);
  void feed_head();
  void route();
  void route_models();
  void begin_body();
  void feed_body();
  void read_body_directly();
  void body_complete();
  void client_left();
  void refuse(const GatewayError& error);
  void answer_written(bool ok);
  void next_request();
  void linger();
  bool keep_alive() const;

  Worker& worker_;
  ClientSocket socket_;
  http::RequestParser parser_;
  std::vector<char> in_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::size_t read_at_ = 0;    // where the pending read puts its bytes
  std::size_t body_area_ = 0;  // where the bytes behind the head begin; the head must not move
  BodyBuffer body_;
  Phase phase_ = Phase::kHead;
  bool reading_ = false;
  bool writing_ = false;
  bool must_close_ = false;  // after the current answer
  bool chunked_ = false;     // framing of the current answer
  std::uint64_t answer_bytes_ = 0;
  std::size_t lingered_ = 0;
  Worker::Clock::time_point phase_began_;
  Worker::Clock::time_point write_began_;
  GatherWriter writer_;
  std::string head_out_;
  std::string body_out_;
  char chunk_head_[http::kMaxChunkHead];
  std::shared_ptr<Exchange> exchange_;
};

}  // namespace pd
