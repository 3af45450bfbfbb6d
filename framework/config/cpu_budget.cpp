#include "framework/config/cpu_budget.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string_view>
#include <thread>
#include <vector>

namespace pd {
namespace {

std::uint32_t affinity_now() {
  // The kernel refuses a mask smaller than its own, so the size is found by doubling.
  constexpr int kMostCpus = 1 << 16;
  for (int cpus = CPU_SETSIZE; cpus <= kMostCpus; cpus *= 2) {
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(
        CPU_ALLOC(static_cast<std::size_t>(cpus)), [](cpu_set_t* each) { CPU_FREE(each); });
    if (!set) break;
    const std::size_t size = CPU_ALLOC_SIZE(static_cast<std::size_t>(cpus));
    if (::sched_getaffinity(0, size, set.get()) == 0) {
      return static_cast<std::uint32_t>(std::max(1, CPU_COUNT_S(size, set.get())));
    }
  }
  return std::max(1U, std::thread::hardware_concurrency());
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::optional<double> quota_of(double quota, double period) {
  if (!(quota > 0) || !(period > 0)) return std::nullopt;
  return quota / period;
}

// "200000 100000" or "max 100000".
std::optional<double> v2_quota(const std::string& folder) {
  std::istringstream line(first_line(folder + "/cpu.max"));
  double quota = 0;
  double period = 0;
  if (!(line >> quota >> period)) return std::nullopt;
  return quota_of(quota, period);
}

// -1 in the quota file means none.
std::optional<double> v1_quota(const std::string& folder) {
  std::istringstream quota_line(first_line(folder + "/cpu.cfs_quota_us"));
  std::istringstream period_line(first_line(folder + "/cpu.cfs_period_us"));
  double quota = 0;
  double period = 0;
  if (!(quota_line >> quota) || !(period_line >> period)) return std::nullopt;
  return quota_of(quota, period);
}

void keep_smaller(std::optional<double>& limit, std::optional<double> candidate) {
  if (candidate && (!limit || *candidate < *limit)) limit = candidate;
}

// The smallest quota of `path` under `mount` and of all its ancestors. In a container the path may
// be that of the host and not exist here; the mount point itself is then the container's group.
template <class QuotaOf>
std::optional<double> smallest_quota(const std::string& mount, std::string path, QuotaOf quota_of) {
  std::optional<double> limit;
  while (path.size() > 1) {
    keep_smaller(limit, quota_of(mount + path));
    path.resize(path.rfind('/'));
  }
  keep_smaller(limit, quota_of(mount));
  return limit;
}

bool names_cpu(std::string_view controllers) {
  while (true) {
    const std::size_t comma = controllers.find(',');
    if (controllers.substr(0, comma) == "cpu") return true;
    if (comma == std::string_view::npos) return false;
    controllers.remove_prefix(comma + 1);
  }
}

// Every line of /proc/self/cgroup is "ID:CONTROLLERS:PATH"; v2 has ID 0 and no controllers.
std::optional<double> cgroup_quota(const std::string& root) {
  std::optional<double> limit;
  std::ifstream groups(root + "/proc/self/cgroup");
  const std::string mount = root + "/sys/fs/cgroup";
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (path.empty() || path.front() != '/') continue;
    if (controllers.empty()) {
      keep_smaller(limit, smallest_quota(mount, path, v2_quota));
      keep_smaller(limit, smallest_quota(mount + "/unified", path, v2_quota));
    } else if (names_cpu(controllers)) {
      keep_smaller(limit, smallest_quota(mount + "/" + controllers, path, v1_quota));
      keep_smaller(limit, smallest_quota(mount + "/cpu", path, v1_quota));
    }
  }
  return limit;
}

std::string plural(std::uint32_t count) {
  return count == 1 ? "1 CPU" : fmt::format("{} CPUs", count);
}

}  // namespace

CpuBudget cpu_budget() {
  return cpu_budget({}, affinity_now());
}

CpuBudget cpu_budget(const std::string& root, std::uint32_t affinity) {
  const std::optional<double> quota = cgroup_quota(root);
  if (quota && std::ceil(*quota) < affinity) {
    const auto cpus = static_cast<std::uint32_t>(std::max(1.0, std::ceil(*quota)));
    return {cpus, fmt::format("cgroup quota of {:g} CPUs", *quota)};
  }
  const std::uint32_t cpus = std::max(1U, affinity);
  return {cpus, "affinity to " + plural(cpus)};
}

WorkerThreads worker_threads(const Settings& settings, const CpuBudget& budget) {
  const std::uint32_t wanted = settings.server.threads;
  if (wanted == 0) return {budget.cpus, budget.origin, false};
  return {wanted,
          fmt::format("server.threads = {}; {} may be used ({})", wanted, plural(budget.cpus),
                      budget.origin),
          wanted > budget.cpus};
}

WorkerThreads worker_threads(const Settings& settings) {
  return worker_threads(settings, cpu_budget());
}

}  // namespace pd
