// One request to one pod: connect or reuse, send, read the answer. The caller gets the answer's
// head and payload through LegEvents and decides what to do with them; a leg knows no policy and no
// client.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "host/engines/body_splice.h"
#include "host/http/message_parser.h"
#include "host/upstream/upstream_pool.h"

namespace pd {

enum class LegFault {
  kResolve,    // the host name has no address
  kConnect,    // refused or unreachable
  kReset,      // the connection broke before the answer's head
  kMalformed,  // the answer is not HTTP as we take it
  kTruncated,  // the answer broke off after its head
  kNoSockets,  // this process has no descriptor left
};

// Receives what happens on a leg. Calls come from the worker's thread, never from within start().
class LegEvents {
 public:
  virtual ~LegEvents() = default;
  // The answer's head is complete; it stays valid until on_leg_payload is called.
  virtual void on_leg_head(const http::ResponseHead& head) = 0;
  // Bytes of the body, valid until resume(); `done` with the last of them, maybe none. The leg
  // reads on only after resume().
  virtual void on_leg_payload(std::span<char> payload, bool done) = 0;
  // The leg is over without an answer, or in the middle of one.
  virtual void on_leg_fault(LegFault fault, const std::string& text) = 0;
};

// What to send. The pieces must stay in place until the head of the answer has come.
struct LegRequest {
  std::string head;
  BodyPieces body;
};

// Kept alive by its pending operations; cancel() or destruction of the last handle by the owner
// ends it. Used by one thread.
class Leg : public std::enable_shared_from_this<Leg> {
 public:
  Leg(boost::asio::io_context& io, UpstreamPool& pool, LegEvents& events)
      : io_(io), pool_(pool), events_(&events), resolver_(io.get_executor()) {}

  // Sends `request` to host:port. A reused connection that breaks before the first byte of the
  // answer is replaced by a fresh one, once: the pod had closed it while it was idle.
  void start(const std::string& host, std::uint16_t port, const std::string& address,
             LegRequest request);

  // Reads on after a payload; after the last one, gives the connection back.
  void resume();

  // Ends the leg at once by closing its connection; no further events.
  void cancel();

  bool connected() const { return connected_; }

  // The request has been written, as far as the kernel took it.
  bool sent() const { return sent_; }
  bool ended() const { return events_ == nullptr; }

 private:
  using Resolver =
      boost::asio::ip::basic_resolver<boost::asio::ip::tcp, boost::asio::io_context::executor_type>;

  void connect();
  void connect_to(std::vector<boost::asio::ip::tcp::endpoint> endpoints, std::size_t next);
  void send();
  void read();
  void on_received(const boost::system::error_code& error, std::size_t size);
  void feed();
  void deliver(const http::FeedResult& fed);
  void finish();
  void broken(const boost::system::error_code& error);
  void fail(LegFault fault, const std::string& text);

  boost::asio::io_context& io_;
  UpstreamPool& pool_;
  LegEvents* events_;  // nullptr once the leg is over
  Resolver resolver_;
  std::string host_;
  std::uint16_t port_ = 0;
  std::string address_;
  LegRequest request_;
  GatherWriter writer_;
  std::unique_ptr<UpstreamConnection> connection_;
  std::uint32_t attempt_ = 0;  // tells a replaced connection's late handlers apart
  bool connected_ = false;
  bool sent_ = false;
  bool any_byte_ = false;  // of the answer
  bool head_given_ = false;
  bool done_ = false;
};

}  // namespace pd
