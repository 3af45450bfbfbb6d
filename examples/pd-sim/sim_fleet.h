#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "examples/pd-sim/sim_options.h"
#include "examples/pd-sim/sim_pod.h"

namespace pd::sim {

// All pods of the process, spread over its threads. The set of pods never changes after
// construction: the look-ups may be called from any thread.
class SimFleet {
 public:
  explicit SimFleet(const SimOptions& options);
  ~SimFleet();
  SimFleet(const SimFleet&) = delete;
  SimFleet& operator=(const SimFleet&) = delete;

  // Opens every listener; an empty text, or what went wrong.
  std::string listen();
  // {"p0":41234,...}
  std::string ports_json() const;
  // Serves until SIGINT or SIGTERM. The calling thread is the first of the serving threads.
  void run();

  const std::vector<std::unique_ptr<SimPod>>& pods() const { return pods_; }
  SimPod* find(std::string_view name) const;
  SimPod* find_by_side_channel(std::string_view host, std::int64_t port) const;

 private:
  std::vector<std::unique_ptr<boost::asio::io_context>> contexts_;
  std::vector<std::unique_ptr<SimPod>> pods_;
};

}  // namespace pd::sim
