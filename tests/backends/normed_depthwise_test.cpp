// The image of a depthwise convolution behind batch norm needs no memory on a device that computes it as it reads it.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "tests/backends/net_of_branches.h"
#include "tests/backends/normed_depthwise_cases.h"
#include "tests/backends/read_too_early.h"

using namespace neon;
using namespace neon::test;

namespace {

bool is_array(const Instruction& i) {
  return i.kind == Instruction::Kind::load && i.reach == Reach::full && i.strides[0] > 0;
}

bool is_of_channels(const LoweredKernel& kernel) {
  const ConvolutionKind kind = kernel.convolution();
  return kind != ConvolutionKind::none && kernel.attributes.integer("groups") > 1;
}

// As a GPU's kernels do, with filters of 5x5 at most, and images that are computed of one array.
bool computes(const LoweredKernel& kernel, const Graph& graph, const FusedKernel* code) {
  if (!is_of_channels(kernel) || kernel.convolution() == ConvolutionKind::by_input) return false;
  const bool forward = kernel.convolution() == ConvolutionKind::forward;
  const Shape& filters = graph.shape(forward ? kernel.inputs[1] : kernel.outputs[0]);
  return filters[1] <= 5 && (!code || std::ranges::count_if(code->segments[0].body, is_array) == 1);
}

bool makes_both(const LoweredKernel& kernel, const Graph&, const DeviceKernels&) { return is_of_channels(kernel); }

// Takes folds that read one array beside the gradient.
bool folds(const LoweredKernel& kernel, const Graph&, const FusedKernel& code) {
  std::set<Value> arrays;
  for (const Instruction& i : code.segments[0].body)
    if (is_array(i)) arrays.insert(i.value);
  arrays.erase(kernel.outputs[0]);
  return kernel.prologue() && arrays.size() == 1;
}

// "%17" to "sum(...)": what code makes, by the names that other code reads it by.
std::map<std::string, std::string> expressions(const FusedKernel& code, const Graph& graph) {
  std::map<std::string, std::string> out;
  const std::string all = code.to_string(graph);
  for (size_t begin = 0, end = 0; begin < all.size(); begin = end + 2) {
    end = std::min(all.find("; ", begin), all.size());
    const size_t equals = all.find(" = ", begin);
    out[all.substr(begin, equals - begin)] = all.substr(equals + 3, end - equals - 3);
  }
  return out;
}

// An expression in which the names of folds are replaced by the folds.
std::string inlined(const std::string& expression, const std::map<std::string, std::string>& folds) {
  std::string out;
  for (size_t i = 0; i < expression.size();) {
    size_t end = i + 1;
    while (expression[i] == '%' && end < expression.size() && std::isdigit(expression[end])) ++end;
    const auto fold = folds.find(expression.substr(i, end - i));
    out += fold == folds.end() ? expression.substr(i, end - i) : fold->second;
    i = end;
  }
  return out;
}

// All that fused kernels make, with the folds of other kernels in the place of their names.
std::map<std::string, std::string> all_expressions(const Lowered& of) {
  std::map<std::string, std::string> folds, out;
  for (const LoweredKernel& kernel : of.kernels)
    if (kernel.folds()) folds.merge(expressions(*kernel.folds(), of.graph));
  for (const LoweredKernel& kernel : of.kernels)
    if (kernel.fused)
      for (const auto& [name, made] : expressions(*kernel.fused, of.graph)) out[name] = inlined(made, folds);
  for (const auto& [name, fold] : folds) out.emplace(name, fold);
  return out;
}

// Values that a kernel's code reads, and the kernel neither takes nor makes: they would have no place in memory.
int64_t untold(const LoweredKernel& kernel) {
  int64_t out = 0;
  for (const FusedKernel* code : {kernel.prologue(), kernel.folds()})
    for (const Instruction& i : code ? code->segments[0].body : std::vector<Instruction>{})
      out += i.value && !std::ranges::count(kernel.inputs, i.value) && !std::ranges::count(kernel.outputs, i.value);
  return out;
}

int64_t reductions(const Lowered& of) {
  int64_t out = 0;
  for (const LoweredKernel& kernel : of.kernels)
    for (const Segment& segment : kernel.fused ? kernel.fused->segments : std::vector<Segment>{})
      out +=
          std::ranges::count_if(segment.body, [](const Instruction& i) { return i.kind == Instruction::Kind::reduce; });
  return out;
}

int64_t count(const Lowered& of, ConvolutionKind kind) {
  return std::ranges::count_if(of.kernels,
                               [&](const LoweredKernel& k) { return k.prologue() && k.convolution() == kind; });
}

}  // namespace

TEST_CASE("depthwise convolutions and their gradients compute what they read of batch norm") {
  for (DType dtype : {DType::f32, DType::f16, DType::bf16})
    for (const NormedDepthwiseCase& c : normed_depthwise_cases())
      for (const bool both : {false, true}) {
        LowerOptions options{.passes = kUsualPasses | PassSet{LowerPass::remake, LowerPass::prologues},
                             .kernels = {.computes_image = computes, .makes_both_gradients = makes_both}};
        if (both) options.passes |= LowerPass::both_gradients;
        const Lowered lowered = lower(build_branches(c.build, dtype), options);
        INFO(c.name << " in " << std::string(name_of(dtype)) << "\n" << to_string(lowered));
        CHECK(count(lowered, ConvolutionKind::forward) == c.forward);
        CHECK(count(lowered, both ? ConvolutionKind::by_input : ConvolutionKind::by_filters) == c.gradients);
        CHECK(read_too_early(lowered) == -1);
        for (const LoweredKernel& kernel : lowered.kernels) {
          for (Value input : kernel.inputs) CHECK(lowered.storage[size_t(input.id)]);
          CHECK(untold(kernel) == 0);
          // The normalised array lies nowhere.
          if (const Attachment* image = kernel.find(Attachment::Kind::prologue))
            CHECK(!lowered.storage[size_t(image->value.id)]);
        }
      }
}

TEST_CASE("the kernel of both gradients folds them for the batch norm before") {
  for (DType dtype : {DType::f32, DType::f16})
    for (const NormedDepthwiseCase& c : normed_depthwise_cases()) {
      LowerOptions options{.passes = kUsualPasses | PassSet{LowerPass::remake, LowerPass::prologues,
                                                            LowerPass::both_gradients, LowerPass::moved_folds},
                           .kernels = {.computes_image = computes, .makes_both_gradients = makes_both}};
      const Graph graph = build_branches(c.build, dtype);
      const Lowered apart = lower(graph, options);
      options.kernels.folds_gradient = folds;
      const Lowered moved = lower(graph, options);
      INFO(c.name << " in " << std::string(name_of(dtype)) << "\n" << to_string(moved));
      CHECK(std::ranges::count_if(moved.kernels, [](const LoweredKernel& k) { return k.folds(); }) == c.folds);
      // The sums of the gradient, and of its products with the normalised numbers.
      CHECK(reductions(apart) - reductions(moved) == 2 * c.folds);
      CHECK(moved.kernels.size() == apart.kernels.size());
      const auto wanted = all_expressions(apart), made = all_expressions(moved);
      for (const auto& [name, expression] : wanted) CHECK(made.at(name) == expression);
      CHECK(int64_t(made.size() - wanted.size()) <= c.folds);  // a sum that only batch norm's kernel knew has a name
      CHECK(read_too_early(moved) == -1);
      for (const LoweredKernel& kernel : moved.kernels) {
        for (Value input : kernel.inputs) CHECK(moved.storage[size_t(input.id)]);
        CHECK(untold(kernel) == 0);
        for (Value output : kernel.outputs) CHECK(moved.storage[size_t(output.id)]);
      }
    }
}
