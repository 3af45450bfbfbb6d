#include "tests/integration/sim_process.h"

#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <sstream>

extern char** environ;

namespace pd::test {

SimProcess::SimProcess(const std::vector<std::string>& arguments) {
  std::array<int, 2> pipe_ends{};
  if (pipe(pipe_ends.data()) != 0) {
    ADD_FAILURE() << "no pipe";
    return;
  }
  std::vector<std::string> all{PD_SIM_BINARY};
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::size_t pods = 0;
  std::vector<char*> argv;
  for (std::string& argument : all) {
    pods += argument == "--pod" ? 1 : 0;
    argv.push_back(argument.data());
  }
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, pipe_ends[0]);
  const int failed = posix_spawn(&pid_, PD_SIM_BINARY, &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(pipe_ends[1]);
  FILE* out = fdopen(pipe_ends[0], "r");
  std::array<char, 256> line{};
  while (failed == 0 && ports_.size() < pods && fgets(line.data(), line.size(), out) != nullptr) {
    std::istringstream words(line.data());
    std::string name;
    std::string role;
    std::string address;
    words >> name >> role >> address;
    ports_[name] = static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
  }
  if (out != nullptr) fclose(out);
  EXPECT_EQ(ports_.size(), pods) << "pd-sim did not start";
}

SimProcess::~SimProcess() {
  EXPECT_EQ(terminate(), 0);
}

int SimProcess::terminate() {
  if (pid_ <= 0) return 0;
  kill(pid_, SIGTERM);
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace pd::test
