#include "tests/integration/host_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/integration/wire_client.h"

extern char** environ;

namespace pd::test {
namespace {

constexpr std::chrono::seconds kEndPatience{20};

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::uint16_t port_of(const boost::json::value& addresses, const char* name) {
  const std::string address(addresses.at(name).as_string());
  return static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
}

}  // namespace

ScratchFolder::ScratchFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "pd-host-test-XXXXXX").string();
  EXPECT_NE(mkdtemp(name.data()), nullptr) << name;
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string ScratchFolder::write(const std::string& name, const std::string& text) const {
  std::ofstream(path_ / name, std::ios::binary) << text;
  return (path_ / name).string();
}

HostProgram::HostProgram(const ScratchFolder& folder, const std::vector<std::string>& arguments)
    : output_(folder.path() / "output"), errors_(folder.path() / "errors") {
  std::vector<std::string> all{PD_HOST_BINARY};
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& argument : all) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output_.c_str(), kFlags, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors_.c_str(), kFlags, 0600);
  EXPECT_EQ(posix_spawn(&pid_, PD_HOST_BINARY, &actions, nullptr, argv.data(), environ), 0);
  posix_spawn_file_actions_destroy(&actions);
}

HostProgram::~HostProgram() {
  if (status_ || pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void HostProgram::signal(int number) const {
  if (pid_ > 0 && !status_) kill(pid_, number);
}

std::optional<int> HostProgram::wait(std::chrono::milliseconds patience) {
  if (status_) return status_;
  eventually(
      [&] {
        int status = 0;
        if (waitpid(pid_, &status, WNOHANG) != pid_) return false;
        status_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
        return true;
      },
      patience);
  return status_;
}

std::string HostProgram::output() const {
  return read_file(output_);
}

std::string HostProgram::errors() const {
  return read_file(errors_);
}

HostProcess::HostProcess(const std::string& config)
    : program_(folder_, {"serve", "--config", folder_.write("pd.toml", config), "--ports-file",
                         (folder_.path() / "ports.json").string()}) {
  boost::json::value addresses;
  const bool up = eventually([&] {
    boost::system::error_code error;
    addresses = boost::json::parse(read_file(folder_.path() / "ports.json"), error);
    return !error || program_.wait(std::chrono::milliseconds(0)).has_value();
  });
  if (!up || !addresses.is_object()) {
    ADD_FAILURE() << "pd-host did not start\n" << program_.errors() << config;
    return;
  }
  gateway_ = port_of(addresses, "gateway");
  admin_ = port_of(addresses, "admin");
}

HostProcess::~HostProcess() {
  if (ended_) return;
  program_.signal(SIGTERM);
  const auto status = program_.wait(kEndPatience);
  if (status != 0) {
    ADD_FAILURE() << "pd-host "
                  << (status ? "ended with " + std::to_string(*status) : "did not end on SIGTERM")
                  << "\n"
                  << program_.errors() << program_.output();
  } else if (::testing::Test::HasFailure()) {
    std::cerr << program_.errors();
  }
}

ProgramResult run_host(const std::vector<std::string>& arguments) {
  const ScratchFolder folder;
  HostProgram program(folder, arguments);
  const auto status = program.wait(kEndPatience);
  EXPECT_TRUE(status.has_value()) << "pd-host " << arguments.front() << " did not end";
  return {status.value_or(-1), program.output(), program.errors()};
}

}  // namespace pd::test
