// Prints how both devices lower the graphs of the suites, and the text of every kernel that is generated for a GPU.
// Compare the output of two commits with diff: a change of structure alone leaves it equal. Needs no GPU.
//   kernel_texts [N]     with the random graphs of seeds below N (100)
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "backends/cpu/kernel.h"
#include "backends/cuda/op_source.h"
#include "backends/cuda/source.h"
#include "tests/backends/cuda/wide_cases.h"
#include "tests/backends/dense_cases.h"
#include "tests/backends/join_cases.h"
#include "tests/backends/net_of_branches.h"
#include "tests/backends/op_cases.h"
#include "tests/backends/pooled_cases.h"
#include "tests/backends/prologue_cases.h"
#include "tests/backends/random_graph.h"
#include "tests/backends/sibling_cases.h"

using namespace neon;
using namespace neon::test;

namespace {

constexpr DType kTypes[] = {DType::f32, DType::f64, DType::f16, DType::bf16};

bool keeps(const Graph&, const Node& node, const DeviceKernels&) { return cpu::has_kernel(*node.op); }

LowerOptions for_cpu(bool all) {
  const PassSet more = all ? PassSet{LowerPass::siblings, LowerPass::columns, LowerPass::join} : PassSet();
  return {.passes = kCpuPasses | more, .kernels = {.keeps = keeps}};
}

// The kernels' texts without the prelude, which all have in common.
void print_texts(const Lowered& lowered, bool tf32) {
  const size_t head = cuda::source_head().size();
  std::map<std::string, int> scalars;
  cuda::SourceContext context{lowered, scalars, {}, 0, {}, {}};
  context.tf32 = tf32;
  for (size_t k = 0; k < lowered.kernels.size(); ++k) {
    const LoweredKernel& kernel = lowered.kernels[k];
    const bool library = cuda::asks_library(kernel, context);
    std::printf("kernel %zu%s\n", k, library ? " of a library, or" : "");
    try {
      const cuda::Source source =
          kernel.fused ? cuda::fused_source(*kernel.fused, context) : cuda::op_source(kernel, context);
      std::printf("%lld blocks, %zu bytes, %d tickets, arrays", (long long)source.blocks, source.partial_bytes,
                  source.tickets);
      for (Value array : source.arrays) std::printf(" %%%d", array.id);
      std::printf("%s\n", source.text.substr(head).c_str());
    } catch (const Error& error) {
      std::printf("%s\n", error.what());
    }
  }
}

void print(const std::string& name, const Graph& graph) {
  for (bool all : {false, true})
    std::printf("== %s, CPU %d\n%s", name.c_str(), all, to_string(lower(graph, for_cpu(all))).c_str());
  for (bool tf32 : {false, true}) {
    const Lowered lowered = lower(graph, cuda::gpu_lowering(true, tf32));
    std::printf("== %s, GPU %d\n%s", name.c_str(), tf32, to_string(lowered).c_str());
    print_texts(lowered, tf32);
  }
}

template <typename Cases>
void print_branches(const char* suite, const Cases& cases) {
  for (const auto& c : cases)
    for (DType dtype : kTypes) print(text(suite, " ", c.name, " ", dtype), build_branches(c.build, dtype));
}

}  // namespace

int main(int argc, char** argv) {
  for (const OpCase& c : all_cases())
    for (DType dtype : kTypes) {
      Graph graph;
      build_case(graph, c, dtype);
      print(text(c, " ", dtype), graph);
    }
  for (DType dtype : kTypes)
    for (const WideCase& c : wide_cases(dtype)) {
      Graph graph;
      build_wide(graph, c);
      print(text("wide ", c.name, " ", dtype), graph);
    }
  print_branches("dense", dense_cases());
  print_branches("join", join_cases());
  print_branches("pooled", pooled_cases());
  print_branches("pooled convolution", pooled_convolution_cases());
  print_branches("prologue", prologue_cases());
  print_branches("sibling", sibling_cases());
  const uint64_t seeds = argc > 1 ? uint64_t(std::atoll(argv[1])) : 100;
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    const DType dtype = kTypes[seed % 4];
    print(text("seed ", seed, " ", dtype), random_graph(seed, {.dtype = dtype}).graph);
  }
}
