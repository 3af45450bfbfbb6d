// Addresses to listen on: "0.0.0.0:8080", "[::]:8080".
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/system/result.hpp>
#include <string>

namespace pd {

// The endpoint, or a text that names what is wrong with the address.
boost::system::result<boost::asio::ip::tcp::endpoint, std::string> parse_listen_address(
    const std::string& address);

// "127.0.0.1:8080", "[::1]:8080".
std::string format_address(const boost::asio::ip::tcp::endpoint& endpoint);

}  // namespace pd
