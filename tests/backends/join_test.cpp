// Concatenations without a kernel and gradients that are made together: which they are, and that nothing else changes.
// All numbers are whole and small, so that results are the same to the bit whoever adds and writes them where.
#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <set>

#include "backends/graph/lower.h"
#include "backends/graph/ops.h"
#include "backends/program.h"
#include "tests/backends/join_cases.h"
#include "tests/backends/net_of_branches.h"
#include "tests/backends/nets.h"
#include "tests/backends/op_cases.h"
#include "tests/backends/pixel_cases.h"
#include "tests/backends/run_case.h"
#include "tests/backends/sibling_cases.h"

using namespace neon;
using namespace neon::test;

namespace {

int count(const Lowered& lowered, OpName op) {
  return int(std::ranges::count_if(lowered.kernels, [&](const LoweredKernel& kernel) { return kernel.is(op); }));
}
// Biases and relus that convolutions take along.
int epilogues(const Lowered& lowered) {
  int out = 0;
  for (const LoweredKernel& kernel : lowered.kernels)
    if (kernel.convolution() == ConvolutionKind::forward) out += int(bool(kernel.bias())) + int(kernel.relu());
  return out;
}
int concatenations(const Lowered& lowered) { return count(lowered, ops::concat); }

std::map<std::string, Tensor> run(const Graph& graph, const ProgramOptions& options) {
  Variables variables;
  const auto program = compile_for_cpu(graph, variables, options);
  std::map<std::string, Tensor> data, out;
  for (Value leaf : graph.leaves(LeafKind::variable)) {
    const std::string& name = graph.producer(leaf).attributes.string("name");
    variables.at(name).copy_from(join_data(graph, leaf));
  }
  for (Value leaf : graph.leaves(LeafKind::input)) {
    const std::string& name = graph.producer(leaf).attributes.string("name");
    program->bind(name, (data[name] = join_data(graph, leaf)).data());
  }
  program->run(0);
  for (const auto& [name, value] : graph.outputs()) out[name] = program->output(name).clone();
  for (const auto& [name, tensor] : variables.all()) out["variable " + name] = tensor.clone();
  return out;
}

}  // namespace

TEST_CASE("a concatenation is written piece by piece where all who make and read its inputs can") {
  for (DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16})
    for (const JoinCase& c : join_cases()) {
      INFO(c.name << " in " << std::string(name_of(dtype)));
      const Graph graph = build_branches(c.build, dtype);
      const Lowered copied = lower(graph), joined = lower(graph, {.passes = kUsualPasses | LowerPass::join});
      INFO(to_string(joined));
      CHECK(concatenations(joined) == (size_of(dtype) == 2 ? c.copied_narrow : c.copied));
      CHECK(concatenations(copied) > 0);
      CHECK(joined.kernels.size() - size_t(concatenations(joined)) ==
            copied.kernels.size() - size_t(concatenations(copied)));
    }
}

TEST_CASE("what is written piece by piece is what would have been copied") {
  for (DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16})
    for (const JoinCase& c : join_cases()) {
      INFO(c.name << " in " << std::string(name_of(dtype)));
      const Graph graph = build_branches(c.build, dtype);
      const auto plain = run(graph, {.plain = true});
      for (bool fuse : {false, true}) {
        INFO((fuse ? "fused" : "kernel by kernel"));
        for (const auto& [name, y] : run(graph, {.threads = 2, .also = LowerPass::join, .fuse = fuse})) {
          INFO(name);
          CHECK(difference(y, plain.at(name)) == "");
        }
      }
    }
}

TEST_CASE(
    "convolutions that are products of pixels are those of single pixels in one group, without strides or padding") {
  std::multiset<std::string> found;
  for (const OpCase& c : all_cases()) {
    if (!c.op.starts_with("convolution")) continue;
    Graph graph;
    build_case(graph, c, DType::f64);
    const Lowered lowered = lower(graph);
    if (is_pointwise(lowered.kernels.back(), lowered.graph)) found.insert(c.op + ", " + c.name);
  }
  std::multiset<std::string> expected;
  for (const char* op : {"convolution", "convolution_data_gradient", "convolution_weight_gradient"})
    for (const char* name : {"1x1", "one pixel", "64 samples, 1x1"}) expected.insert(text(op, ", ", name));
  CHECK(found == expected);
}

TEST_CASE("where only products write into a concatenation, a convolution's relu does it for the others") {
  const LowerOptions options = {.passes = kUsualPasses | LowerPass::join,
                                .kernels = {.convolutions_write_rows = false}};
  for (DType dtype : {DType::f32, DType::f16})
    for (const PixelCase& c : pixel_cases()) {
      INFO(c.name << " in " << std::string(name_of(dtype)));
      const Lowered lowered = lower(build_branches(c.build, dtype), options);
      INFO(to_string(lowered));
      CHECK(concatenations(lowered) == c.copied);
      int written = 0, apart = 0;
      for (const LoweredKernel& kernel : lowered.kernels) {
        if (!lowered.placements[size_t(kernel.outputs[0].id)]) continue;
        written += kernel.convolution() != ConvolutionKind::none;
        // It reads what a convolution alone has made.
        apart +=
            kernel.fused && std::ranges::any_of(kernel.inputs, [&](Value input) {
              return std::ranges::any_of(lowered.kernels, [&](const LoweredKernel& maker) {
                return maker.convolution() == ConvolutionKind::forward && maker.outputs[0] == input && !maker.relu();
              });
            });
      }
      CHECK(written == c.written);
      CHECK(apart == c.apart);
      LowerOptions copying = options;
      copying.passes = kUsualPasses;
      CHECK(epilogues(lowered) + c.apart == epilogues(lower(build_branches(c.build, dtype), copying)));
    }
}

TEST_CASE("of a concatenation whose small part cannot be written there, that part alone is copied") {
  const auto is_dense = [](const JoinCase& c) { return c.name == "a dense block"; };
  const std::vector<JoinCase> cases = join_cases();
  for (DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    INFO(std::string(name_of(dtype)));
    const Graph graph = build_branches(std::ranges::find_if(cases, is_dense)->build, dtype);
    const Lowered lowered =
        lower(graph, {.passes = kUsualPasses | LowerPass::join, .kernels = {.convolutions_write_rows = false}});
    INFO(to_string(lowered));
    CHECK(concatenations(lowered) == 0);
    // The first layer writes its 16 channels, kernels copy the 8 and 16 that convolutions have made beside them.
    std::multiset<std::pair<bool, int64_t>> written;
    for (const LoweredKernel& kernel : lowered.kernels)
      for (Value output : kernel.outputs)
        if (const Placement& at = lowered.placements[size_t(output.id)]) {
          CHECK(at.stride == 40);
          written.insert({bool(kernel.fused), at.first});
        }
    CHECK(written == std::multiset<std::pair<bool, int64_t>>{{false, 0}, {true, 16}, {true, 24}});
  }
}

TEST_CASE("nothing is copied beside a concatenation whose parts another takes, too") {
  for (bool again : {false, true}) {
    Graph graph;
    NetOfBranches n(graph, DType::f16, {2, 4, 4, 8});
    const Expr x = n.layer(n.x, 32), a = n.product(n.layer(n.x, 8), 8, 3);
    n.output("first", abs(n.joined({x, a})));
    if (again) n.output("second", abs(n.joined({x, a, n.product(n.layer(n.x, 16), 8, 3)})));
    const LowerOptions options = {.passes = kUsualPasses | LowerPass::join,
                                  .kernels = {.convolutions_write_rows = false}};
    LowerOptions copying = options;
    copying.passes = kUsualPasses;
    const Lowered lowered = lower(graph, options);
    INFO(to_string(lowered));
    CHECK(concatenations(lowered) == (again ? 2 : 0));
    CHECK(lowered.kernels.size() == lower(graph, copying).kernels.size());
  }
}

TEST_CASE("gradients of branches of one input are made together where they are only added up") {
  for (DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16})
    for (const SiblingCase& c : sibling_cases()) {
      INFO(c.name << " in " << std::string(name_of(dtype)));
      const Lowered lowered =
          lower(build_branches(c.build, dtype), {.passes = kUsualPasses | LowerPass::siblings | LowerPass::join});
      INFO(to_string(lowered));
      CHECK(count(lowered, ops::convolution_data_gradient) == c.data);
      CHECK(count(lowered, ops::convolution_weight_gradient) == c.weights);
      CHECK(count(lowered, ops::matmul) == c.products);
    }
}

TEST_CASE("filters that kernels write are side by side without another") {
  const SiblingCase c = sibling_cases()[1];
  CHECK(concatenations(lower(build_branches(c.build, DType::f16),
                             {.passes = kUsualPasses | LowerPass::siblings | LowerPass::join})) == 0);
  CHECK(concatenations(lower(build_branches(c.build, DType::f32),
                             {.passes = kUsualPasses | LowerPass::siblings | LowerPass::join})) == 1);
}

TEST_CASE("gradients that are made together are those that were added up") {
  for (DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16})
    for (const SiblingCase& c : sibling_cases()) {
      INFO(c.name << " in " << std::string(name_of(dtype)));
      const Graph graph = build_branches(c.build, dtype);
      const auto plain = run(graph, {.plain = true});
      for (bool join : {false, true})
        for (bool columns : {false, true}) {
          INFO((join ? "joined" : "copied") << (columns ? ", columns together" : ""));
          const ProgramOptions options{.threads = 2,
                                       .also = (join ? PassSet(LowerPass::join) : PassSet()) |
                                               PassSet(LowerPass::siblings) |
                                               (columns ? PassSet(LowerPass::columns) : PassSet())};
          for (const auto& [name, y] : run(graph, options)) {
            INFO(name);
            CHECK(difference(y, plain.at(name)) == "");
          }
        }
    }
}

TEST_CASE("a net of branches trains as it does without") {
  for (DType dtype : {DType::f64, DType::f32}) {
    INFO(std::string(name_of(dtype)));
    const Net net = modules(dtype, 8);
    Variables plain, together;
    const auto a = net.compile(plain, {.plain = true}),
               b = net.compile(together,
                               {.also = {LowerPass::remake, LowerPass::join, LowerPass::siblings, LowerPass::columns}});
    CHECK(count(b->lowered(), ops::convolution_weight_gradient) == 9 - 2);
    CHECK(count(b->lowered(), ops::convolution_data_gradient) == 8 - 2);
    for (int step = 0; step < 3; ++step)
      for (Program* program : {a.get(), b.get()}) {
        program->set_scalar("rate/0", 0.1);
        program->set_scalar("update", step + 1);
        program->run(uint64_t(step));
      }
    CHECK(b->output("cost").at(0) == Approx(a->output("cost").at(0)).epsilon(2000 * unit_roundoff(dtype)));
    // The longest sums are over 8 * 14 * 14 pixels, and each layer adds to what those behind it have added.
    for (const auto& [name, tensor] : plain.all()) {
      INFO(name);
      CHECK(difference(together.at(name), tensor, 5000 * unit_roundoff(dtype)) == "");
    }
  }
}

TEST_CASE("a program says where in a concatenation a kernel writes, and where others read") {
  Graph graph;
  const Expr x(graph, graph.input("x", DType::f32, {3, 4}));
  const Value y = graph.add("concat", {x * 2, x + 1.0}, {{"axis", int64_t(1)}});
  graph.output("y", y);
  graph.output("product", matmul(graph, y, y, true));
  const Lowered lowered = lower(graph, {.passes = kUsualPasses | LowerPass::join});
  const std::string words = to_string(lowered);
  INFO(words);
  CHECK(words.find(text("%", y.id, "[0..] f32 (3, 4)")) != words.npos);
  CHECK(words.find(text("%", y.id, "[4..] f32 (3, 4)")) != words.npos);
}

TEST_CASE("what is not finite is found where it lies in a concatenation") {
  const JoinCase c = join_cases().front();
  const Graph graph = build_branches(c.build, DType::f32);
  for (Value leaf : graph.leaves(LeafKind::variable)) {
    const std::string& broken = graph.producer(leaf).attributes.string("name");
    if (graph.shape(leaf).rank() == 1) continue;
    INFO(broken);
    std::vector<std::string> words;
    for (bool join : {false, true}) {
      Variables variables;
      const auto program =
          compile_for_cpu(graph, variables, {.threads = 1, .also = join ? PassSet(LowerPass::join) : PassSet()});
      Tensor x = join_data(graph, graph.leaves(LeafKind::input).front()), seed(DType::f32, {1, 4, 4, 8});
      // All sums are larger than 1, and with these weights too large.
      for (int64_t i = 0; i < x.elements(); ++i) x.set(i, 1);
      for (Value other : graph.leaves(LeafKind::variable)) {
        const std::string& name = graph.producer(other).attributes.string("name");
        for (int64_t i = 0; i < graph.shape(other).elements(); ++i)
          variables.at(name).set(i, name == broken ? 3e38 : 0.5);
      }
      program->bind("x", x.data());
      program->bind("seed", seed.data());
      words.push_back(program->first_nonfinite(0).text);
    }
    CHECK(words[0] == words[1]);
    CHECK(words[0].starts_with("infinity in the result f32 "));
  }
}
