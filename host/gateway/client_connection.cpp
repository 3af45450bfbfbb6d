#include "host/gateway/client_connection.h"

#include <fmt/format.h>

#include <cstring>

#include "host/gateway/exchange.h"
#include "host/gateway/model_pages.h"
#include "host/gateway/request_identity.h"
#include "host/http/head_writer.h"

namespace pd {
namespace {

using boost::system::error_code;

constexpr std::size_t kFirstRead = 8 * 1024;
// What is read of a refused request before its connection is closed, so that the client gets to
// read the answer instead of a reset.
constexpr std::size_t kMostLingered = 1024 * 1024;
constexpr std::chrono::milliseconds kLingerTime(1000);

bool is_identity(std::string_view encoding) {
  return encoding.empty() || http::equals_ignoring_case(encoding, "identity");
}

}  // namespace

ClientConnection::ClientConnection(Worker& worker, ClientSocket socket)
    : worker_(worker), socket_(std::move(socket)), parser_([&] {
        http::ParserLimits limits = http::kRequestLimits;
        limits.head_bytes = static_cast<std::size_t>(worker.environment().settings.limits.header);
        limits.body_bytes = worker.environment().settings.limits.body;
        return limits;
      }()) {
  in_.resize(kFirstRead);
  phase_began_ = Worker::Clock::now();
  worker_.environment().connections_open.fetch_add(1, std::memory_order_relaxed);
}

ClientConnection::~ClientConnection() {
  worker_.environment().connections_open.fetch_sub(1, std::memory_order_relaxed);
}

void ClientConnection::start() {
  error_code ignored;  // a unix socket has no such option
  socket_.set_option(boost::asio::ip::tcp::no_delay(true), ignored);
  read();
}

// Reads behind what is there. While a request is in progress this only watches whether the client
// leaves; what comes is kept for the next request.
void ClientConnection::read() {
  if (reading_ || phase_ == Phase::kClosed) return;
  if (end_ == in_.size()) {
    const bool head_in_use = phase_ == Phase::kExchange || phase_ == Phase::kBody;
    if (head_in_use) return;  // full: the client cannot be watched until this request has ended
    in_.resize(in_.size() * 2);
  }
  reading_ = true;
  read_at_ = end_;
  socket_.async_read_some(
      boost::asio::buffer(in_.data() + read_at_, in_.size() - read_at_),
      [this, self = shared_from_this()](const error_code& error, std::size_t size) {
        reading_ = false;
        on_received(error, size);
      });
}

void ClientConnection::on_received(const error_code& error, std::size_t size) {
  if (phase_ == Phase::kClosed) return;
  if (error) {
    if (phase_ == Phase::kExchange) return client_left();
    return close();
  }
  if (phase_ == Phase::kLinger) {
    lingered_ += size;
    if (lingered_ > kMostLingered) return close();
    return read();
  }
  if (phase_ == Phase::kHead && begin_ == end_) phase_began_ = Worker::Clock::now();
  // What was there when the read began may have moved to the front since.
  if (read_at_ != end_) std::memmove(in_.data() + end_, in_.data() + read_at_, size);
  end_ += size;
  if (phase_ == Phase::kHead) return feed_head();
  if (phase_ == Phase::kBody) return feed_body();
  read();
}

void ClientConnection::feed_head() {
  const http::FeedResult fed = parser_.feed(std::span(in_.data() + begin_, end_ - begin_));
  if (fed.state == http::ParseState::kNeedHead) return read();
  if (fed.state == http::ParseState::kError) return refuse(from_http_error(*fed.error));
  begin_ += fed.consumed;
  route();
}

// Decides from the head alone what the request is.
void ClientConnection::route() {
  const http::RequestHead& head = parser_.head();
  must_close_ = !head.keep_alive;
  answer_bytes_ = 0;
  if (worker_.environment().draining.load(std::memory_order_relaxed)) {
    must_close_ = true;
    return refuse(shutting_down());
  }
  if (head.path == "/v1/models" || head.path.starts_with("/v1/models/")) return route_models();
  const bool chat = head.path == "/v1/chat/completions";
  if (!chat && head.path != "/v1/completions") return refuse(unknown_path(head.path));
  if (head.method != "POST") return refuse(wrong_method(head.method, "POST"));
  if (!is_identity(head.content_encoding)) {
    return refuse(unsupported_encoding(head.content_encoding));
  }
  const auto limit = worker_.environment().settings.limits.body;
  if (head.framing == http::Framing::kLength && head.content_length > limit) {
    return refuse(body_too_large(limit));
  }
  if (head.framing == http::Framing::kNone ||
      (head.framing == http::Framing::kLength && head.content_length == 0)) {
    return refuse(missing_body());
  }
  exchange_ = Exchange::admit(worker_, *this, chat ? Api::kChatCompletions : Api::kCompletions);
  if (exchange_ == nullptr) {
    return refuse(too_many_requests(worker_.environment().settings.limits.concurrent_requests));
  }
  begin_body();
}

void ClientConnection::route_models() {
  const http::RequestHead& head = parser_.head();
  if (head.method != "GET" && head.method != "HEAD") {
    return refuse(wrong_method(head.method, "GET, HEAD"));
  }
  if (head.framing != http::Framing::kNone) return refuse(unexpected_body(head.method));
  const auto& state = worker_.routing().get();
  auto page = model_page(*state->fleet, head.path);
  if (!page) return refuse(page.error());
  answer(200, {}, "application/json", std::move(*page));
}

void ClientConnection::begin_body() {
  const http::RequestHead& head = parser_.head();
  phase_ = Phase::kBody;
  phase_began_ = Worker::Clock::now();
  body_area_ = begin_;
  const bool length_known = head.framing == http::Framing::kLength;
  body_ = worker_.buffers().take(length_known ? static_cast<std::size_t>(head.content_length)
                                              : kFirstRead);
  if (head.expect_continue && begin_ == end_) {
    // The first bytes of an answer always fit; a client that is gone shows at the next read.
    error_code ignored;
    socket_.write_some(boost::asio::buffer(std::string_view("HTTP/1.1 100 Continue\r\n\r\n")),
                       ignored);
  }
  feed_body();
}

// Takes body bytes out of the input buffer: all of a chunked body, the beginning of one whose
// length is known.
void ClientConnection::feed_body() {
  const std::size_t limit = static_cast<std::size_t>(worker_.environment().settings.limits.body);
  while (begin_ < end_) {
    const http::FeedResult fed = parser_.feed(std::span(in_.data() + begin_, end_ - begin_));
    if (fed.state == http::ParseState::kError) return refuse(from_http_error(*fed.error));
    const std::size_t needed = body_.size + fed.payload.size();
    if (needed > limit) return refuse(body_too_large(limit));
    if (needed > body_.capacity) {
      body_ = worker_.buffers().grow(std::move(body_), std::max(needed, 2 * body_.capacity));
    }
    std::memcpy(body_.data.get() + body_.size, fed.payload.data(), fed.payload.size());
    body_.size = needed;
    begin_ += fed.consumed;
    if (fed.state == http::ParseState::kDone) return body_complete();
    if (fed.consumed == 0) break;
  }
  if (parser_.head().framing == http::Framing::kLength && !reading_) return read_body_directly();
  // The head stays where it is: only what lies behind it is reused.
  const std::size_t rest = end_ - begin_;
  std::memmove(in_.data() + body_area_, in_.data() + begin_, rest);
  begin_ = body_area_;
  end_ = body_area_ + rest;
  read();
}

// The rest of a body whose length is known goes straight to its final place.
void ClientConnection::read_body_directly() {
  reading_ = true;
  socket_.async_read_some(
      boost::asio::buffer(body_.data.get() + body_.size,
                          static_cast<std::size_t>(parser_.head().content_length) - body_.size),
      [this, self = shared_from_this()](const error_code& error, std::size_t size) {
        reading_ = false;
        if (phase_ != Phase::kBody) return;
        if (error) return close();
        const http::FeedResult fed = parser_.feed(std::span(body_.data.get() + body_.size, size));
        if (fed.state == http::ParseState::kError) return refuse(from_http_error(*fed.error));
        body_.size += fed.payload.size();
        if (fed.state == http::ParseState::kDone) return body_complete();
        read_body_directly();
      });
}

void ClientConnection::body_complete() {
  phase_ = Phase::kExchange;
  std::memset(body_.data.get() + body_.size, 0, kBodyPadding);
  read();
  exchange_->start(std::move(body_));
}

void ClientConnection::client_left() {
  auto exchange = std::move(exchange_);
  close();
  if (exchange != nullptr) exchange->client_left();
}

// Answers a request whose rest will not be read.
void ClientConnection::refuse(const GatewayError& error) {
  must_close_ = must_close_ || parser_.state() != http::ParseState::kDone;
  std::string id;
  if (exchange_ != nullptr) {
    auto exchange = std::move(exchange_);
    id = exchange->request_id();
    exchange->refused(error);
  } else {
    id = request_id_of(parser_.head(), worker_.random());
  }
  std::string fields;
  http::append_field(fields, "x-request-id", id);
  answer(error, fields);
}

void ClientConnection::answer(const GatewayError& error, std::string_view fields) {
  std::string all(fields);
  if (error.retry_after_s > 0) {
    http::append_field(all, "Retry-After", std::to_string(error.retry_after_s));
  }
  if (!error.allow.empty()) http::append_field(all, "Allow", error.allow);
  if (error.accept_identity) http::append_field(all, "Accept-Encoding", "identity");
  answer(error.status, all, "application/json", to_json(error));
}

void ClientConnection::answer(int status, std::string_view fields, std::string_view content_type,
                              std::string body) {
  phase_ = Phase::kExchange;
  head_out_.clear();
  http::append_response_start(head_out_, status);
  head_out_ += fields;
  if (!content_type.empty()) http::append_field(head_out_, "Content-Type", content_type);
  http::append_content_length(head_out_, body.size());
  if (!keep_alive()) http::append_connection_close(head_out_);
  http::end_head(head_out_);
  body_out_ = parser_.head().method == "HEAD" ? std::string() : std::move(body);
  answer_bytes_ = body_out_.size();
  writer_.clear();
  writer_.add(head_out_);
  writer_.add(body_out_);
  writing_ = true;
  write_began_ = Worker::Clock::now();
  writer_.write(socket_, [self = shared_from_this()](const error_code& error) {
    self->answer_written(!error);
  });
}

void ClientConnection::begin_answer(AnswerHead head) {
  const bool http_1_1 = parser_.head().version == 11;
  chunked_ = !head.content_length && http_1_1;
  if (!head.content_length && !http_1_1) must_close_ = true;  // the end of the answer is the end
  head_out_.clear();
  http::append_response_start(head_out_, head.status);
  head_out_ += head.fields;
  if (head.content_length) {
    http::append_content_length(head_out_, *head.content_length);
  } else if (chunked_) {
    http::append_chunked(head_out_);
  }
  if (!keep_alive()) http::append_connection_close(head_out_);
  http::end_head(head_out_);
}

void ClientConnection::write_piece(std::string_view payload, bool last, Written written) {
  writer_.clear();
  writer_.add(head_out_);  // the head goes out with the first piece, in one write
  if (chunked_ && !payload.empty()) {
    writer_.add({chunk_head_, http::format_chunk_head(chunk_head_, payload.size())});
    writer_.add(payload);
    writer_.add(http::kChunkEnd);
  } else {
    writer_.add(payload);
  }
  if (chunked_ && last) writer_.add(http::kLastChunk);
  answer_bytes_ += payload.size();
  writing_ = true;
  write_began_ = Worker::Clock::now();
  writer_.write(socket_, [this, self = shared_from_this(), last,
                          written = std::move(written)](const error_code& error) {
    writing_ = false;
    head_out_.clear();
    if (error) {
      written(false);
      if (phase_ != Phase::kClosed) client_left();
      return;
    }
    written(true);
    if (last) answer_written(true);
  });
}

void ClientConnection::abort_answer(const std::string& event) {
  must_close_ = true;
  if (!chunked_ || event.empty()) {
    exchange_.reset();
    return close();
  }
  body_out_ = event;
  write_piece(body_out_, true, [](bool) {});
}

void ClientConnection::answer_written(bool ok) {
  writing_ = false;
  exchange_.reset();
  if (phase_ == Phase::kClosed) return;
  if (!ok) return close();
  if (!keep_alive()) {
    return parser_.state() == http::ParseState::kDone && begin_ == end_ ? close() : linger();
  }
  next_request();
}

bool ClientConnection::keep_alive() const {
  return !must_close_ && !worker_.environment().draining.load(std::memory_order_relaxed);
}

void ClientConnection::next_request() {
  // What came behind the last request moves to the front.
  std::memmove(in_.data(), in_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  parser_.reset();
  phase_ = Phase::kHead;
  phase_began_ = Worker::Clock::now();
  if (end_ > 0) return feed_head();
  read();
}

// Half-closes and reads on for a while: closing at once could destroy the answer on its way.
void ClientConnection::linger() {
  phase_ = Phase::kLinger;
  phase_began_ = Worker::Clock::now();
  lingered_ = end_ - begin_;
  begin_ = end_ = 0;
  error_code ignored;
  socket_.shutdown(boost::asio::socket_base::shutdown_send, ignored);
  read();
}

void ClientConnection::check_deadlines(Worker::Clock::time_point now) {
  const TimeoutSettings& timeouts = worker_.environment().settings.timeouts;
  const auto in_phase = now - phase_began_;
  if (writing_ && now - write_began_ > timeouts.write) {
    if (phase_ == Phase::kExchange) return client_left();
    return close();
  }
  switch (phase_) {
    case Phase::kHead:
      if (begin_ == end_ && in_phase > timeouts.idle) return close();
      if (begin_ != end_ && in_phase > timeouts.header) {
        must_close_ = true;
        return refuse(slow_request("head", timeouts.header.count()));
      }
      return;
    case Phase::kBody:
      if (in_phase > timeouts.body) {
        must_close_ = true;
        return refuse(slow_request("body", timeouts.body.count()));
      }
      return;
    case Phase::kLinger:
      if (in_phase > kLingerTime) close();
      return;
    case Phase::kExchange:
    case Phase::kClosed:
      return;
  }
}

void ClientConnection::close() {
  if (phase_ == Phase::kClosed) return;
  phase_ = Phase::kClosed;
  error_code ignored;
  socket_.close(ignored);
  unlink();
  if (exchange_ != nullptr) {
    auto exchange = std::move(exchange_);
    exchange->client_left();
  }
}

}  // namespace pd
