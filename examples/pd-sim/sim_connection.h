#pragma once

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "examples/pd-sim/answer_port.h"
#include "examples/pd-sim/fault_injection.h"
#include "examples/pd-sim/sim_engine.h"
#include "examples/pd-sim/sim_http.h"

namespace pd::sim {

class SimPod;
using Socket =
    boost::asio::basic_stream_socket<boost::asio::ip::tcp, boost::asio::io_context::executor_type>;

// One client connection of a pod: reads requests one after the other, writes their answers, and
// does what the active wire fault says. Keeps itself alive through its pending operations.
class SimConnection final : public AnswerPort, public std::enable_shared_from_this<SimConnection> {
 public:
  SimConnection(Socket socket, SimPod& pod);
  void start();
  // Ends the connection; `reset` sends RST instead of FIN. A request in progress is given up.
  void close(bool reset);
  // The last request was an admin one: faults of the pod leave this connection alone.
  bool serves_admin() const { return serves_admin_; }

  void answer(int status, std::string_view content_type, std::string_view body) override;
  void begin_stream() override;
  void flush_head() override;
  void send_event(std::string_view event) override;
  void end_stream() override;

 private:
  void read_more();
  void on_read(std::size_t size);
  void on_peer_gone();
  void process();
  // Reads the next request from the buffer. False: more bytes are needed.
  bool next_request();
  bool body_complete(std::size_t head_size);
  void dispatch(std::string_view body, std::size_t body_capacity);
  void drop_consumed();
  void refuse_framing(std::string_view reason);
  void reserve(std::size_t capacity);
  std::string_view buffered() const { return {buffer_.get(), size_}; }

  void complete();
  void settle();
  void transmit(std::vector<WireStep> steps);
  void run_script();
  void act(WireStep::Then then);
  void send_now(std::string_view bytes);
  void write_backlog();

  Socket socket_;
  SimPod& pod_;
  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_ = 0;
  std::size_t size_ = 0;
  std::size_t scanned_ = 0;   // no end of head before this offset
  std::size_t consumed_ = 0;  // bytes of the buffer that the current request used up
  std::optional<ChunkedBody> chunked_;
  std::size_t chunked_at_ = 0;
  bool continue_sent_ = false;
  RequestHead head_;

  std::shared_ptr<Exchange> exchange_;
  bool reading_ = false;
  bool busy_ = false;  // a request is being answered
  bool dispatching_ = false;
  bool processing_ = false;
  bool answered_ = false;
  bool keep_alive_ = true;
  bool serves_admin_ = false;
  bool closed_ = false;

  std::string out_;
  std::string stream_head_;
  std::string backlog_;
  std::string in_flight_;
  bool writing_ = false;
  bool muted_ = false;  // nothing more goes out: a fault said so, or the peer is gone
  std::optional<WireScript> script_;
  std::deque<WireStep> steps_;
  std::optional<Timer> script_timer_;
  bool script_waiting_ = false;
};

}  // namespace pd::sim
