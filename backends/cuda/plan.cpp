#include "backends/cuda/plan.h"

#include <algorithm>

#include "backends/cuda/attention_kernel.h"
#include "backends/cuda/attention_plan.h"
#include "backends/cuda/convolution.h"
#include "backends/cuda/op_source.h"
#include "backends/cuda/product.h"
#include "backends/cuda/turned.h"
#include "backends/cuda/turned_convolution.h"
#include "backends/graph/ops.h"
#include "backends/graph/plan.h"

namespace neon::cuda {

namespace {

constexpr int64_t kMostRecorded = 1024;  // elements of an output that goes to the ring

}  // namespace

const std::string& leaf_name(const Graph& graph, Value leaf) { return graph.producer(leaf).attributes.string("name"); }

LowerOptions lowering_of(const DeviceOptions& options, const Device& device) {
  LowerOptions out = gpu_lowering(options.program.fuse, options.tf32, device.arch(), device.processors(),
                                  options.program.ranks != nullptr);
  if (options.program.callers_memory)
    out.passes = out.passes - PassSet{LowerPass::kept_casts, LowerPass::folded_scales};
  return out;
}

RingPlan plan_ring(const Lowered& lowered) {
  RingPlan out;
  for (const auto& [name, value] : lowered.graph.outputs()) {
    const int64_t elements = lowered.graph.shape(value).elements();
    bool generated = false;
    for (const LoweredKernel& kernel : lowered.kernels)
      generated = generated || (kernel.fused && std::ranges::count(kernel.outputs, value));
    if (!generated || elements > kMostRecorded || out.places.count(value.id)) continue;
    out.places[value.id] = out.width;
    out.width += int(elements);
  }
  return out;
}

SourceContext source_context(const Lowered& lowered, std::map<std::string, int>& scalars, const RingPlan& ring,
                             const DeviceOptions& options, const Device& device) {
  const Graph& graph = lowered.graph;
  SourceContext out{lowered, scalars, ring.places, ring.width, {}, {}};
  for (Value input : graph.leaves(LeafKind::input))
    if (std::ranges::count(options.sequences, leaf_name(graph, input))) out.sequences.insert(input.id);
  if (const auto finite = graph.outputs().find("finite"); finite != graph.outputs().end()) out.finite = finite->second;
  out.processors = device.processors();
  out.arch = device.arch();
  out.tf32 = options.tf32;
  out.timed = options.timed;
  return out;
}

void PartialsPlan::take(const Source& source) {
  partial_bytes = std::max(partial_bytes, source.partial_bytes);
  tickets = std::max(tickets, source.tickets);
}

size_t record_bytes(size_t scalars) { return size_t(kRunsOfLaunch) * (kRecordScalars + scalars) * 8; }

MemoryNeeds needs_of(const Graph& graph, const DeviceOptions& options, const Device& device) {
  Lowered lowered = lower(graph, lowering_of(options, device));
  const RingPlan ring = plan_ring(lowered);
  std::map<std::string, int> scalars;
  SourceContext context = source_context(lowered, scalars, ring, options, device);
  PartialsPlan partials;
  MemoryNeeds out;
  std::vector<size_t> workspaces(lowered.kernels.size());
  for (size_t k = 0; k < lowered.kernels.size(); ++k) {
    const LoweredKernel& kernel = lowered.kernels[k];
    if (kernel.traits().exchanges) continue;
    if (!asks_library(kernel, context)) {
      partials.take(kernel.fused ? fused_source(*kernel.fused, context) : op_source(kernel, context));
      continue;
    }
    if (is_attention(*kernel.op)) {
      workspaces[k] = attention_workspace(kernel, lowered);
      continue;
    }
    size_t& workspace = workspaces[k] = product_workspace();
    if (!kernel.is_matrix_product())
      workspace = std::max(workspace, convolution_workspace(kernel, lowered.graph, options.tf32, device));
    if (!options.tf32 && is_turnable(kernel, lowered.graph))
      workspace = std::max(workspace, turned_workspace(kernel, lowered.graph, device));
    if (!options.timed) continue;
    size_t operands = workspace;
    for (Value value : {kernel.inputs[0], kernel.inputs[1], lowered.storage[size_t(kernel.outputs[0].id)]})
      operands += lowered.graph.type(value).bytes();
    for (Value value : {kernel.bias(), kernel.addend()})
      if (value) operands += lowered.graph.type(value).bytes();
    out.passing = std::max(out.passing, operands);
  }
  const SharedPlaces places = place_shared(lowered, workspaces);
  out.shared = places.scratch;
  out.own = places.kept + ring.bytes() + record_bytes(scalars.size()) + partials.bytes();
  for (Value value : lowered.graph.leaves(LeafKind::variable)) out.variables += lowered.graph.type(value).bytes();
  return out;
}

}  // namespace neon::cuda
