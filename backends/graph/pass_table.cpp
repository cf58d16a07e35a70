// The passes of lowering, in order. A pass over graphs is a function of graphs (passes.h). One over kernels is a step
// of the Lowerer, or a function of what it has made once kernels have code and an order. To add one, write it, and a
// row here; where only some devices want it, a name in lower_options.h, too.
#include <map>
#include <optional>

#include "backends/graph/both_gradients.h"
#include "backends/graph/exchange_order.h"
#include "backends/graph/lowerer.h"
#include "backends/graph/moved_folds.h"
#include "backends/graph/passes.h"
#include "backends/graph/plan.h"
#include "backends/graph/prologue.h"
#include "backends/graph/row_products.h"
#include "backends/graph/spreads.h"

namespace neon {

namespace {

struct PassRow {
  const char *name, *what, *wanted_by;
  std::optional<LowerPass> pass = {};  // nothing: it runs in any case
  Graph (*of_graph)(const Graph&, const LowerOptions&) = nullptr;
  void (Lowerer::*of_kernels)() = nullptr;
  void (*of_lowered)(Lowered&, const DeviceKernels&) = nullptr;
};

constexpr const char *kEvery = "every device", *kSeesWrites = "a device that sees every write to a variable",
                     *kHungry = "a device whose arithmetic outruns its memory",
                     *kLargeDevice = "a device that one small kernel does not fill",
                     *kTensorCores = "tensor cores, which multiply many channels at once";

const PassRow kTable[] = {
    {"dense blocks", "Adds up the gradients of batch norms of concatenations before they are finished.", kHungry,
     LowerPass::dense_blocks, [](const Graph& graph, const LowerOptions&) { return with_dense_blocks(graph); }},
    {"definitions",
     "Replaces compound ops by their definitions, unless the device has a kernel for them.",
     kEvery,
     {},
     [](const Graph& graph, const LowerOptions& options) { return expand(graph, options.kernels); }},
    {"simplify",
     "Sums what max pooling's gradient is given rather than what it spreads.",
     kEvery,
     {},
     [](const Graph& graph, const LowerOptions&) { return simplified(graph); }},
    {"folded scales", "Multiplies weights by what multiplies the results of their product, after each change of them.",
     kSeesWrites, LowerPass::folded_scales,
     [](const Graph& graph, const LowerOptions& options) {
       return options.passes.has(LowerPass::fusion) ? with_folded_scales(graph) : graph;
     }},
    {"kept casts", "Keeps 16-bit copies of weights from step to step; whatever writes the weights writes them.",
     kSeesWrites, LowerPass::kept_casts,
     [](const Graph& graph, const LowerOptions& options) {
       return options.passes.has(LowerPass::fusion) ? with_kept_casts(graph) : graph;
     }},
    {"gathers",
     "Gathers rows of weights that ranks share by exchanges of several arrays.",
     kEvery,
     {},
     [](const Graph& graph, const LowerOptions&) { return with_gathers_together(graph); }},
    {"siblings", "Computes the gradients of convolutions and products of one input together.", kLargeDevice,
     LowerPass::siblings, [](const Graph& graph, const LowerOptions&) { return with_siblings_together(graph); }},
    {"columns", "Adds up parts of summands where they are read; fusion joins readers of parts of one array.",
     kLargeDevice, LowerPass::columns,
     [](const Graph& graph, const LowerOptions&) { return with_slices_of_summands(graph); }},
    {"deep inputs", "Turns the pixels that the filters of a first convolution see into channels.", kTensorCores,
     LowerPass::deep_inputs,
     [](const Graph& graph, const LowerOptions& options) { return with_deep_inputs(graph, options.kernels); }},
    {"product gradients", "Computes large gradients of f32 filters as products of transposed arrays.",
     "tensor cores that multiply f32 as TF32", LowerPass::product_gradients,
     [](const Graph& graph, const LowerOptions&) { return with_product_gradients(graph); }},
    {"parts", "Copies the small parts of a concatenation that their kernels cannot write there.", kHungry,
     LowerPass::join, with_parts_copied},
    {"writers",
     "Adds copies where a variable, an output or an operand needs memory of its own.",
     kEvery,
     {},
     [](const Graph& graph, const LowerOptions&) { return with_writers(graph); }},
    {"attachments",
     "Gives products, convolutions and pooling what follows them: bias, relu, derivative, sums, pooling.",
     "every device, as far as its kernels can",
     {},
     nullptr,
     &Lowerer::make_kernels_of_ops},
    {"fusion",
     "Groups elementwise ops and reductions, each group to be one kernel.",
     kEvery,
     {},
     nullptr,
     &Lowerer::group},
    {"remake", "Computes cheap values again in the kernels that read them, rather than storing them.", kEvery,
     LowerPass::remake, nullptr, &Lowerer::remake},
    {"apart", "Sets apart what max pooling will compute as it reads it, rather than storing it.", kHungry,
     LowerPass::prologues, nullptr, &Lowerer::set_operands_apart},
    {"kernels",
     "Writes the code of each group, and puts all kernels in order.",
     kEvery,
     {},
     nullptr,
     &Lowerer::make_fused_kernels},
    {"prologues", "Lets a kernel compute its operand as it reads it.", kHungry, LowerPass::prologues, nullptr, nullptr,
     take_prologues},
    {"join", "Lets kernels write straight into the concatenation of their results.", kHungry, LowerPass::join, nullptr,
     &Lowerer::join},
    {"spreads", "Lets a kernel make the gradient of max pooling as it reads it, or the other way round.", kHungry,
     LowerPass::spreads, nullptr, nullptr, take_spreads},
    {"row products", "Lets a batch norm's kernel multiply the rows that it walks over first.", kHungry,
     LowerPass::row_products, nullptr, nullptr, take_row_products},
    {"both gradients", "Makes both gradients of a convolution in one kernel.", kHungry, LowerPass::both_gradients,
     nullptr, nullptr, take_both_gradients},
    {"moved folds", "Lets a convolution's kernel fold what it makes for the batch norm that reads it.", kHungry,
     LowerPass::moved_folds, nullptr, nullptr, move_folds},
    {"memory", "Gives every value a place in one arena by its lifetime.", kEvery, {}, nullptr, nullptr, plan_memory},
};

using Counts = std::map<std::string, int64_t>;

Counts counts_of(const Graph& graph) {
  Counts out;
  for (int n = 0; n < graph.node_count(); ++n) ++out[std::string(graph.node(n).op->name)];
  return out;
}

// "+3 concat, -6 convolution_data_gradient"
std::string difference(const Counts& before, Counts after) {
  for (const auto& [name, count] : before) after[name] -= count;
  std::string out;
  for (const auto& [name, change] : after)
    if (change) out += text(out.empty() ? "" : ", ", change > 0 ? "+" : "", change, " ", name);
  return out;
}

}  // namespace

Lowered lower(const Graph& graph, const LowerOptions& options) { return lower_in_order(graph, options, {}); }

Lowered lower_in_order(const Graph& original, const LowerOptions& options, std::span<const int> exchanges) {
  Graph graph = original;
  std::optional<Lowerer> lowerer;
  std::vector<PassTrace> trace;
  Counts before = counts_of(graph);
  for (const PassRow& row : kTable) {
    trace.push_back({.wanted = !row.pass || options.passes.has(*row.pass)});
    if (!row.of_graph && !lowerer) lowerer.emplace(std::move(graph), options, exchanges), before.clear();
    if (!trace.back().wanted) continue;
    if (row.of_graph) graph = row.of_graph(graph, options);
    else if (row.of_kernels) ((*lowerer).*row.of_kernels)();
    else lowerer->apply(row.of_lowered);
    Counts after = row.of_graph ? counts_of(graph) : lowerer->counts();
    trace.back().changes = difference(before, after);
    before = std::move(after);
  }
  Lowered out = lowerer->result();
  out.trace = std::move(trace);
  return out;
}

std::string passes_text(const Lowered& lowered) {
  std::string out;
  for (size_t i = 0; i < lowered.trace.size(); ++i) {
    const PassRow& row = kTable[i];
    const PassTrace& trace = lowered.trace[i];
    const std::string result = !trace.wanted           ? text("not here; for ", row.wanted_by)
                               : trace.changes.empty() ? "no change"
                                                       : trace.changes;
    out += text(row.name, ": ", row.what, "\n    ", result, "\n");
  }
  return out;
}

}  // namespace neon
