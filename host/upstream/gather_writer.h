// Sends a message that lies in several places as one gathered write, all of it offered at once.
// (asio::async_write offers 64 KiB at a time, which costs large bodies a third more.)
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>
#include <string_view>
#include <utility>
#include <vector>

namespace pd {

using TcpSocket =
    boost::asio::basic_stream_socket<boost::asio::ip::tcp, boost::asio::io_context::executor_type>;

// One write at a time; the bytes must stay in place until it has ended.
class GatherWriter {
 public:
  void clear() {
    buffers_.clear();
    next_ = 0;
  }
  void add(std::string_view bytes) {
    if (!bytes.empty()) buffers_.emplace_back(bytes.data(), bytes.size());
  }
  bool empty() const { return next_ == buffers_.size(); }

  // Writes everything that was added, then calls handler(error_code).
  template <class Socket, class Handler>
  void write(Socket& socket, Handler handler) {
    const Remaining remaining{buffers_.data() + next_, buffers_.data() + buffers_.size()};
    socket.async_write_some(remaining,
                            [this, &socket, handler = std::move(handler)](
                                const boost::system::error_code& error, std::size_t sent) mutable {
                              if (error) return handler(error);
                              consume(sent);
                              if (empty()) return handler(error);
                              write(socket, std::move(handler));
                            });
  }

 private:
  // What is left, as the buffer sequence that Asio copies around: two pointers.
  struct Remaining {
    const boost::asio::const_buffer* first;
    const boost::asio::const_buffer* last;
    const boost::asio::const_buffer* begin() const { return first; }
    const boost::asio::const_buffer* end() const { return last; }
  };

  void consume(std::size_t sent) {
    while (next_ < buffers_.size() && sent >= buffers_[next_].size()) {
      sent -= buffers_[next_++].size();
    }
    if (sent > 0) buffers_[next_] += sent;
  }

  std::vector<boost::asio::const_buffer> buffers_;
  std::size_t next_ = 0;
};

}  // namespace pd
