#include "neon/core/cgroups.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string_view>
#include <vector>

namespace neon {

namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();
constexpr int kAllProcessors = 1 << 20;

// Empty where the file cannot be read.
std::string text_of(const std::string& path) {
  std::string out;
  FILE* file = std::fopen(path.c_str(), "r");
  if (!file) return out;
  char buffer[4096];
  for (size_t n; (n = std::fread(buffer, 1, sizeof buffer, file)) > 0;) out.append(buffer, n);
  std::fclose(file);
  return out;
}

std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

bool lists(std::string_view names, std::string_view name) { return std::ranges::count(parts_of(names, ','), name) > 0; }

// The number at the start of a text; infinity for a text without one, such as "max".
double number_at_start(std::string_view text) {
  double out = 0;
  return std::from_chars(text.data(), text.data() + text.size(), out).ec == std::errc{} ? out : kUnlimited;
}

double number_of(const std::string& path) { return number_at_start(text_of(path)); }

// The number after `key` in a file of lines "key number".
double number_of(const std::string& path, std::string_view key) {
  const std::string text = text_of(path);
  for (std::string_view line : parts_of(text, '\n'))
    if (line.starts_with(key) && line.substr(key.size()).starts_with(' '))
      return number_at_start(line.substr(key.size() + 1));
  return kUnlimited;
}

double known_bytes(double value) { return value < kUnlimited ? value : 0; }

// mountinfo writes a blank, say, as \040.
std::string unescaped(std::string_view path) {
  std::string out;
  for (size_t i = 0; i < path.size(); ++i) {
    int code = 0;
    if (path[i] == '\\' && i + 3 < path.size() &&
        std::from_chars(&path[i + 1], &path[i + 4], code, 8).ptr == &path[i + 4]) {
      out += char(code);
      i += 3;
    } else {
      out += path[i];
    }
  }
  return out;
}

// A hierarchy of groups: the folder at which it is mounted, and the group that this folder shows.
struct Mount {
  std::string folder, group;
  explicit operator bool() const { return !folder.empty(); }
};

// Where a controller of version 1 is mounted, or version 2 with an empty name. A line of mountinfo:
//   id parent device GROUP FOLDER options ... - TYPE source OPTIONS
Mount mount_of(const std::string& root, std::string_view controller) {
  const std::string text = text_of(root + "/proc/self/mountinfo");
  for (std::string_view line : parts_of(text, '\n')) {
    const auto words = parts_of(line, ' ');
    const auto dash = std::ranges::find(words, std::string_view("-"));
    if (words.size() < 6 || words.end() - dash < 4) continue;
    const bool fits = controller.empty() ? dash[1] == "cgroup2" : dash[1] == "cgroup" && lists(dash[3], controller);
    if (fits) return {root + unescaped(words[4]), unescaped(words[3])};
  }
  return {};
}

// The process' own group in that hierarchy. A line of the file: number:controllers:path, without controllers for
// version 2.
std::string own_group(const std::string& root, std::string_view controller) {
  const std::string text = text_of(root + "/proc/self/cgroup");
  for (std::string_view line : parts_of(text, '\n')) {
    const size_t first = line.find(':');
    const size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    if (controller.empty() ? controllers.empty() : lists(controllers, controller))
      return std::string(line.substr(second + 1));
  }
  return "/";
}

// The folders of the process' own group and of all groups above it, as far as the mount shows them.
std::vector<std::string> folders_of(const std::string& root, std::string_view controller) {
  const Mount mount = mount_of(root, controller);
  if (!mount) return {};
  std::string below = own_group(root, controller);
  const std::string top = mount.group == "/" ? "" : mount.group;
  // A container may see the names of the groups outside it, but only the folder of its own.
  if (below.starts_with(top) && (below.size() == top.size() || below[top.size()] == '/')) below.erase(0, top.size());
  else below.clear();
  if (below.starts_with("/..")) below.clear();
  while (below.ends_with('/')) below.pop_back();
  std::vector<std::string> out;
  for (; !below.empty(); below.erase(below.rfind('/'))) out.push_back(mount.folder + below);
  out.push_back(mount.folder);
  return out;
}

double cached_files(const std::string& stat, const std::string& prefix) {
  return known_bytes(number_of(stat, prefix + "active_file")) + known_bytes(number_of(stat, prefix + "inactive_file"));
}

// "0-3,7" -> 5; 0 where the file says nothing.
int set_size(const std::string& path) {
  const std::string text = text_of(path);
  int out = 0;
  for (std::string_view range : parts_of(std::string_view(text).substr(0, text.find('\n')), ',')) {
    const double first = number_at_start(range);
    if (!(first < kUnlimited)) return 0;
    const size_t dash = range.find('-');
    const double last = dash == range.npos ? first : number_at_start(range.substr(dash + 1));
    if (!(last < kUnlimited)) return 0;
    out += int(last - first) + 1;
  }
  return out;
}

int quota(double of_period, double period) {
  if (!(of_period > 0 && of_period < kUnlimited && period > 0 && period < kUnlimited)) return kAllProcessors;
  return int(std::clamp(std::ceil(of_period / period), 1.0, double(kAllProcessors)));
}

int quota_of(const std::string& cpu_max) {
  const std::string text = text_of(cpu_max);
  const auto words = parts_of(std::string_view(text).substr(0, text.find('\n')), ' ');
  return words.size() < 2 ? kAllProcessors : quota(number_at_start(words[0]), number_at_start(words[1]));
}

}  // namespace

double memory_left_in_cgroups(const std::string& root) {
  double out = kUnlimited;
  auto limit = [&](double most, double used, double cached) {
    if (most < kUnlimited && used < kUnlimited) out = std::min(out, most - used + cached);
  };
  for (const std::string& folder : folders_of(root, ""))
    limit(std::min(number_of(folder + "/memory.max"), number_of(folder + "/memory.high")),
          number_of(folder + "/memory.current"), cached_files(folder + "/memory.stat", ""));
  for (const std::string& folder : folders_of(root, "memory"))
    limit(number_of(folder + "/memory.limit_in_bytes"), number_of(folder + "/memory.usage_in_bytes"),
          cached_files(folder + "/memory.stat", "total_"));
  return std::max(out, 0.0);
}

int processors_of_cgroups(const std::string& root) {
  int out = kAllProcessors;
  auto set = [&](const std::string& path) {
    if (const int size = set_size(path); size > 0) out = std::min(out, size);
  };
  for (const std::string& folder : folders_of(root, "")) {
    out = std::min(out, quota_of(folder + "/cpu.max"));
    set(folder + "/cpuset.cpus.effective");
  }
  for (const std::string& folder : folders_of(root, "cpu"))
    out = std::min(out, quota(number_of(folder + "/cpu.cfs_quota_us"), number_of(folder + "/cpu.cfs_period_us")));
  for (const std::string& folder : folders_of(root, "cpuset")) set(folder + "/cpuset.cpus");
  return out;
}

}  // namespace neon
