#include "backends/graph/lower.h"

#include <algorithm>

namespace neon {

const OpTraits& LoweredKernel::traits() const {
  static const OpTraits none;
  return op ? op->traits : none;
}

const Attachment* LoweredKernel::find(Attachment::Kind kind) const {
  const auto found = std::ranges::find(attachments, kind, &Attachment::kind);
  return found == attachments.end() ? nullptr : &*found;
}

bool is_pointwise(const LoweredKernel& kernel, const Graph& graph) {
  const ConvolutionKind kind = kernel.convolution();
  if (kind == ConvolutionKind::none || kernel.attributes.integer("groups") != 1) return false;
  const Shape& w = graph.shape(kind == ConvolutionKind::by_filters ? kernel.outputs[0] : kernel.inputs[1]);
  auto all = [&](const char* name, int64_t number) {
    return std::ranges::all_of(kernel.attributes.integers(name), [&](int64_t given) { return given == number; });
  };
  return w.elements() == w[0] * w.back() && all("strides", 1) && all("padding", 0);
}

std::string summary(const LoweredKernel& kernel) {
  using Kind = Attachment::Kind;
  std::string out(kernel.name());
  if (kernel.is_once()) out += " once";
  if (kernel.fused && kernel.fused->product) out += " + product";
  for (const Attachment& a : kernel.attachments) {
    if (a.kind == Kind::bias) out += " + bias";
    if (a.kind == Kind::addend) out += " + addend";
    if (a.kind == Kind::pooling || a.kind == Kind::derivative || a.kind == Kind::filters)
      out += text(" + ", a.op->name);
    if (a.kind == Kind::relu) out += " + relu";
    if (a.kind == Kind::sums) out += " + sums";
    if (a.kind == Kind::folds) out += " + folds";
    if (a.kind == Kind::finish) out += " + finish";
  }
  return out;
}

std::string to_string(const Lowered& lowered) {
  const Graph& graph = lowered.graph;
  std::string out;
  auto typed = [&](Value value) {
    const Placement& placement = lowered.placements[size_t(value.id)];
    const std::string name =
        placement ? text("%", placement.whole.id, "[", placement.first, "..]") : text("%", value.id);
    return text(name, " ", graph.type(value));
  };
  for (size_t k = 0; k < lowered.kernels.size(); ++k) {
    const LoweredKernel& kernel = lowered.kernels[k];
    out += text(k < 10 ? " " : "", k, "  ", summary(kernel), "  (");
    for (size_t i = 0; i < kernel.inputs.size(); ++i) out += text(i ? ", " : "", typed(kernel.inputs[i]));
    out += ") -> (";
    for (size_t i = 0; i < kernel.outputs.size(); ++i) out += text(i ? ", " : "", typed(kernel.outputs[i]));
    out += ")";
    if (!kernel.attributes.items().empty()) out += text("  ", kernel.attributes);
    if (!kernel.scope.empty()) out += text("  # ", kernel.scope);
    out += "\n";
    for (const FusedKernel* code : {kernel.fused.get(), kernel.prologue(), kernel.folds(), kernel.finish()})
      if (code) out += text("      ", code->to_string(graph), "\n");
  }
  std::string leaves;
  for (LeafKind kind : {LeafKind::input, LeafKind::variable})
    for (Value leaf : graph.leaves(kind))
      leaves += text("  ", typed(leaf), "  ", graph.producer(leaf).op->name, " ",
                     graph.producer(leaf).attributes.string("name"), "\n");
  out += "leaves\n" + leaves;
  out += text("arena ", bytes_text(double(lowered.arena_bytes)), ", all values ",
              bytes_text(double(lowered.value_bytes)), "\n");
  return out;
}

}  // namespace neon
