#include <algorithm>
#include <chrono>

#include "backends/cpu/kernel.h"
#include "backends/cpu/programs.h"
#include "backends/graph/op.h"
#include "backends/graph/ops.h"
#include "backends/ranks/same_exchanges.h"
#include "neon/core/team.h"
#include "neon/core/thread_places.h"
#include "neon/core/threads.h"

namespace neon::cpu {

namespace {

bool keeps(const Graph&, const Node& node, const DeviceKernels&) { return has_kernel(*node.op); }

// Scopes of a step that are no layer's (models/step_graph.cpp, models/updater.cpp); "" is the step itself.
bool is_part_of_step(std::string_view scope) {
  for (const std::string_view part : {"", "batch", "cost", "finite", "accumulate", "update", "histograms"})
    if (scope == part) return true;
  return false;
}

Tensor arena_of(const Lowered& lowered) try {
  return Tensor(DType::u8, {int64_t(lowered.arena_bytes)});
} catch (const Error& error) {
  fail(error.kind(), "no memory for the values of a step, ", bytes_text(double(lowered.arena_bytes)),
       "; the largest array is ", largest_array(lowered));
}

class FastProgram : public Program {
 public:
  FastProgram(const Graph& graph, Variables& variables, const ProgramOptions& options)
      : store_(options.callers_memory ? nullptr : &variables) {
    PassSet passes = (options.fuse ? kCpuPasses | options.also : options.also) - options.without;
    if (options.callers_memory) passes = passes - PassSet{LowerPass::kept_casts, LowerPass::folded_scales};
    lowered_ = lower_alike(graph, lower_options(passes), options.ranks);
    const int threads = team_size(options.threads > 0 ? options.threads : available_threads());
    context_ = std::make_unique<Context>(lowered_, threads, options.ranks);
    arena_ = arena_of(lowered_);
    for (int v = 0; v < lowered_.graph.value_count(); ++v) {
      const Value storage = lowered_.storage[size_t(v)];
      if (storage == Value{v} && lowered_.buffers[size_t(v)].bytes)
        *context_->slot(storage) = static_cast<std::byte*>(arena_.data()) + lowered_.buffers[size_t(v)].offset;
    }
    for (Value value : lowered_.graph.leaves(LeafKind::variable)) {
      const TensorType& type = lowered_.graph.type(value);
      if (options.callers_memory) variables_[leaf_name(lowered_.graph, value)] = context_->slot(value);
      else *context_->slot(value) = variables.declare(leaf_name(lowered_.graph, value), type.dtype, type.shape).data();
    }
    for (Value value : lowered_.graph.leaves(LeafKind::input))
      inputs_[leaf_name(lowered_.graph, value)] = context_->slot(value);
    // oneDNN asks OpenMP for the number of threads when a primitive is made and when it runs, and relies on it.
    const Team team(threads);
    for (const LoweredKernel& kernel : lowered_.kernels) kernels_.push_back(make_kernel(kernel, *context_));
    context_->scratch.allocate();
    record_.resize(context_->scalars().size());
    for (LeafKind leaf : {LeafKind::input, LeafKind::variable})
      for (Value value : lowered_.graph.leaves(leaf))
        if (lowered_.graph.shape(value).elements() > 0) needed_leaves_.push_back(value);
  }

  void bind(const std::string& input, const void* data) override {
    const auto found = inputs_.find(input);
    if (found != inputs_.end()) *found->second = const_cast<void*>(data);
  }

  void bind_memory(const std::string& leaf, const DeviceMemory& memory, size_t offset) override {
    for (const auto* leaves : {&inputs_, &variables_})
      if (const auto found = leaves->find(leaf); found != leaves->end())
        *found->second = static_cast<std::byte*>(memory.data()) + offset;
  }

  void set_scalar(const std::string& name, double value) override {
    const auto found = context_->scalars().find(name);
    if (found != context_->scalars().end()) record_[size_t(found->second)] = value;
  }

  void run(uint64_t step) override {
    for (Value leaf : needed_leaves_)
      if (!*context_->slot(leaf)) not_bound(lowered_.graph, leaf);
    const Team team(context_->threads);
    keep_threads_apart(context_->threads);
    const bool news = !store_ || seen_.take(*store_, !lowered_.graph.assignments().empty());
    const Run run{step, record_.data(), news};
    milliseconds_.clear();
    for (size_t k = 0; k < kernels_.size(); ++k) {
      const auto before = std::chrono::steady_clock::now();
      if (news || !lowered_.kernels[k].is_once()) kernels_[k]->run(run);
      if (!timed_) continue;
      const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - before;
      milliseconds_.push_back(took.count());
    }
  }

  Tensor output(const std::string& name) const override {
    const Value value = lowered_.graph.outputs().at(name);
    const TensorType& type = lowered_.graph.type(value);
    return Tensor::wrap(type.dtype, type.shape, {}, *context_->slot(value));
  }

  std::vector<std::string> implementations() const override {
    std::vector<std::string> out;
    for (const auto& kernel : kernels_) out.push_back(kernel->implementation());
    return out;
  }

  void time_kernels(bool on) override { timed_ = on; }
  std::vector<double> kernel_milliseconds() const override { return milliseconds_; }

  // With other ranks all kernels run, since those exchange numbers with this one.
  Nonfinite first_nonfinite(uint64_t step) override {
    const Graph& graph = lowered_.graph;
    const Team team(context_->threads);
    Nonfinite first;
    int64_t exchanges = 0;
    for (Value value : graph.leaves(LeafKind::variable))
      if (const char* found = nonfinite(value); found && first.text.empty())
        first.text = text("variable ", leaf_name(graph, value), " holds ", found);
    bool forward = true;
    for (size_t k = 0; k < kernels_.size() && (first.text.empty() || context_->ranks); ++k) {
      kernels_[k]->run({step, record_.data()});
      const int64_t exchange = lowered_.kernels[k].traits().exchanges ? 1 : 0;
      if (first.text.empty()) first = {nonfinite_result(lowered_.kernels[k], forward), 2 * exchanges + exchange};
      exchanges += exchange;
      const auto cost = graph.outputs().find("cost");
      if (cost != graph.outputs().end() && std::ranges::count(lowered_.kernels[k].outputs, cost->second))
        forward = false;
    }
    return first;
  }

 private:
  // Which result of a kernel is not finite, "" where all are.
  std::string nonfinite_result(const LoweredKernel& kernel, bool forward) const {
    const Graph& graph = lowered_.graph;
    for (Value value : kernel.outputs) {
      const char* found = nonfinite(value);
      if (!found) continue;
      const std::string_view op = kernel.fused ? graph.producer(value).op->name : kernel.name();
      const std::string place = kernel.scope.empty() ? scope_of(value) : kernel.scope;
      const std::string source = source_of(value);
      if (place == "batch" && source == "samples" && padded_by_nan(graph)) continue;
      if (op == ops::ctc)
        return text(found, " in the cost: the labels of a sample do not fit into its steps; fewer strides or shorter ",
                    "targets would, and cost: {CTC: {infeasible: zero}} leaves such samples out");
      if (place == "batch" && !source.empty())
        return text(found, " in the ", source, " of the batch, ", graph.type(value));
      return text(found, " in the result ", graph.type(value), " of ", op, forward ? " of " : " of the gradient of ",
                  is_part_of_step(place) ? "the " : "layer ", place.empty() ? "step" : place);
    }
    return "";
  }
  // The scope of the op that made the value, or of the nearest op before it with a scope: nodes that a pass adds may
  // lack one.
  std::string scope_of(Value value) const {
    const Graph& graph = lowered_.graph;
    for (const Node* node = &graph.producer(value);; node = &graph.producer(node->inputs[0]))
      if (!node->scope.empty() || node->inputs.empty()) return node->scope;
  }
  // Whether samples are sequences with NaN behind them: these are compared with themselves, and then replaced.
  static bool padded_by_nan(const Graph& graph) {
    for (int i = 0; i < graph.node_count(); ++i)
      if (const Node& node = graph.node(i); node.op->is(ops::equal) && node.inputs[0] == node.inputs[1]) return true;
    return false;
  }
  // "samples" or "targets", where the value is made of the input `data` or `targets`.
  std::string source_of(Value value) const {
    const Graph& graph = lowered_.graph;
    const Node* node = &graph.producer(value);
    while (!node->inputs.empty()) node = &graph.producer(node->inputs[0]);
    if (node->op->traits.leaf != LeafKind::input) return "";
    const std::string& name = leaf_name(graph, node->outputs[0]);
    return name == "data" ? "samples" : name == "targets" ? "targets" : "";
  }
  // "NaN", "infinity", or null.
  const char* nonfinite(Value value) const {
    const TensorType& type = lowered_.graph.type(value);
    if (!is_floating(type.dtype)) return nullptr;
    const Placement& placement = lowered_.placements[size_t(value.id)];
    const Shape& held = placement ? lowered_.graph.shape(placement.whole) : type.shape;
    const Tensor array = Tensor::wrap(type.dtype, held, {}, *context_->slot(value));
    for (int64_t i = 0; i < type.shape.elements(); ++i)
      if (const double x = array.at(placement.of(i)); x - x != 0) return x != x ? "NaN" : "infinity";
    return nullptr;
  }

  Variables* const store_;  // null with the caller's memory
  WritesSeen seen_;
  std::unique_ptr<Context> context_;
  Tensor arena_;
  std::vector<Value> needed_leaves_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
  std::map<std::string, void**> inputs_, variables_;  // variables: with the caller's memory
  std::vector<double> record_;
  bool timed_ = false;
  std::vector<double> milliseconds_;  // of the last run's kernels, where they are timed
};

}  // namespace

LowerOptions lower_options(PassSet passes) {
  return {.passes = passes, .kernels = {.keeps = keeps, .writes_over = operand_written_over}};
}

std::unique_ptr<Program> make_fast_program(const Graph& graph, Variables& variables, const ProgramOptions& options) {
  return std::make_unique<FastProgram>(graph, variables, options);
}

}  // namespace neon::cpu
