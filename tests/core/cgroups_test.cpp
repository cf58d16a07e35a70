#include "neon/core/cgroups.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "tests/support/temp_folder.h"

using namespace neon;

namespace {

constexpr double kGiB = 1 << 30;
constexpr int kNoLimit = 1 << 20;

// A folder with /proc/self and groups, as the kernel's documentation describes their files.
class Host {
 public:
  void put(const std::string& path, const std::string& content) {
    const std::string place = folder_ / path;
    std::filesystem::create_directories(std::filesystem::path(place).parent_path());
    put_file(place, content + "\n");
  }
  void put(const std::string& path, double number) { put(path, std::to_string(int64_t(number))); }
  // Mounts version 2 at /sys/fs/cgroup, or controllers of version 1 below it; `group` is what the mount shows.
  void mount(const std::string& controller = "", const std::string& group = "/") {
    const bool second = controller.empty();
    mounts_ += "31 30 0:28 " + group + " /sys/fs/cgroup" + (second ? "" : "/" + controller) +
               " rw,relatime shared:7 - " + (second ? "cgroup2 cgroup2 rw" : "cgroup cgroup rw," + controller) + "\n";
    put("proc/self/mountinfo", "22 1 0:21 / / rw - ext4 /dev/vda rw\n" + mounts_);
  }
  void is_in(const std::string& lines) { put("proc/self/cgroup", lines); }
  // A group of version 2 with these bytes used, at most and cached.
  void group(const std::string& path, const std::string& most, double used, double cached = 0) {
    const std::string at = "sys/fs/cgroup" + path;
    put(at + "/memory.max", most);
    put(at + "/memory.current", used);
    put(at + "/memory.stat", "anon 5\nactive_file " + std::to_string(int64_t(cached)) + "\ninactive_file 0");
  }
  double memory() const { return memory_left_in_cgroups(folder_.path()); }
  int processors() const { return processors_of_cgroups(folder_.path()); }

 private:
  TempFolder folder_;
  std::string mounts_;
};

std::string bytes(double number) { return std::to_string(int64_t(number)); }

}  // namespace

TEST_CASE("without control groups nothing is limited") {
  Host host;
  CHECK(std::isinf(host.memory()));
  CHECK(host.processors() == kNoLimit);
  host.mount();
  host.is_in("0::/user.slice/job");
  CHECK(std::isinf(host.memory()));
  CHECK(host.processors() == kNoLimit);
}

TEST_CASE("a nested group of version 2, and each one above it, limits memory") {
  Host host;
  host.mount();
  host.is_in("0::/slurm/job_7/step_0");
  host.group("/slurm/job_7/step_0", "max", 1 * kGiB);
  CHECK(std::isinf(host.memory()));
  host.group("/slurm", bytes(64 * kGiB), 40 * kGiB);
  CHECK(host.memory() == 24 * kGiB);
  host.group("/slurm/job_7", bytes(4 * kGiB), 3 * kGiB);
  CHECK(host.memory() == 1 * kGiB);
  host.group("/slurm/job_7/step_0", bytes(2 * kGiB), 1.5 * kGiB);
  CHECK(host.memory() == 0.5 * kGiB);
  host.group("/slurm/job_7/step_0", bytes(2 * kGiB), 1.5 * kGiB, 0.25 * kGiB);  // of cached files
  CHECK(host.memory() == 0.75 * kGiB);
  host.put("sys/fs/cgroup/slurm/job_7/memory.high", 3.25 * kGiB);  // from here on the kernel slows the group down
  CHECK(host.memory() == 0.25 * kGiB);
  host.group("/slurm/job_7", bytes(4 * kGiB), 5 * kGiB);
  CHECK(host.memory() == 0);
  host.group("/slurm/job_7", bytes(4 * kGiB), 1 * kGiB);
  host.group("/other", bytes(1 * kGiB), 1 * kGiB);  // of other processes
  CHECK(host.memory() == 0.75 * kGiB);
}

TEST_CASE("nested groups of version 1 limit memory") {
  Host host;
  host.mount("cpu,cpuacct");
  host.mount("memory");
  host.mount("");
  host.is_in("9:name=systemd:/\n4:memory:/jobs/a:b\n2:cpu,cpuacct:/jobs\n0::/");
  const std::string at = "sys/fs/cgroup/memory/jobs/";
  host.put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
  host.put("sys/fs/cgroup/memory/memory.usage_in_bytes", 40 * kGiB);
  host.put(at + "memory.limit_in_bytes", 8 * kGiB);
  host.put(at + "memory.usage_in_bytes", 5 * kGiB);
  CHECK(host.memory() == 3 * kGiB);
  host.put(at + "a:b/memory.limit_in_bytes", 2 * kGiB);
  host.put(at + "a:b/memory.usage_in_bytes", 1.5 * kGiB);
  // Only the totals count the groups below.
  host.put(at + "a:b/memory.stat",
           "active_file 1\ntotal_active_file " + bytes(kGiB / 8) + "\ntotal_inactive_file " + bytes(kGiB / 8));
  CHECK(host.memory() == 0.75 * kGiB);
}

TEST_CASE("a container sees its own group as the top") {
  Host host;
  host.mount("", "/docker/c0ffee");
  host.is_in("0::/docker/c0ffee/inner");
  host.group("", bytes(4 * kGiB), 1 * kGiB);
  CHECK(host.memory() == 3 * kGiB);
  host.group("/inner", bytes(2 * kGiB), 1 * kGiB);
  CHECK(host.memory() == 1 * kGiB);
  host.is_in("0::/docker/c0ffee");
  CHECK(host.memory() == 3 * kGiB);
  for (const char* elsewhere : {"0::/docker/c0ffee2/inner", "0::/../other", "nothing"}) {
    host.is_in(elsewhere);
    CHECK(host.memory() == 3 * kGiB);
  }
}

TEST_CASE("quotas and sets of nested groups limit processors") {
  Host second;
  second.mount();
  second.is_in("0::/a/b/c");
  second.put("sys/fs/cgroup/a/cpu.max", "800000 100000");
  CHECK(second.processors() == 8);
  second.put("sys/fs/cgroup/a/b/c/cpu.max", "max 100000");
  CHECK(second.processors() == 8);
  second.put("sys/fs/cgroup/a/b/cpu.max", "250000 100000");
  CHECK(second.processors() == 3);
  second.put("sys/fs/cgroup/a/b/c/cpuset.cpus.effective", "0-1");
  CHECK(second.processors() == 2);
  second.put("sys/fs/cgroup/a/b/c/cpu.max", "5000 100000");
  CHECK(second.processors() == 1);

  Host first;
  first.mount("cpu,cpuacct");
  first.mount("cpuset");
  first.is_in("3:cpuset:/x\n2:cpu,cpuacct:/a/b");
  first.put("sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_quota_us", "-1");
  first.put("sys/fs/cgroup/cpu,cpuacct/a/b/cpu.cfs_period_us", "100000");
  CHECK(first.processors() == kNoLimit);
  first.put("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "600000");
  first.put("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000");
  CHECK(first.processors() == 6);
  first.put("sys/fs/cgroup/cpuset/x/cpuset.cpus", "0-1,4,6-7");
  CHECK(first.processors() == 5);
}

TEST_CASE("files that are not as expected limit nothing") {
  Host host;
  host.mount();
  host.is_in("0::/a");
  host.group("/a", "many", 1 * kGiB);
  for (const char* bad : {"", "100000", "max", "0 0", "-5 100000", "x y"}) {
    host.put("sys/fs/cgroup/a/cpu.max", bad);
    CHECK(host.processors() == kNoLimit);
  }
  for (const char* bad : {"", "a-b", "3-", "-"}) {
    host.put("sys/fs/cgroup/a/cpuset.cpus.effective", bad);
    CHECK(host.processors() == kNoLimit);
  }
  CHECK(std::isinf(host.memory()));
}
