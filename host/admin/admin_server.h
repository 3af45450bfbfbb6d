// The admin port: health, metrics and what this host knows, for operators and probes. A thread of
// its own, so that it answers while the workers are busy.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/system/result.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "host/gateway/listen_address.h"

namespace pd {

struct AdminRequest {
  std::string method;
  std::string path;   // percent-decoded
  std::string query;  // behind '?', as sent
};

struct AdminAnswer {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
};

class AdminServer {
 public:
  using Handler = std::function<AdminAnswer(const AdminRequest& request)>;

  // Listens on `address` (see listen_on). `handler` runs on the admin thread.
  static boost::system::result<std::unique_ptr<AdminServer>, std::string> open(
      const std::string& address, Handler handler);
  ~AdminServer();

  void start();
  void stop();

  // Where it listens, with the port that the kernel picked.
  const std::string& address() const { return address_; }

 private:
  AdminServer(const Listeners& listeners, Handler handler);
  void accept();

  boost::asio::io_context io_{1};
  boost::asio::basic_socket_acceptor<ListenProtocol> acceptor_;
  Handler handler_;
  std::string address_;
  std::string socket_file_;
  std::thread thread_;
};

}  // namespace pd
