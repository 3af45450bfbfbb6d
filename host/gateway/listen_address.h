// Where the host listens: "0.0.0.0:8080", "[::]:8080", "localhost:8080", "unix:/run/pd/pd.sock".
#pragma once

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/system/result.hpp>
#include <string>
#include <vector>

namespace pd {

// TCP or unix, known only at run time.
using ListenProtocol = boost::asio::generic::stream_protocol;
using ClientSocket =
    boost::asio::basic_stream_socket<ListenProtocol, boost::asio::io_context::executor_type>;
using ClientAcceptor =
    boost::asio::basic_socket_acceptor<ListenProtocol, boost::asio::io_context::executor_type>;

// Listening sockets of one address, ready to be given to acceptors.
struct Listeners {
  std::vector<int> sockets;  // as many as were asked for; owned by whoever takes them
  ListenProtocol protocol{AF_INET, SOCK_STREAM};
  std::string address;      // with the port that the kernel picked
  std::string socket_file;  // of a unix address, to be removed at the end; else empty
};

// Opens `count` sockets on `address`. On TCP each has a queue of its own and the kernel spreads
// connections over them; on unix they share one. A socket file that nobody listens on any more is
// replaced. The error text names `key`, the address and the reason.
boost::system::result<Listeners, std::string> listen_on(const std::string& address,
                                                        std::uint32_t count,
                                                        const std::string& key);

}  // namespace pd
