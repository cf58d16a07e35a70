// NUMA nodes: each has some processors and the memory near them. `root` stands before /sys: a folder in tests.
#pragma once
#include <string>
#include <vector>

namespace neon {

struct NumaNode {
  int number = 0;
  std::vector<int> processors;
};

// The nodes with processors, by number; empty where the system names no node.
std::vector<NumaNode> numa_nodes(const std::string& root = "");

// The node of a device on the PCI bus, as 0000:1b:00.0; -1 where the system does not know.
int node_of_device(std::string pci, const std::string& root = "");

// The processors to which a process that uses the device should keep, of those that it may use: the ones of the
// device's node. Empty, for no change: on one node, where the node is unknown, and where fewer than `least` are left.
std::vector<int> processors_near(const std::string& pci, const std::vector<int>& allowed, int least,
                                 const std::string& root = "");

// Keeps the calling thread, and threads that it starts from now on, to processors near the device. Memory that these
// touch first lies near it, too. `processes` share the processors. Returns how many it may use then; 0 for no change.
int stay_near(const std::string& pci, int processes);

}  // namespace neon
