#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace pd::test {

// A folder of its own, gone with the object.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // Writes a file into the folder and returns its path.
  std::string write(const std::string& name, const std::string& text) const;

 private:
  std::filesystem::path path_;
};

// pd-host running its own command line; its output goes to files.
class HostProgram {
 public:
  // `arguments` without the program's name.
  HostProgram(const ScratchFolder& folder, const std::vector<std::string>& arguments);
  ~HostProgram();
  HostProgram(const HostProgram&) = delete;
  HostProgram& operator=(const HostProgram&) = delete;

  void signal(int number) const;
  // The exit status, or minus the signal that ended it; empty when it still runs then.
  std::optional<int> wait(std::chrono::milliseconds patience = std::chrono::seconds(30));
  std::string output() const;
  std::string errors() const;

 private:
  pid_t pid_ = -1;
  std::optional<int> status_;
  std::filesystem::path output_;
  std::filesystem::path errors_;
};

// `pd-host serve` with a configuration; up when constructed. The destructor sends SIGTERM and
// expects status 0, so that every test also sees a clean end.
class HostProcess {
 public:
  explicit HostProcess(const std::string& config);
  ~HostProcess();

  std::uint16_t gateway() const { return gateway_; }
  std::uint16_t admin() const { return admin_; }
  HostProgram& program() { return program_; }
  // The test has ended the process itself and checked how.
  void expect_ended() { ended_ = true; }

 private:
  ScratchFolder folder_;
  HostProgram program_;
  std::uint16_t gateway_ = 0;
  std::uint16_t admin_ = 0;
  bool ended_ = false;
};

// What a run of pd-host left.
struct ProgramResult {
  int status = 0;
  std::string output;
  std::string errors;
};
ProgramResult run_host(const std::vector<std::string>& arguments);

}  // namespace pd::test
