#include <cstring>

#include "backends/cpu/plain.h"
#include "backends/cpu/programs.h"
#include "backends/graph/op.h"
#include "backends/graph/passes.h"

namespace neon::cpu {

namespace {

class PlainProgram : public Program {
 public:
  PlainProgram(const Graph& graph, Variables& variables) {
    lowered_.graph = expand(graph);
    const Graph& g = lowered_.graph;
    for (int v = 0; v < g.value_count(); ++v) {
      const Node& node = g.producer(Value{v});
      const TensorType& type = g.type(Value{v});
      const LeafKind leaf = node.op->traits.leaf;
      if (leaf == LeafKind::variable)
        values_.push_back(variables.declare(leaf_name(g, Value{v}), type.dtype, type.shape));
      else if (leaf == LeafKind::input) values_.push_back({});
      // As exact as the arithmetic that they enter.
      else if (node.op->is_number()) values_.push_back(Tensor(DType::f64, {}));
      else values_.push_back(Tensor(type.dtype, type.shape));
      if (leaf == LeafKind::constant) values_.back().set(0, node.attributes.real("value"));
    }
  }

  void bind(const std::string& input, const void* data) override {
    for (Value value : lowered_.graph.leaves(LeafKind::input))
      if (leaf_name(lowered_.graph, value) == input) {
        const TensorType& type = lowered_.graph.type(value);
        values_[size_t(value.id)] = Tensor::wrap(type.dtype, type.shape, {}, const_cast<void*>(data));
      }
  }

  void bind_memory(const std::string& leaf, const DeviceMemory&, size_t) override {
    fail(ErrorKind::failed, "plain programs keep '", leaf, "' in memory of their own");
  }

  void set_scalar(const std::string& name, double value) override {
    for (Value scalar : lowered_.graph.leaves(LeafKind::scalar))
      if (leaf_name(lowered_.graph, scalar) == name) values_[size_t(scalar.id)].set(0, value);
  }

  void run(uint64_t step) override {
    const Graph& g = lowered_.graph;
    for (Value input : g.leaves(LeafKind::input))
      if (g.shape(input).elements() > 0 && !values_[size_t(input.id)].data()) not_bound(g, input);
    for (int i = 0; i < g.node_count(); ++i) {
      const Node& node = g.node(i);
      if (node.op->traits.leaf != LeafKind::none) continue;
      const PlainFunction function = find_plain(*node.op);
      if (!function) fail(ErrorKind::failed, "op ", node.op->name, " has no plain kernel");
      PlainArguments arguments{node, {}, {}, step};
      for (Value input : node.inputs) arguments.inputs.push_back(values_[size_t(input.id)]);
      for (Value output : node.outputs) arguments.outputs.push_back(values_[size_t(output.id)]);
      function(arguments);
    }
    for (const auto& [name, value] : g.outputs())
      if (g.producer(value).op->traits.leaf == LeafKind::variable) before_[name] = values_[size_t(value.id)].clone();
    std::vector<Tensor> written;
    for (const Assignment& a : g.assignments())
      written.push_back(values_[size_t(a.value.id)].converted(g.dtype(a.variable)));
    for (size_t i = 0; i < written.size(); ++i) {
      const Assignment& a = g.assignments()[i];
      if (a.guard && values_[size_t(a.guard.id)].at(0) == 0) continue;
      if (written[i].bytes()) std::memcpy(values_[size_t(a.variable.id)].data(), written[i].data(), written[i].bytes());
    }
  }

  Tensor output(const std::string& name) const override {
    if (const auto found = before_.find(name); found != before_.end()) return found->second;
    const Value value = lowered_.graph.outputs().at(name);
    const Tensor& held = values_[size_t(value.id)];
    return held.dtype() == lowered_.graph.dtype(value) ? held : held.converted(lowered_.graph.dtype(value));
  }

  std::vector<std::string> implementations() const override { return {"plain"}; }
  void time_kernels(bool) override {}
  std::vector<double> kernel_milliseconds() const override { return {}; }

  Nonfinite first_nonfinite(uint64_t) override { return {}; }

 private:
  std::vector<Tensor> values_;
  std::map<std::string, Tensor> before_;  // outputs that are variables, as they were
};

}  // namespace

std::unique_ptr<Program> make_plain_program(const Graph& graph, Variables& variables) {
  return std::make_unique<PlainProgram>(graph, variables);
}

}  // namespace neon::cpu
