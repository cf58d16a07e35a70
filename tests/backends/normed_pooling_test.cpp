// The operand of max pooling, and the result of its gradient, need no memory on a device that asks for it.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "backends/graph/ops.h"
#include "tests/backends/net_of_branches.h"
#include "tests/backends/normed_pooling_cases.h"
#include "tests/backends/read_too_early.h"

using namespace neon;
using namespace neon::test;

namespace {

// As a GPU's kernels of 16 bits do.
bool takes_eights(const LoweredKernel& pooling, const Graph& graph, const FusedKernel*) {
  if (!pooling.is(ops::pool_max)) return false;
  const std::vector<int64_t> window = pooling.attributes.integers("window");
  const bool rare = window[0] <= 2 * pooling.attributes.integers("strides")[0] && Shape(window).elements() <= 32;
  return rare && graph.shape(pooling.outputs[0]).back() % 8 == 0;
}

bool always(const LoweredKernel&, const Graph&, const FusedKernel&, const FusedKernel&) { return true; }

std::string graph_name(const Lowered& lowered, Value value) {
  return std::string(lowered.graph.producer(value).op->name);
}

bool spreads(const LoweredKernel& kernel) {
  bool found = false;
  if (kernel.fused)
    for (const Segment& segment : kernel.fused->segments)
      for (const Instruction& i : segment.body) found = found || i.spread;
  return found;
}

}  // namespace

TEST_CASE("max pooling computes what it reads of batch norm, whose gradient makes that of pooling") {
  for (DType dtype : {DType::f32, DType::f16, DType::bf16})
    for (const NormedPoolingCase& c : normed_pooling_cases()) {
      const Graph graph = build_branches(c.build, dtype);
      LowerOptions options{.passes = kUsualPasses | PassSet{LowerPass::remake, LowerPass::prologues},
                           .kernels = {.pooled_bytes = 1, .computes_image = takes_eights}};
      const Lowered one_way = lower(graph, options);
      LowerOptions without = options;
      without.kernels.computes_image = nullptr;
      options.passes |= LowerPass::spreads;
      const Lowered lowered = lower(graph, options);
      INFO(c.name << " in " << std::string(name_of(dtype)) << "\n" << to_string(lowered));
      const auto count = [](const Lowered& of, OpName op) {
        return std::ranges::count_if(of.kernels, [&](const LoweredKernel& kernel) { return kernel.is(op); });
      };
      const auto pooling = std::ranges::find_if(lowered.kernels, [](const auto& k) { return k.is(ops::pool_max); });
      REQUIRE(pooling != lowered.kernels.end());
      CHECK((pooling->prologue() != nullptr) == c.operand);
      const auto gradient =
          std::ranges::find_if(one_way.kernels, [](const auto& k) { return k.is(ops::pool_max_gradient); });
      REQUIRE(gradient != one_way.kernels.end());
      // In f32, where nothing is rounded between the two, batch norm's first sum goes with pooling's gradient.
      const bool spread = c.spread && gradient->outputs.size() == 1;
      CHECK((spread == c.spread || dtype == DType::f32));
      CHECK(count(lowered, ops::pool_max_gradient) == !spread);
      CHECK(std::ranges::count_if(lowered.kernels, spreads) == spread);
      // Numbers that pooling does not compute stay in batch norm's kernel; those that it computes take none of their
      // own.
      CHECK(one_way.kernels.size() == lower(graph, without).kernels.size());
      CHECK(read_too_early(lowered) == -1);
      for (const LoweredKernel& kernel : lowered.kernels)
        for (Value input : kernel.inputs) CHECK(lowered.storage[size_t(input.id)]);
      if (!pooling->prologue()) continue;
      // The normalised array lies nowhere.
      CHECK(!lowered.storage[size_t(pooling->prologue()->segments[0].stores[0].value.id)]);
    }
}

TEST_CASE("max pooling's gradient folds and finishes what batch norm's gradient makes of it") {
  for (DType dtype : {DType::f16, DType::bf16})
    for (const NormedPoolingCase& c : normed_pooling_cases()) {
      const Graph graph = build_branches(c.build, dtype);
      LowerOptions options{.passes = kUsualPasses | PassSet{LowerPass::remake, LowerPass::spreads},
                           .kernels = {.walks_pooling = always}};
      const Lowered lowered = lower(graph, options);
      options.kernels.walks_pooling = nullptr;
      const Lowered before = lower(graph, options);
      INFO(c.name << " in " << std::string(name_of(dtype)) << "\n" << to_string(lowered));
      std::vector<const LoweredKernel*> walks;
      for (const LoweredKernel& kernel : lowered.kernels)
        if (kernel.is(ops::pool_max_gradient)) walks.push_back(&kernel);
      if (c.spread) continue;  // as the reader reads
      REQUIRE(walks.size() == 2);
      const FusedKernel *folds = walks[0]->folds(), *finish = walks[1]->finish();
      REQUIRE((folds && finish));
      CHECK(folds->segments[0].stores.size() == 2);  // the sums of a gradient, and of its product with the normed array
      CHECK(std::ranges::count(finish->segments[0].stores, Reach::full, &Store::reach) == 1);
      // The second reads what the first makes, and neither makes an array of pooling's gradient.
      for (Value fold : walks[0]->outputs) CHECK(std::ranges::count(walks[1]->inputs, fold) == 1);
      const Value made = walks[0]->find(Attachment::Kind::folds)->value;
      CHECK(!lowered.storage[size_t(made.id)]);
      CHECK(graph_name(lowered, made) == "pool_max_gradient");
      CHECK(read_too_early(lowered) == -1);
      // All that was made is made.
      std::set<int> made_now;
      for (const LoweredKernel& kernel : lowered.kernels)
        for (Value output : kernel.outputs) made_now.insert(output.id);
      for (const LoweredKernel& kernel : before.kernels)
        for (Value output : kernel.outputs)
          if (output != made) CHECK(made_now.count(output.id) == 1);
    }
}
