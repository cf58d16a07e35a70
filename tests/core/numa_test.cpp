#include "neon/core/numa.h"

#include <catch2/catch.hpp>
#include <numeric>

#include "tests/support/temp_folder.h"

using namespace neon;

namespace {

// A folder with the files of /sys that name nodes and devices, as the kernel's documentation describes them.
class FakeSystem {
 public:
  void node(const std::string& name, const std::string& processors) {
    put("sys/devices/system/node/" + name + "/cpulist", processors);
  }
  void device(const std::string& pci, const std::string& node) {
    put("sys/bus/pci/devices/" + pci + "/numa_node", node);
  }
  std::string root() const { return folder_.path(); }
  std::vector<int> near(const std::string& pci, const std::vector<int>& allowed, int least = 1) const {
    return processors_near(pci, allowed, least, root());
  }

 private:
  void put(const std::string& path, const std::string& content) {
    const std::string place = folder_ / path;
    std::filesystem::create_directories(std::filesystem::path(place).parent_path());
    put_file(place, content + "\n");
  }
  TempFolder folder_;
};

std::vector<int> from_to(int first, int last) {
  std::vector<int> out(size_t(last - first + 1));
  std::iota(out.begin(), out.end(), first);
  return out;
}

// Two sockets of four cores with two threads each, as they are numbered mostly; a GPU on either.
struct TwoSockets : FakeSystem {
  TwoSockets() {
    node("node1", "4-7,12-15");
    node("node0", "0-3,8-11");
    device("0000:1b:00.0", "0");
    device("0000:9d:00.0", "1");
  }
};

}  // namespace

TEST_CASE("nodes have the processors that the system lists") {
  const TwoSockets two;
  const std::vector<NumaNode> nodes = numa_nodes(two.root());
  REQUIRE(nodes.size() == 2);
  CHECK(nodes[0].number == 0);
  CHECK(nodes[0].processors == std::vector<int>{0, 1, 2, 3, 8, 9, 10, 11});
  CHECK(nodes[1].processors == std::vector<int>{4, 5, 6, 7, 12, 13, 14, 15});
  FakeSystem host;
  CHECK(numa_nodes(host.root()).empty());
  host.node("node10", "3");
  host.node("node2", "1");
  host.node("node3", "");     // memory alone
  host.node("nodes", "0-1");  // no node
  host.node("node4x", "0-1");
  host.node("node5", "0,2-x");  // up to what cannot be read
  const std::vector<NumaNode> odd = numa_nodes(host.root());
  REQUIRE(odd.size() == 3);
  CHECK((odd[0].number == 2 && odd[1].number == 5 && odd[2].number == 10));
  CHECK(odd[1].processors == std::vector<int>{0});
}

TEST_CASE("a device has the node that the system names") {
  TwoSockets host;
  CHECK(node_of_device("0000:1b:00.0", host.root()) == 0);
  CHECK(node_of_device("0000:9D:00.0", host.root()) == 1);  // CUDA writes letters large
  CHECK(node_of_device("0000:aa:00.0", host.root()) == -1);
  host.device("0000:aa:00.0", "-1");
  CHECK(node_of_device("0000:aa:00.0", host.root()) == -1);
  CHECK(node_of_device("", host.root()) == -1);
  CHECK(node_of_device("../0000:1b:00.0", host.root()) == -1);
}

TEST_CASE("a process keeps to the processors of its device's node, of those that it may use") {
  const TwoSockets host;
  CHECK(host.near("0000:9D:00.0", from_to(0, 15), 8) == std::vector<int>{4, 5, 6, 7, 12, 13, 14, 15});
  CHECK(host.near("0000:1b:00.0", from_to(2, 5)) == std::vector<int>{2, 3});
}

TEST_CASE("nothing changes on one node, on an unknown one, and where too few processors are left") {
  const TwoSockets host;
  CHECK(host.near("0000:aa:00.0", from_to(0, 15)).empty());
  CHECK(host.near("0000:1b:00.0", from_to(4, 7)).empty());     // none of the node's
  CHECK(host.near("0000:1b:00.0", from_to(0, 3)).empty());     // all are
  CHECK(host.near("0000:1b:00.0", from_to(2, 9), 5).empty());  // four, and each process has a share of five
  FakeSystem one;
  one.node("node0", "0-7");
  one.device("0000:1b:00.0", "0");
  CHECK(one.near("0000:1b:00.0", from_to(0, 15)).empty());
}
