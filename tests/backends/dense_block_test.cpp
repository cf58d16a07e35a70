// Dense blocks, whose gradients are added up before they are finished.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "backends/graph/ops.h"
#include "backends/graph/passes.h"
#include "tests/backends/dense_block_cases.h"
#include "tests/backends/net_of_branches.h"
#include "tests/backends/read_too_early.h"
#include "tests/backends/run_case.h"

using namespace neon;
using namespace neon::test;

namespace {

// The outputs of a run of the plain kernels.
std::map<std::string, Tensor> plainly(const Graph& graph) {
  Variables variables;
  const auto program = compile_program(graph, variables, {.program = {.plain = true}});
  std::map<std::string, Tensor> data, out;
  for (Value leaf : graph.leaves(LeafKind::variable))
    variables.at(graph.producer(leaf).attributes.string("name")).copy_from(join_data(graph, leaf));
  for (Value leaf : graph.leaves(LeafKind::input)) {
    const std::string& name = graph.producer(leaf).attributes.string("name");
    program->bind(name, (data[name] = join_data(graph, leaf)).data());
  }
  program->run(0);
  for (const auto& [name, value] : graph.outputs()) out[name] = program->output(name).clone();
  return out;
}

// Whether a kernel makes numbers of pixels only when it has sums of all pixels.
bool waits_for_sums(const LoweredKernel& kernel) {
  if (!kernel.fused) return false;
  for (const Segment& segment : kernel.fused->segments) {
    std::vector<bool> late;
    for (const Instruction& i : segment.body) {
      bool follows = i.kind == Instruction::Kind::reduce;
      for (int input : i.inputs) follows = follows || late[size_t(input)];
      late.push_back(follows);
    }
    for (const Store& store : segment.stores)
      if (store.reach == Reach::full && late[size_t(store.reg)]) return true;
  }
  return false;
}

int64_t waiting(const Graph& graph, PassSet passes) {
  const Lowered lowered = lower(graph, {.passes = passes});
  CHECK(read_too_early(lowered) == -1);
  return std::ranges::count_if(lowered.kernels, waits_for_sums);
}

}  // namespace

TEST_CASE("a dense block that adds up unfinished gradients computes the same") {
  for (const DenseBlockCase& c : dense_block_cases()) {
    INFO(c.name);
    const Graph graph = build_branches(c.build, DType::f64);
    const auto wanted = plainly(graph), got = plainly(with_dense_blocks(graph));
    REQUIRE(got.size() == wanted.size());
    for (const auto& [name, y] : wanted) {
      INFO(name);
      CHECK(difference_over_largest(got.at(name), y) < 1e-12);
    }
  }
}

TEST_CASE("gradients of a dense block wait for no sums, but for those of its first batch norm") {
  const PassSet usual = kUsualPasses | PassSet{LowerPass::remake, LowerPass::columns, LowerPass::join};
  for (DType dtype : {DType::f32, DType::f16})
    for (const DenseBlockCase& c : dense_block_cases()) {
      INFO(c.name << " in " << std::string(name_of(dtype)));
      const Graph graph = build_branches(c.build, dtype);
      const int64_t all = waiting(graph, usual), left = waiting(graph, usual | LowerPass::dense_blocks);
      CHECK((left < all) == c.apart);
      if (c.apart) CHECK(left == kLayers + 1 + 1);  // each forward, and that of the first
    }
}
