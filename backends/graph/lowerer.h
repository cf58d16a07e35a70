// The kernels of a graph while passes make them. Used by the table of passes alone.
#pragma once
#include <map>
#include <set>
#include <span>

#include "backends/graph/epilogue.h"
#include "backends/graph/fuse.h"
#include "backends/graph/lower.h"

namespace neon {

class Lowerer {
 public:
  // Takes a graph after all passes over graphs, with_writers() last. `exchanges`: see exchange_order.h; may be empty.
  Lowerer(Graph graph, const LowerOptions& options, std::span<const int> exchanges);

  // In this order; what a device does not want may be left out.
  void make_kernels_of_ops();
  void group();
  void remake();
  void set_operands_apart();
  void make_fused_kernels();
  void join();
  // A pass over kernels that have code and an order.
  void apply(void (*pass)(Lowered&, const DeviceKernels&)) { pass(lowered_, options_.kernels); }

  // How many of what there are, by name, for the trace of passes.
  std::map<std::string, int64_t> counts() const;
  Lowered result() { return std::move(lowered_); }

 private:
  const Graph& graph() const { return lowered_.graph; }
  void add_member(int n, bool at_home);
  std::vector<bool> values_needed(const Groups& groups) const;
  std::shared_ptr<FusedKernel> code_of(int group, std::vector<bool>& needed) const;
  void make_fused_kernel(int group, std::vector<bool>& needed);
  bool begins_early(const LoweredKernel& kernel) const;
  void order();
  void hold_exchanges(std::vector<std::set<int>>& after) const;
  void put_off_columns();
  void follow(int from, int at, std::vector<std::set<int>>& after) const;
  void hold_writers(int n, std::vector<std::set<int>>& after) const;

  LowerOptions options_;
  std::vector<int> exchanges_;
  Lowered lowered_;
  std::vector<Role> roles_;
  Epilogues epilogues_;
  Groups groups_;
  std::vector<std::vector<int>> members_;     // by kernel: its nodes
  std::vector<std::vector<int>> kernels_of_;  // by node
  std::vector<int> home_;                     // by node: the kernel that others have its value from
};

}  // namespace neon
