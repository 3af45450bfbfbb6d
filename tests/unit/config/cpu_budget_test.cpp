#include "framework/config/cpu_budget.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace pd {
namespace {

namespace fs = std::filesystem;

/// A machine of files: what /proc and /sys would say.
class CpuBudgetTest : public testing::Test {
 protected:
  CpuBudgetTest() {
    std::string pattern = (fs::temp_directory_path() / "pd_cpu_XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
  }
  ~CpuBudgetTest() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << '\n';
  }
  void v2(const std::string& group, const std::string& cpu_max) const {
    write("sys/fs/cgroup" + group + "/cpu.max", cpu_max);
  }
  std::uint32_t cpus(std::uint32_t affinity) const { return cpu_budget(root_, affinity).cpus; }

  fs::path root_;
};

TEST_F(CpuBudgetTest, QuotaOfVersion2IsRoundedUp) {
  write("proc/self/cgroup", "0::/");
  v2("", "200000 100000");
  EXPECT_EQ(cpus(128), 2U);
  v2("", "150000 100000");
  EXPECT_EQ(cpus(128), 2U);
  EXPECT_EQ(cpu_budget(root_, 128).origin, "cgroup quota of 1.5 CPUs");
  v2("", "50000 100000");
  EXPECT_EQ(cpus(128), 1U);
}

TEST_F(CpuBudgetTest, WithoutAQuotaAffinityCounts) {
  write("proc/self/cgroup", "0::/");
  v2("", "max 100000");
  EXPECT_EQ(cpus(16), 16U);
  EXPECT_EQ(cpus(4), 4U);
  EXPECT_EQ(cpu_budget(root_, 4).origin, "affinity to 4 CPUs");
}

TEST_F(CpuBudgetTest, TheSmallerOfQuotaAndAffinityWins) {
  write("proc/self/cgroup", "0::/");
  v2("", "400000 100000");
  EXPECT_EQ(cpus(2), 2U);
  EXPECT_EQ(cpu_budget(root_, 2).origin, "affinity to 2 CPUs");
}

TEST_F(CpuBudgetTest, LimitsOfAllAncestorsCount) {
  write("proc/self/cgroup", "0::/parent/own");
  v2("/parent", "100000 100000");
  v2("/parent/own", "max 100000");
  EXPECT_EQ(cpus(128), 1U);
  v2("/parent", "max 100000");
  v2("/parent/own", "300000 100000");
  EXPECT_EQ(cpus(128), 3U);
}

TEST_F(CpuBudgetTest, AHostPathThatTheContainerDoesNotSee) {
  write("proc/self/cgroup", "0::/kubepods.slice/pod1/c1");
  v2("", "200000 100000");
  EXPECT_EQ(cpus(128), 2U);
}

TEST_F(CpuBudgetTest, QuotaOfVersion1) {
  write("proc/self/cgroup", "5:memory:/\n4:cpu,cpuacct:/docker/x\n3:cpuset:/");
  write("sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_quota_us", "200000");
  write("sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_period_us", "100000");
  EXPECT_EQ(cpus(64), 2U);
}

TEST_F(CpuBudgetTest, QuotaOfVersion1ThroughTheShortLink) {
  write("proc/self/cgroup", "4:cpuacct,cpu:/");
  write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "350000");
  write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000");
  EXPECT_EQ(cpus(64), 4U);
  write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1");
  EXPECT_EQ(cpus(64), 64U);
}

TEST_F(CpuBudgetTest, MissingAndOddFilesSetNoLimit) {
  EXPECT_EQ(cpus(8), 8U);
  write("proc/self/cgroup", "nonsense\n0:\n0::relative\n:::\n0::/");
  EXPECT_EQ(cpus(8), 8U);
  for (const char* text : {"", "abc", "100000", "0 100000", "-5 100000", "100000 0", "nan nan"}) {
    v2("", text);
    EXPECT_EQ(cpus(8), 8U) << text;
  }
}

TEST_F(CpuBudgetTest, NeverLessThanOne) {
  write("proc/self/cgroup", "0::/");
  v2("", "1 100000");
  EXPECT_EQ(cpus(8), 1U);
  EXPECT_EQ(cpus(0), 1U);
}

TEST(WorkerThreads, TheConfigurationWins) {
  Settings settings;
  settings.server.threads = 3;
  const WorkerThreads threads = worker_threads(settings, {2, "cgroup quota of 2 CPUs"});
  EXPECT_EQ(threads.count, 3U);
  EXPECT_TRUE(threads.over_budget);
  EXPECT_EQ(threads.origin, "server.threads = 3; 2 CPUs may be used (cgroup quota of 2 CPUs)");
  EXPECT_FALSE(worker_threads(settings, {3, "x"}).over_budget);
}

TEST(WorkerThreads, ZeroTakesTheBudget) {
  const WorkerThreads threads = worker_threads(Settings{}, {2, "affinity to 2 CPUs"});
  EXPECT_EQ(threads.count, 2U);
  EXPECT_EQ(threads.origin, "affinity to 2 CPUs");
  EXPECT_FALSE(threads.over_budget);
}

TEST(WorkerThreads, AffinityOfThisProcessIsRespected) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(::sched_getcpu(), &one);
  WorkerThreads threads;
  // In a thread of its own: affinity belongs to the thread, and other tests want theirs back.
  std::thread pinned([&] {
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    threads = worker_threads(Settings{});
  });
  pinned.join();
  EXPECT_EQ(threads.count, 1U);
}

}  // namespace
}  // namespace pd
