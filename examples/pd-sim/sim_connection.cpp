#include "examples/pd-sim/sim_connection.h"

#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <cstring>
#include <utility>

#include "examples/pd-sim/sim_pod.h"

namespace pd::sim {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr std::size_t kFirstBuffer = 16 * 1024;
constexpr std::size_t kHeadLimit = 64 * 1024;
constexpr std::size_t kBodyLimit = 256 * 1024 * 1024;
constexpr std::size_t kBodyPadding = 64;  // what the JSON parser may read behind the body
constexpr std::size_t kFillerHeader = 1000;
constexpr std::string_view kStreamHead =
    "HTTP/1.1 200 OK\r\nserver: uvicorn\r\ncontent-type: text/event-stream; charset=utf-8\r\n"
    "transfer-encoding: chunked\r\n";

void append_filler_headers(std::string& head, std::uint64_t bytes) {
  for (std::uint64_t i = 0; i * kFillerHeader < bytes; ++i) {
    head += "x-filler-" + std::to_string(i) + ": " + std::string(kFillerHeader, 'x') + "\r\n";
  }
}

}  // namespace

SimConnection::SimConnection(Socket socket, SimPod& pod) : socket_(std::move(socket)), pod_(pod) {
  reserve(kFirstBuffer);
}

void SimConnection::start() {
  error_code ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  socket_.non_blocking(true, ignored);
  read_more();
}

void SimConnection::close(bool reset) {
  if (closed_) return;
  closed_ = muted_ = true;
  pod_.forget(*this);
  if (exchange_ && !answered_) exchange_->client_gone();
  if (busy_) settle();
  error_code ignored;
  if (reset) {
    socket_.set_option(asio::socket_base::linger(true, 0), ignored);
  } else {
    socket_.shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
  }
  socket_.close(ignored);
  if (script_timer_) script_timer_->cancel();
  // The caller may be a method of the exchange.
  asio::post(pod_.executor(), [self = shared_from_this()] { self->exchange_.reset(); });
}

void SimConnection::read_more() {
  if (reading_ || closed_) return;
  reading_ = true;
  if (capacity_ - size_ < kBodyPadding * 2) reserve(capacity_ * 2);
  socket_.async_read_some(asio::buffer(buffer_.get() + size_, capacity_ - size_ - kBodyPadding),
                          [self = shared_from_this()](error_code error, std::size_t size) {
                            self->reading_ = false;
                            if (self->closed_) return;
                            if (error) return self->on_peer_gone();
                            self->on_read(size);
                          });
}

void SimConnection::on_read(std::size_t size) {
  size_ += size;
  process();
}

void SimConnection::on_peer_gone() {
  if (busy_ && !answered_) pod_.counters().aborted += 1;
  close(false);
}

void SimConnection::process() {
  processing_ = true;
  while (!closed_ && !busy_ && next_request()) {
  }
  processing_ = false;
  // Also while a request is being answered: this is how the client's leaving is seen.
  read_more();
}

bool SimConnection::next_request() {
  const std::size_t end = buffered().find("\r\n\r\n", scanned_);
  if (end == std::string_view::npos) {
    if (size_ > kHeadLimit) refuse_framing("head above 64 KiB");
    scanned_ = size_ < 3 ? 0 : size_ - 3;
    return false;
  }
  const std::size_t head_size = end + 4;
  scanned_ = end;
  head_ = {};
  const auto error = parse_request_head(buffered().substr(0, head_size), head_);
  if (!error.empty()) return refuse_framing(error), false;
  if (head_.upgrade) return refuse_framing("Upgrade not taken"), false;
  if (head_.content_length > kBodyLimit) return refuse_framing("body above 256 MiB"), false;
  if (head_.expects_continue && !std::exchange(continue_sent_, true)) {
    send_now("HTTP/1.1 100 Continue\r\n\r\n");
  }
  if (!body_complete(head_size)) return false;
  if (chunked_) {
    std::string& body = chunked_->body();
    body.reserve(body.size() + kBodyPadding);
    dispatch(body, body.capacity());
  } else {
    consumed_ = head_size + head_.content_length;
    dispatch(buffered().substr(head_size, head_.content_length), capacity_ - head_size);
  }
  drop_consumed();
  return true;
}

bool SimConnection::body_complete(std::size_t head_size) {
  if (!head_.chunked) {
    const std::size_t needed = head_size + head_.content_length;
    if (size_ >= needed) return true;
    // One buffer for the whole body, so that it comes in few large reads. The head is parsed
    // again when the body is here: growing moves it.
    reserve(needed + 2 * kBodyPadding);
    return false;
  }
  if (!chunked_) {
    chunked_.emplace();
    chunked_at_ = head_size;
  }
  std::size_t used = 0;
  const auto status = chunked_->feed(buffered().substr(chunked_at_), used);
  chunked_at_ += used;
  if (status == ChunkedBody::Status::kBroken || chunked_->body().size() > kBodyLimit) {
    refuse_framing("broken or too long chunked body");
    return false;
  }
  consumed_ = chunked_at_;
  return status == ChunkedBody::Status::kDone;
}

void SimConnection::dispatch(std::string_view body, std::size_t body_capacity) {
  busy_ = dispatching_ = true;
  answered_ = false;
  keep_alive_ = head_.keep_alive;
  ReceivedRequest request{head_.method, head_.path,    head_.query,
                          body,         body_capacity, head_.request_id};
  serves_admin_ = request.path.starts_with("/sim/");
  if (!serves_admin_) {
    pod_.on_request(buffered().substr(0, scanned_ + 2), body);
    if (auto fault = pod_.faults().take_wire(request.path)) script_.emplace(std::move(*fault));
  }
  if (script_ && script_->fault().kind == FaultKind::kStatus) {
    const Fault& fault = script_->fault();
    answer(fault.status, kJson,
           fault.body.empty() ? pod_.error_body(fault.status, "fault injected") : fault.body);
  } else {
    exchange_ = pod_.handle(request, shared_from_this());
  }
  dispatching_ = false;
  if (!stream_head_.empty()) flush_head();
  if (answered_) complete();
}

void SimConnection::drop_consumed() {
  size_ -= consumed_;
  if (size_ > 0) std::memmove(buffer_.get(), buffer_.get() + consumed_, size_);
  scanned_ = consumed_ = 0;
  chunked_.reset();
  continue_sent_ = false;
}

void SimConnection::refuse_framing(std::string_view reason) {
  busy_ = true;
  answered_ = keep_alive_ = false;
  exchange_.reset();
  pod_.counters().bad_framing += 1;
  answer(400, "text/plain; charset=utf-8", "Invalid HTTP request received: " + std::string(reason));
}

void SimConnection::reserve(std::size_t capacity) {
  if (capacity <= capacity_) return;
  std::unique_ptr<char[]> larger(new char[capacity]);
  if (size_ > 0) std::memcpy(larger.get(), buffer_.get(), size_);
  buffer_ = std::move(larger);
  capacity_ = capacity;
}

void SimConnection::answer(int status, std::string_view content_type, std::string_view body) {
  if (closed_ || answered_) return;
  std::uint64_t length = body.size();
  if (script_ && script_->fault().kind == FaultKind::kMalformedJson) {
    body = body.substr(0, body.size() / 2);
    length = body.size();
  }
  if (script_ && script_->fault().kind == FaultKind::kWrongContentLength) {
    length = static_cast<std::uint64_t>(static_cast<std::int64_t>(length) +
                                        script_->fault().length_delta);
  }
  out_.clear();
  out_.append("HTTP/1.1 ").append(std::to_string(status)).append(" ");
  out_.append(reason_phrase(status)).append("\r\nserver: uvicorn\r\ncontent-length: ");
  out_.append(std::to_string(length)).append("\r\ncontent-type: ").append(content_type);
  out_.append("\r\n");
  if (!keep_alive_) out_ += "connection: close\r\n";
  if (script_ && script_->fault().kind == FaultKind::kHugeHeaders) {
    append_filler_headers(out_, script_->fault().header_bytes);
  }
  out_ += "\r\n";
  answered_ = true;
  if (script_) {
    transmit(script_->head(out_, body));
  } else {
    out_ += body;
    send_now(out_);
  }
  if (!dispatching_) complete();
}

void SimConnection::begin_stream() {
  stream_head_ = kStreamHead;
  if (!keep_alive_) stream_head_ += "connection: close\r\n";
  if (script_ && script_->fault().kind == FaultKind::kHugeHeaders) {
    append_filler_headers(stream_head_, script_->fault().header_bytes);
  }
  stream_head_ += "\r\n";
}

void SimConnection::flush_head() {
  if (closed_ || stream_head_.empty()) return;
  const std::string head = std::exchange(stream_head_, {});
  if (script_) {
    transmit(script_->head(head, {}));
  } else {
    send_now(head);
  }
}

void SimConnection::send_event(std::string_view event) {
  if (closed_) return;
  if (script_) {
    flush_head();
    transmit(script_->event(chunk_frame(event), event));
    return;
  }
  out_ = std::exchange(stream_head_, {});
  append_chunk(out_, event);
  send_now(out_);
}

void SimConnection::end_stream() {
  if (closed_ || answered_) return;
  flush_head();
  answered_ = true;
  if (script_) {
    transmit(script_->end("0\r\n\r\n"));
  } else {
    send_now("0\r\n\r\n");
  }
  if (!dispatching_) complete();
}

void SimConnection::complete() {
  if (!answered_ || closed_ || muted_ || !steps_.empty()) return;
  settle();
  if (!keep_alive_) {
    if (!writing_) close(false);
    return;
  }
  if (processing_) return;
  if (size_ == 0) return read_more();
  asio::post(pod_.executor(), [self = shared_from_this()] {
    if (!self->closed_) self->process();
  });
}

void SimConnection::settle() {
  busy_ = false;
  script_.reset();
  stream_head_.clear();
}

void SimConnection::transmit(std::vector<WireStep> steps) {
  if (muted_) return;
  for (WireStep& step : steps) steps_.push_back(std::move(step));
  if (!script_waiting_) run_script();
}

void SimConnection::run_script() {
  while (!steps_.empty() && !muted_) {
    WireStep& step = steps_.front();
    if (step.wait_before > Duration::zero()) {
      if (!script_timer_) script_timer_.emplace(pod_.context());
      script_timer_->expires_after(std::exchange(step.wait_before, Duration::zero()));
      script_waiting_ = true;
      script_timer_->async_wait([self = shared_from_this()](error_code error) {
        self->script_waiting_ = false;
        if (error || self->closed_) return;
        self->run_script();
        self->complete();
      });
      return;
    }
    const WireStep done = std::move(step);
    steps_.pop_front();
    if (!done.bytes.empty()) send_now(done.bytes);
    if (done.then == WireStep::Then::kGoOn) continue;
    muted_ = true;
    // Not at once: the caller may be the exchange that closing would end.
    asio::post(pod_.executor(), [self = shared_from_this(), then = done.then] { self->act(then); });
  }
}

void SimConnection::act(WireStep::Then then) {
  error_code ignored;
  if (closed_) return;
  if (then == WireStep::Then::kReset) return close(true);
  if (then == WireStep::Then::kClose) return close(false);
  if (then == WireStep::Then::kHalfClose) {
    socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  }
  read_more();  // half-closed or hanging: until the client leaves
}

void SimConnection::send_now(std::string_view bytes) {
  if (closed_ || muted_) return;
  if (!writing_ && backlog_.empty()) {
    error_code error;
    const std::size_t sent = socket_.send(asio::buffer(bytes.data(), bytes.size()), 0, error);
    if (error && error != asio::error::would_block) {
      muted_ = true;
      asio::post(pod_.executor(), [self = shared_from_this()] {
        if (!self->closed_) self->on_peer_gone();
      });
      return;
    }
    bytes.remove_prefix(sent);
    if (bytes.empty()) return;
  }
  backlog_ += bytes;
  write_backlog();
}

void SimConnection::write_backlog() {
  if (writing_ || backlog_.empty() || closed_) return;
  writing_ = true;
  in_flight_ = std::exchange(backlog_, {});
  asio::async_write(socket_, asio::buffer(in_flight_),
                    [self = shared_from_this()](error_code error, std::size_t) {
                      self->writing_ = false;
                      if (self->closed_) return;
                      if (error) return self->on_peer_gone();
                      self->write_backlog();
                      if (!self->writing_ && !self->busy_ && !self->keep_alive_) self->close(false);
                    });
}

}  // namespace pd::sim
