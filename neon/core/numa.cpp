#include "neon/core/numa.h"

#include <dirent.h>
#include <sched.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <optional>

namespace neon {

namespace {

// The first line; empty where the file cannot be read.
std::string line_of(const std::string& path) {
  std::string out;
  FILE* file = std::fopen(path.c_str(), "r");
  if (!file) return out;
  for (int c; (c = std::fgetc(file)) != EOF && c != '\n';) out += char(c);
  std::fclose(file);
  return out;
}

// "0-3,8" -> 0, 1, 2, 3, 8; what cannot be read ends the list.
std::vector<int> numbers_of(const std::string& list) {
  constexpr int kMost = 1 << 16;  // no kernel has more processors
  std::vector<int> out;
  const char *at = list.data(), *const end = at + list.size();
  while (at < end) {
    int first = 0;
    auto [next, fault] = std::from_chars(at, end, first);
    if (fault != std::errc() || first < 0) return out;
    int last = first;
    if (next < end && *next == '-') {
      const auto [after, wrong] = std::from_chars(next + 1, end, last);
      if (wrong != std::errc()) return out;
      next = after;
    }
    for (int n = first; n <= std::min(last, kMost); ++n) out.push_back(n);
    if (next < end && *next != ',') return out;
    at = next + 1;
  }
  return out;
}

// The number in "node12".
std::optional<int> number_of_node(const std::string& name) {
  const std::string stem = "node";
  int number = 0;
  if (!name.starts_with(stem)) return {};
  const auto [end, fault] = std::from_chars(name.data() + stem.size(), name.data() + name.size(), number);
  if (fault != std::errc() || end != name.data() + name.size() || number < 0) return {};
  return number;
}

}  // namespace

std::vector<NumaNode> numa_nodes(const std::string& root) {
  const std::string folder = root + "/sys/devices/system/node";
  std::vector<NumaNode> out;
  DIR* const open = opendir(folder.c_str());
  if (!open) return out;
  while (const dirent* entry = readdir(open)) {
    const std::optional<int> number = number_of_node(entry->d_name);
    if (!number) continue;
    NumaNode node{*number, numbers_of(line_of(folder + "/" + entry->d_name + "/cpulist"))};
    if (!node.processors.empty()) out.push_back(std::move(node));  // others have memory alone
  }
  closedir(open);
  std::ranges::sort(out, {}, &NumaNode::number);
  return out;
}

int node_of_device(std::string pci, const std::string& root) {
  if (pci.empty() || pci.find('/') != pci.npos) return -1;
  std::ranges::transform(pci, pci.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  const std::string line = line_of(root + "/sys/bus/pci/devices/" + pci + "/numa_node");
  int node = -1;
  const auto [end, fault] = std::from_chars(line.data(), line.data() + line.size(), node);
  return fault == std::errc() && end == line.data() + line.size() ? std::max(node, -1) : -1;
}

std::vector<int> processors_near(const std::string& pci, const std::vector<int>& allowed, int least,
                                 const std::string& root) {
  const std::vector<NumaNode> nodes = numa_nodes(root);
  const int number = node_of_device(pci, root);
  const auto own = std::ranges::find(nodes, number, &NumaNode::number);
  if (nodes.size() < 2 || own == nodes.end()) return {};
  std::vector<int> out;
  for (const int processor : allowed)
    if (std::ranges::count(own->processors, processor)) out.push_back(processor);
  if (int(out.size()) < least || out.size() == allowed.size()) return {};
  return out;
}

int stay_near(const std::string& pci, int processes) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 0;
  std::vector<int> allowed;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor)
    if (CPU_ISSET(processor, &set)) allowed.push_back(processor);
  const int share = std::max(1, int(allowed.size()) / std::max(1, processes));
  const std::vector<int> near = processors_near(pci, allowed, share);
  if (near.empty()) return 0;
  CPU_ZERO(&set);
  for (const int processor : near) CPU_SET(processor, &set);
  return sched_setaffinity(0, sizeof set, &set) == 0 ? int(near.size()) : 0;
}

}  // namespace neon
