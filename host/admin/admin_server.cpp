#include "host/admin/admin_server.h"

#include <unistd.h>

#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <chrono>
#include <utility>

namespace pd {
namespace {

namespace beast = boost::beast;
namespace http_beast = boost::beast::http;
using boost::system::error_code;

constexpr std::chrono::seconds kPatience(10);
constexpr std::size_t kMostBodyBytes = 64 * 1024;

// One connection; kept alive by its pending operation.
class AdminSession : public std::enable_shared_from_this<AdminSession> {
 public:
  AdminSession(boost::asio::basic_stream_socket<ListenProtocol> socket,
               const AdminServer::Handler& handler)
      : stream_(std::move(socket)), handler_(handler) {}

  void read() {
    parser_.emplace();
    parser_->body_limit(kMostBodyBytes);
    stream_.expires_after(kPatience);
    http_beast::async_read(stream_, buffer_, *parser_,
                           [self = shared_from_this()](const error_code& error, std::size_t) {
                             if (!error) self->answer();
                           });
  }

 private:
  void answer() {
    const auto& message = parser_->get();
    AdminRequest request;
    request.method = std::string(message.method_string());
    const std::string target(message.target());
    const std::size_t question = target.find('?');
    request.path = target.substr(0, question);
    if (question != std::string::npos) request.query = target.substr(question + 1);
    AdminAnswer answer = handler_(request);

    response_ = {};
    response_.version(11);
    response_.result(static_cast<unsigned>(answer.status));
    response_.set(http_beast::field::content_type, answer.content_type);
    response_.keep_alive(message.keep_alive());
    if (request.method != "HEAD") response_.body() = std::move(answer.body);
    response_.prepare_payload();
    http_beast::async_write(stream_, response_,
                            [self = shared_from_this()](const error_code& error, std::size_t) {
                              if (!error && self->response_.keep_alive()) self->read();
                            });
  }

  beast::basic_stream<ListenProtocol> stream_;
  const AdminServer::Handler& handler_;
  beast::flat_buffer buffer_;
  std::optional<http_beast::request_parser<http_beast::string_body>> parser_;
  http_beast::response<http_beast::string_body> response_;
};

}  // namespace

boost::system::result<std::unique_ptr<AdminServer>, std::string> AdminServer::open(
    const std::string& address, Handler handler) {
  const auto listeners = listen_on(address, 1, "server.admin");
  if (!listeners) return listeners.error();
  return std::unique_ptr<AdminServer>(new AdminServer(*listeners, std::move(handler)));
}

AdminServer::AdminServer(const Listeners& listeners, Handler handler)
    : acceptor_(io_),
      handler_(std::move(handler)),
      address_(listeners.address),
      socket_file_(listeners.socket_file) {
  acceptor_.assign(listeners.protocol, listeners.sockets.front());
}

AdminServer::~AdminServer() {
  stop();
  if (!socket_file_.empty()) ::unlink(socket_file_.c_str());
}

void AdminServer::start() {
  accept();
  thread_ = std::thread([this] { io_.run(); });
}

void AdminServer::stop() {
  io_.stop();
  if (thread_.joinable()) thread_.join();
}

void AdminServer::accept() {
  acceptor_.async_accept(
      [this](const error_code& error, boost::asio::basic_stream_socket<ListenProtocol> socket) {
        if (error == boost::asio::error::operation_aborted) return;
        if (!error) std::make_shared<AdminSession>(std::move(socket), handler_)->read();
        accept();
      });
}

}  // namespace pd
