// How many CPUs this process may use, as opposed to those that it can see: affinity and the CPU
// quota of its cgroups (v1 and v2, every ancestor counts). Reads /proc and /sys; any thread.
#pragma once

#include <cstdint>
#include <string>

#include "framework/config/settings.h"

namespace pd {

struct CpuBudget {
  std::uint32_t cpus = 1;  ///< at least 1; a fractional quota is rounded up
  std::string origin;      ///< "cgroup quota of 1.5 CPUs", "affinity to 4 CPUs"
};

/// The budget now. A later change of the quota is seen by the next call only.
CpuBudget cpu_budget();

/// The same for a machine whose /proc and /sys lie under `root`, with `affinity` CPUs to run on.
/// Files that are missing or unreadable set no limit.
CpuBudget cpu_budget(const std::string& root, std::uint32_t affinity);

struct WorkerThreads {
  std::uint32_t count = 1;
  std::string origin;        ///< for `pd-host check` and the log
  bool over_budget = false;  ///< server.threads asks for more than the budget: worth a warning
};

/// server.threads, or the budget when that is 0.
WorkerThreads worker_threads(const Settings& settings, const CpuBudget& budget);
WorkerThreads worker_threads(const Settings& settings);

}  // namespace pd
