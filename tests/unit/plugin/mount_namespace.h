// Runs a part of a test in a child process that may mount file systems.
#pragma once

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pd {

inline constexpr int kMayNotMount = 77;

/// The exit status of a child that calls `prepare` (mounts; false: not possible) and then `body`
/// (0: as expected); kMayNotMount when this system does not let us mount.
template <class Prepare, class Body>
int run_with_mounts(const Prepare& prepare, const Body& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    const int flags = ::geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS;
    if (::unshare(flags) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        !prepare()) {
      ::_exit(kMayNotMount);
    }
    ::_exit(body());
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

}  // namespace pd
