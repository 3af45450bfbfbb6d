#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace pd::test {

// A running pd-sim with its pods on ports that the kernel picked. Ends it in the destructor.
class SimProcess {
 public:
  // `arguments` without the program's name. Fails the test when the pods do not come up.
  explicit SimProcess(const std::vector<std::string>& arguments);
  ~SimProcess();
  SimProcess(const SimProcess&) = delete;
  SimProcess& operator=(const SimProcess&) = delete;

  std::uint16_t port(const std::string& pod) const { return ports_.at(pod); }
  // Sends SIGTERM and returns the exit status; -1 when it ended by a signal.
  int terminate();

 private:
  pid_t pid_ = -1;
  std::map<std::string, std::uint16_t> ports_;
};

}  // namespace pd::test
