// The gateway as a whole: opens the listening sockets, runs the workers, and stops them gracefully.
#pragma once

#include <boost/system/result.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host/gateway/gateway_environment.h"
#include "host/gateway/worker.h"

namespace pd {

class Gateway {
 public:
  // Listens on `address` (see listen_on), one socket per worker. An error text names the address
  // and the reason.
  static boost::system::result<std::unique_ptr<Gateway>, std::string> open(
      GatewayEnvironment& environment, const std::string& address, std::uint32_t workers);

  ~Gateway();

  void start();

  // Stops accepting and lets requests end; after `limit` what is left is cut. Returns when every
  // worker has ended. `cut_now` is asked repeatedly and cuts at once when true. Gives the number of
  // requests that were cut.
  std::uint32_t stop(std::chrono::milliseconds limit, const std::function<bool()>& cut_now);

  // Where it listens, with the port that the kernel picked.
  const std::string& address() const { return address_; }

 private:
  explicit Gateway(GatewayEnvironment& environment) : environment_(environment) {}

  GatewayEnvironment& environment_;
  std::string address_;
  std::string socket_file_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace pd
