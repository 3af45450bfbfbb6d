#include "host/upstream/leg.h"

#include <fmt/format.h>

#include <cstring>

namespace pd {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kReadBuffer = 32 * 1024;

bool is_out_of_descriptors(const error_code& error) {
  return error == boost::system::errc::too_many_files_open ||
         error == boost::system::errc::too_many_files_open_in_system;
}

}  // namespace

void Leg::start(const std::string& host, std::uint16_t port, const std::string& address,
                LegRequest request) {
  host_ = host;
  port_ = port;
  address_ = address;
  request_ = std::move(request);
  connection_ = pool_.take(address_);
  if (connection_ != nullptr) {
    send();
  } else {
    connect();
  }
}

void Leg::connect() {
  connection_ = std::make_unique<UpstreamConnection>(io_, address_);
  error_code not_an_address;
  const auto ip = boost::asio::ip::make_address(host_, not_an_address);
  if (!not_an_address) return connect_to({tcp::endpoint(ip, port_)}, 0);
  resolver_.async_resolve(
      host_, std::to_string(port_),
      [this, self = shared_from_this()](const error_code& error, const auto& results) {
        if (ended()) return;
        if (error) {
          return fail(LegFault::kResolve,
                      fmt::format("the host name {} has no address: {}", host_, error.message()));
        }
        std::vector<tcp::endpoint> endpoints;
        for (const auto& result : results) endpoints.push_back(result.endpoint());
        connect_to(std::move(endpoints), 0);
      });
}

// Tries the addresses of a name one after the other.
void Leg::connect_to(std::vector<tcp::endpoint> endpoints, std::size_t next) {
  const tcp::endpoint endpoint = endpoints[next];
  error_code opened;
  connection_->socket.open(endpoint.protocol(), opened);
  if (opened) {
    return boost::asio::post(io_, [this, self = shared_from_this(), opened] {
      if (ended()) return;
      fail(is_out_of_descriptors(opened) ? LegFault::kNoSockets : LegFault::kConnect,
           fmt::format("no socket for {}: {}", address_, opened.message()));
    });
  }
  error_code ignored;
  connection_->socket.set_option(tcp::no_delay(true), ignored);
  connection_->socket.async_connect(
      endpoint, [this, self = shared_from_this(), endpoints = std::move(endpoints),
                 next](const error_code& error) mutable {
        if (ended()) return;
        if (!error) return send();
        error_code close_ignored;
        connection_->socket.close(close_ignored);
        if (next + 1 < endpoints.size()) return connect_to(std::move(endpoints), next + 1);
        fail(LegFault::kConnect,
             fmt::format("{} does not accept connections: {}", address_, error.message()));
      });
}

void Leg::send() {
  connected_ = true;
  connection_->parser.reset();
  connection_->begin = connection_->end = 0;
  writer_.clear();
  writer_.add(request_.head);
  for (const auto piece : request_.body) writer_.add(piece);
  writer_.write(connection_->socket,
                [this, self = shared_from_this(), attempt = attempt_](const error_code& error) {
                  if (ended() || attempt != attempt_) return;
                  if (!error) {
                    sent_ = true;
                    return;
                  }
                  // The pod may have answered and closed before it read everything; the read will
                  // tell.
                  if (!connection_->reused && error != boost::system::errc::connection_reset &&
                      error != boost::system::errc::broken_pipe) {
                    broken(error);
                  }
                });
  read();
}

void Leg::read() {
  UpstreamConnection& connection = *connection_;
  if (connection.begin == connection.end) connection.begin = connection.end = 0;
  if (connection.buffer.size() < kReadBuffer) connection.buffer.resize(kReadBuffer);
  if (connection.end == connection.buffer.size()) {
    if (connection.begin > 0) {
      std::memmove(connection.buffer.data(), connection.buffer.data() + connection.begin,
                   connection.end - connection.begin);
      connection.end -= connection.begin;
      connection.begin = 0;
    } else {
      connection.buffer.resize(connection.buffer.size() * 2);  // a head larger than the buffer
    }
  }
  connection.socket.async_read_some(boost::asio::buffer(connection.buffer.data() + connection.end,
                                                        connection.buffer.size() - connection.end),
                                    [this, self = shared_from_this(), attempt = attempt_](
                                        const error_code& error, std::size_t size) {
                                      if (!ended() && attempt == attempt_) on_received(error, size);
                                    });
}

void Leg::on_received(const error_code& error, std::size_t size) {
  if (error == boost::asio::error::eof) {
    if (!any_byte_) return broken(error);
    const http::FeedResult fed = connection_->parser.feed_eof();
    if (fed.state == http::ParseState::kError) {
      return fail(head_given_ ? LegFault::kTruncated : LegFault::kReset, fed.error->text);
    }
    return deliver(fed);
  }
  if (error) return broken(error);
  any_byte_ = true;
  connection_->end += size;
  feed();
}

void Leg::feed() {
  UpstreamConnection& connection = *connection_;
  const http::FeedResult fed = connection.parser.feed(
      std::span(connection.buffer.data() + connection.begin, connection.end - connection.begin));
  connection.begin += fed.consumed;
  if (fed.state == http::ParseState::kNeedHead) return read();
  if (fed.state == http::ParseState::kError && fed.payload.empty()) {
    const bool cut_off = fed.error->code == http::HttpErrorCode::kTruncatedBody;
    return fail(cut_off ? LegFault::kTruncated : LegFault::kMalformed, fed.error->text);
  }
  if (!head_given_) {
    head_given_ = true;
    auto self = shared_from_this();
    events_->on_leg_head(connection.parser.head());
    if (ended()) return;
    // The feed that completes the head takes no body: look at what came behind it.
    if (fed.state == http::ParseState::kNeedBody && connection.begin < connection.end)
      return feed();
  }
  deliver(fed);
}

void Leg::deliver(const http::FeedResult& fed) {
  done_ = fed.state == http::ParseState::kDone;
  if (fed.payload.empty() && !done_) return read();
  auto self = shared_from_this();
  events_->on_leg_payload(fed.payload, done_);
}

void Leg::resume() {
  if (ended()) return;
  if (done_) return finish();
  // A fault that came together with the last payload waits in the parser.
  const bool faulty = connection_->parser.state() == http::ParseState::kError;
  if (faulty || connection_->begin < connection_->end) return feed();
  read();
}

// The answer was read to its end: the connection can carry the next request, unless one side said
// otherwise or more came than was asked for.
void Leg::finish() {
  events_ = nullptr;
  const bool clean =
      connection_->parser.head().keep_alive && sent_ && connection_->begin == connection_->end;
  if (clean) {
    pool_.put(std::move(connection_));
  } else {
    connection_.reset();
  }
}

void Leg::cancel() {
  if (ended()) return;
  if (done_) return finish();
  events_ = nullptr;
  resolver_.cancel();
  if (connection_ != nullptr) {
    error_code ignored;
    connection_->socket.close(ignored);
  }
}

void Leg::broken(const error_code& error) {
  if (connection_->reused && !any_byte_) {
    ++attempt_;
    connected_ = false;
    sent_ = false;
    return connect();
  }
  fail(head_given_ ? LegFault::kTruncated : LegFault::kReset,
       fmt::format("the connection to {} broke: {}", address_, error.message()));
}

void Leg::fail(LegFault fault, const std::string& text) {
  auto self = shared_from_this();
  LegEvents* events = events_;
  cancel();
  events->on_leg_fault(fault, text);
}

}  // namespace pd
