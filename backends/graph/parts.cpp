// A concatenation is made without a kernel where all its parts are written in place (join.cpp). One part that its
// kernel cannot write there, such as the result of a convolution of 3x3, would have all others copied, too: in a dense
// block, where each concatenation is a part of the next, everything before. So that part alone is copied.
#include <algorithm>
#include <map>

#include "backends/graph/fuse.h"
#include "backends/graph/join.h"
#include "backends/graph/ops.h"
#include "backends/graph/passes.h"
#include "backends/graph/rewrite.h"

namespace neon {

namespace {

class Parts {
 public:
  Parts(const Graph& graph, bool any_convolution)
      : graph_(graph), roles_(roles(graph)), edges_(data_edges(graph)), any_convolution_(any_convolution) {}

  // The inputs of a concatenation to copy: none where the others are the smaller share, or stay where they are anyway.
  std::vector<Value> to_copy(const Node& concat) const {
    const Value whole = concat.outputs[0];
    if (!concat.op->is(ops::concat) || !is_floating(graph_.dtype(whole))) return {};
    if (!has_aligned_rows(graph_, concat.inputs, int(concat.attributes.integer("axis")))) return {};
    std::vector<Value> out;
    size_t bytes = 0;
    for (Value part : concat.inputs) {
      const Value made = viewed(graph_, part);
      if (!is_read_by_elements(made) || stays_apart(made) || graph_.shape(part).elements() == 0) return {};
      if (is_written_in_place(made)) continue;
      out.push_back(part);
      bytes += graph_.type(part).bytes();
    }
    return 2 * bytes < graph_.type(whole).bytes() ? out : std::vector<Value>{};
  }

  bool is_fusible(int n) const { return roles_[size_t(n)] == Role::fusible && !reads_array(graph_, graph_.node(n)); }

 private:
  // By fused kernels alone, beside concatenations.
  bool is_read_by_elements(Value part) const {
    return std::ranges::all_of(edges_[size_t(graph_.producer_index(part))], [&](int n) {
      const Node& reader = graph_.node(n);
      if (roles_[size_t(n)] == Role::view) return is_read_by_elements(reader.outputs[0]);
      return reader.op->is(ops::concat) || roles_[size_t(n)] == Role::fusible;
    });
  }

  // An output has memory of its own, and a part lies in one concatenation alone.
  bool stays_apart(Value part) const {
    const auto is_output = [&](const auto& output) { return viewed(graph_, output.second) == part; };
    return std::ranges::any_of(graph_.outputs(), is_output) ||
           std::ranges::count_if(edges_[size_t(graph_.producer_index(part))],
                                 [&](int n) { return graph_.node(n).op->is(ops::concat); }) > 1;
  }

  bool is_written_in_place(Value part) const {
    const int n = graph_.producer_index(part);
    const Node& maker = graph_.node(n);
    if (is_fusible(n) || maker.op->is(ops::concat)) return true;
    const LoweredKernel kernel{
        .op = maker.op, .inputs = maker.inputs, .outputs = maker.outputs, .attributes = maker.attributes};
    return is_writer(kernel, part, graph_, any_convolution_, graph_.shape(part).back());
  }

  const Graph& graph_;
  const std::vector<Role> roles_;
  const Edges edges_;
  const bool any_convolution_;
};

}  // namespace

Graph with_parts_copied(const Graph& graph, const LowerOptions& options) {
  const Parts parts(graph, options.kernels.convolutions_write_rows);
  std::map<Value, Value> copies;  // in the new graph, by values of the old one
  return rewritten(graph, [&](Graph& to, const Node& node) {
    const int n = graph.producer_index(node.outputs[0]);
    const Node& old = graph.node(n);
    const std::vector<Value> copied = parts.to_copy(old);
    std::vector<Value> inputs = node.inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Value part = old.inputs[i];
      if (std::ranges::count(copied, part))
        copies[part] = inputs[i] =
            to.add(ops::cast, {inputs[i]}, {{"dtype", int64_t(to.dtype(inputs[i]))}, {"copy", "part"}});
      else if (const auto found = copies.find(part); found != copies.end() && parts.is_fusible(n))
        inputs[i] = found->second;
    }
    return inputs == node.inputs ? std::vector<Value>{} : to.add_all(node.op->name, inputs, node.attributes);
  });
}

}  // namespace neon
