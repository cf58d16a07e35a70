// The kernels of a training step as a GPU runs them, and how long NVRTC takes to compile those that are generated.
// Needs no GPU.
//   tools/lowering [OPTIONS OF neon] SPEC     e.g. -d f16 examples/bench/googlenet.yaml; -m 2: rank 0 of two
//   tools/lowering --source N …               the text of kernel N alone
//   tools/lowering --texts …                  the kernels and their texts, to compare two commits; compiles nothing
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>

#include "backends/cuda/compile.h"
#include "backends/cuda/op_source.h"
#include "backends/cuda/source.h"
#include "backends/graph/ops.h"
#include "neon/cli/session.h"
#include "neon/train/batch_feed.h"

using namespace neon;

namespace {

constexpr int kArch = 90, kProcessors = 132;  // an H200's

StepGraph graph_of(const CommandLine& line) {
  const OpenedSpec spec = open_spec(line, only_operand(line));
  RunOptions options = line.run();
  const DataLayout layout = layout_of(check_data(*spec.experiment, options, spec.folder));
  const ExperimentParams& params = spec.experiment->params;
  StepOptions step = step_options(options, params);
  if (line.ranks > 1) step.share = share_of(step.batch, step.batch, {0, int(line.ranks)});
  if (line.ranks > 1) step.batch = step.share.count;
  return training_graph(spec.experiment->network(), *params.cost, *params.optimizer, layout, step);
}

// The program around a kernel, as the trainer has it compiled.
cuda::SourceContext context_of(const Lowered& lowered, bool tf32, std::map<std::string, int>& scalars) {
  cuda::SourceContext context{lowered, scalars, {}, 0, {}, {}};
  context.processors = kProcessors;
  context.tf32 = tf32;
  for (const Value input : lowered.graph.leaves(LeafKind::input))
    for (const std::string& name : BatchFeed::sequences())
      if (lowered.graph.producer(input).attributes.string("name") == name) context.sequences.insert(input.id);
  return context;
}

// What libraries are asked for counts as theirs; only a GPU tells what they refuse, such as groups with uneven padding.
bool is_generated(const Lowered& lowered, bool tf32, const LoweredKernel& kernel) {
  std::map<std::string, int> scalars;
  return !kernel.traits().exchanges && !cuda::asks_library(kernel, context_of(lowered, tf32, scalars));
}

std::string source_of(const Lowered& lowered, bool tf32, const LoweredKernel& kernel) {
  std::map<std::string, int> scalars;
  cuda::SourceContext context = context_of(lowered, tf32, scalars);
  return (kernel.fused ? cuda::fused_source(*kernel.fused, context) : cuda::op_source(kernel, context)).text;
}

void compile_each(const Lowered& lowered, bool tf32) {
  std::set<std::string> sources;
  std::vector<std::pair<double, std::string>> times;
  double all = 0;
  for (const LoweredKernel& kernel : lowered.kernels) {
    if (!is_generated(lowered, tf32, kernel)) continue;
    const std::string text = source_of(lowered, tf32, kernel);
    if (!sources.insert(text).second) continue;
    const auto before = std::chrono::steady_clock::now();
    cuda::compile_sources({text}, kArch);
    times.emplace_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count(), kernel.scope);
    all += times.back().first;
  }
  std::sort(times.rbegin(), times.rend());
  std::printf("%zu different sources, %.1f s to compile on one thread; the longest:\n", sources.size(), all);
  for (size_t i = 0; i < std::min<size_t>(times.size(), 5); ++i)
    std::printf("  %.2f s %s\n", times[i].first, times[i].second.c_str());
}

void print_texts(const Lowered& lowered, bool tf32) {
  const size_t head = cuda::source_head().size();  // of all texts
  for (size_t k = 0; k < lowered.kernels.size(); ++k)
    if (is_generated(lowered, tf32, lowered.kernels[k]))
      std::printf("kernel %zu\n%s\n", k, source_of(lowered, tf32, lowered.kernels[k]).substr(head).c_str());
}

}  // namespace

int main(int argc, char** argv) try {
  bool finished = false;
  std::string words;
  const std::string first = argc > 1 ? argv[1] : "";
  const bool one = argc > 2 && first == "--source", texts = first == "--texts";
  const CommandLine line = parse_command_line({argv + (one ? 3 : texts ? 2 : 1), argv + argc}, finished, words);
  const StepGraph step = graph_of(line);
  const bool tf32 = line.run().tf32;
  const Lowered lowered = lower(step.graph, cuda::gpu_lowering(true, tf32, kArch, kProcessors, line.ranks > 1));
  if (one) {
    std::fputs(source_of(lowered, tf32, lowered.kernels.at(size_t(std::atoi(argv[2])))).c_str(), stdout);
    return 0;
  }
  std::fputs(to_string(lowered).c_str(), stdout);
  if (texts) print_texts(lowered, tf32);
  else compile_each(lowered, tf32);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "lowering: %s\n", error.what());
  return 1;
}
