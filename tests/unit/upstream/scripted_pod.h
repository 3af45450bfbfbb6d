// A pod that does on each connection what the test says, byte by byte, on a thread of its own.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio.hpp>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace pd::test {

class ScriptedPod {
 public:
  using Socket = boost::asio::ip::tcp::socket;

  // One accepted connection. Reads and writes block; an end of the connection is no error.
  class Connection {
   public:
    explicit Connection(Socket& socket) : socket_(socket) {}

    // The next request: its head and its body by Content-Length; empty when the connection ended.
    std::string read_request() {
      std::string request;
      while (request.find("\r\n\r\n") == std::string::npos) {
        if (!read_more(request)) return {};
      }
      const std::size_t head = request.find("\r\n\r\n") + 4;
      std::size_t body = 0;
      if (const auto at = request.find("Content-Length: "); at < head) {
        body = std::stoul(request.substr(at + 16));
      }
      while (request.size() < head + body) {
        if (!read_more(request)) return {};
      }
      return request;
    }

    // True when the other side has closed, whatever came before.
    bool read_to_end() {
      std::string rest;
      while (read_more(rest)) {
      }
      return true;
    }

    void send(std::string_view bytes) {
      boost::system::error_code error;
      boost::asio::write(socket_, boost::asio::buffer(bytes.data(), bytes.size()), error);
    }

    void send_byte_by_byte(std::string_view bytes) {
      boost::system::error_code error;
      socket_.set_option(boost::asio::ip::tcp::no_delay(true), error);
      for (const char c : bytes) send({&c, 1});
    }

    // The next close is a reset.
    void reset() {
      boost::system::error_code error;
      socket_.set_option(boost::asio::socket_base::linger(true, 0), error);
      socket_.close(error);
    }

   private:
    bool read_more(std::string& out) {
      char buffer[65536];
      boost::system::error_code error;
      const std::size_t size = socket_.read_some(boost::asio::buffer(buffer), error);
      out.append(buffer, size);
      return !error;
    }

    Socket& socket_;
  };

  using Script = std::function<void(Connection&)>;

  // Plays one script for each connection in turn; further connections wait unanswered.
  explicit ScriptedPod(std::vector<Script> scripts)
      : acceptor_(io_, {boost::asio::ip::make_address("127.0.0.1"), 0}),
        thread_([this, scripts = std::move(scripts)] { play(scripts); }) {}

  ~ScriptedPod() {
    stopping_ = true;
    // Wakes an accept() that waits for a connection that never came.
    boost::system::error_code error;
    boost::asio::io_context io;
    Socket waker(io);
    waker.connect({boost::asio::ip::make_address("127.0.0.1"), port()}, error);
    thread_.join();
  }

  std::uint16_t port() const { return port_; }
  int connections() const { return connections_; }

 private:
  void play(const std::vector<Script>& scripts) {
    for (const auto& script : scripts) {
      Socket socket(io_);
      boost::system::error_code error;
      acceptor_.accept(socket, error);
      if (error || stopping_) return;
      ++connections_;
      Connection connection(socket);
      script(connection);
    }
  }

  boost::asio::io_context io_;
  boost::asio::ip::tcp::acceptor acceptor_;
  const std::uint16_t port_ = acceptor_.local_endpoint().port();
  std::atomic<bool> stopping_{false};
  std::atomic<int> connections_{0};
  std::thread thread_;
};

}  // namespace pd::test
