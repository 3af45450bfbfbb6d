// One thread of the gateway, with everything that it serves with: its acceptor, its clients, its
// connections to pods and its buffers. Workers share nothing but the environment.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <random>
#include <thread>

#include "framework/request/request_view.h"
#include "framework/select/select_scratch.h"
#include "host/gateway/buffer_pool.h"
#include "host/gateway/gateway_environment.h"
#include "host/gateway/listen_address.h"
#include "host/gateway/supervised.h"
#include "host/upstream/upstream_pool.h"

namespace pd {

class Worker {
 public:
  using Clock = std::chrono::steady_clock;

  // Takes over `listener`, a listening socket.
  Worker(GatewayEnvironment& environment, std::uint32_t index, int listener,
         const ListenProtocol& protocol);
  ~Worker();

  // Starts and joins the thread. stop_accepting(), cut() and finish() may be called by any thread.
  void start();
  void join();
  void stop_accepting();
  // Closes every connection at once.
  void cut();
  // Lets the thread end once nothing is in progress.
  void finish();

  // For the connections and exchanges of this worker, on its thread.
  boost::asio::io_context& io() { return io_; }
  GatewayEnvironment& environment() { return environment_; }
  std::uint32_t index() const { return index_; }
  UpstreamPool& pool() { return pool_; }
  BufferPool& buffers() { return buffers_; }
  RequestReader& reader() { return reader_; }
  SelectScratch& scratch() { return scratch_; }
  RoutingStateCache& routing() { return routing_; }
  WorkerMetrics& metrics() { return metrics_; }
  std::uint64_t random() { return random_(); }
  // Until it leaves by itself, the timer looks after it.
  void supervise_request(Supervised& request) { requests_.push_back(request); }

 private:
  void accept();
  void admit(ClientSocket socket);
  void tick();
  static void check_all(SupervisedList& list, Clock::time_point now);

  GatewayEnvironment& environment_;
  const std::uint32_t index_;
  boost::asio::io_context io_{1};
  ClientAcceptor acceptor_;
  boost::asio::basic_waitable_timer<Clock, boost::asio::wait_traits<Clock>,
                                    boost::asio::io_context::executor_type>
      timer_;
  boost::asio::basic_waitable_timer<Clock, boost::asio::wait_traits<Clock>,
                                    boost::asio::io_context::executor_type>
      accept_retry_;
  UpstreamPool pool_;
  BufferPool buffers_;
  RequestReader reader_;
  SelectScratch scratch_;
  RoutingStateCache routing_;
  WorkerMetrics metrics_;
  std::mt19937_64 random_;
  SupervisedList connections_;
  SupervisedList requests_;
  bool finishing_ = false;
  std::uint32_t idle_ticks_ = 0;
  std::thread thread_;
};

}  // namespace pd
