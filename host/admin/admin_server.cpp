#include "host/admin/admin_server.h"

#include <fmt/format.h>

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <chrono>
#include <utility>

#include "host/gateway/listen_address.h"

namespace pd {
namespace {

namespace beast = boost::beast;
namespace http_beast = boost::beast::http;
using boost::asio::ip::tcp;
using boost::system::error_code;

constexpr std::chrono::seconds kPatience(10);
constexpr std::size_t kMostBodyBytes = 64 * 1024;

// One connection; kept alive by its pending operation.
class AdminSession : public std::enable_shared_from_this<AdminSession> {
 public:
  AdminSession(tcp::socket socket, const AdminServer::Handler& handler)
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

  beast::tcp_stream stream_;
  const AdminServer::Handler& handler_;
  beast::flat_buffer buffer_;
  std::optional<http_beast::request_parser<http_beast::string_body>> parser_;
  http_beast::response<http_beast::string_body> response_;
};

}  // namespace

boost::system::result<std::unique_ptr<AdminServer>, std::string> AdminServer::open(
    const std::string& address, Handler handler) {
  auto endpoint = parse_listen_address(address);
  if (!endpoint) return fmt::format("server.admin: {}", endpoint.error());
  try {
    return std::unique_ptr<AdminServer>(new AdminServer(*endpoint, std::move(handler)));
  } catch (const boost::system::system_error& error) {
    return fmt::format("cannot listen on {} (server.admin): {}", address, error.code().message());
  }
}

AdminServer::AdminServer(tcp::endpoint endpoint, Handler handler)
    : acceptor_(io_, endpoint), handler_(std::move(handler)) {
  address_ = format_address(acceptor_.local_endpoint());
}

AdminServer::~AdminServer() { stop(); }

void AdminServer::start() {
  accept();
  thread_ = std::thread([this] { io_.run(); });
}

void AdminServer::stop() {
  io_.stop();
  if (thread_.joinable()) thread_.join();
}

void AdminServer::accept() {
  acceptor_.async_accept([this](const error_code& error, tcp::socket socket) {
    if (error == boost::asio::error::operation_aborted) return;
    if (!error) std::make_shared<AdminSession>(std::move(socket), handler_)->read();
    accept();
  });
}

}  // namespace pd
