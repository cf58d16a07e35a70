#include "backends/graph/graph.h"

#include "backends/graph/ops.h"

namespace neon {

std::string TensorType::to_string() const { return text(dtype, " ", shape); }

namespace {

std::vector<std::string> names_of_ops() {
  std::vector<std::string> names;
  for (const Op* op : all_ops()) names.emplace_back(op->name);
  return names;
}

}  // namespace

std::vector<Value> Graph::add_all(std::string_view name, std::vector<Value> inputs, Attributes attributes) {
  const Op* op = find_op(name);
  if (!op) fail(ErrorKind::failed, "no op is named '", name, "'", did_you_mean(name, names_of_ops()));
  attributes.belong_to(op->name);
  std::string key(op->name);
  for (Value input : inputs) key += text(" %", input.id);
  for (const auto& [item_name, item] : attributes.items()) {
    key += text(" ", item_name, "=");
    if (const auto* real = std::get_if<double>(&item)) key += std::to_string(__builtin_bit_cast(int64_t, *real));
    else if (const auto* string = std::get_if<std::string>(&item)) key += text(string->size(), ":", *string);
    else if (const auto* integer = std::get_if<int64_t>(&item)) key += std::to_string(*integer);
    else
      for (int64_t i : std::get<std::vector<int64_t>>(item)) key += text(i, ",");
  }
  const auto [place, fresh] = known_.emplace(std::move(key), node_count());
  if (!fresh) return node(place->second).outputs;
  std::vector<TensorType> types;
  for (Value input : inputs) {
    NEON_ASSERT(input.id >= 0 && input.id < value_count());
    types.push_back(type(input));
  }
  std::vector<TensorType> results;
  try {
    results = op->infer({types, attributes});
  } catch (const Error& error) {
    known_.erase(place);
    if (scope_.empty()) throw;
    throw Error(error.kind(), text(scope_, ": ", error.what()));
  }
  Node node{op, std::move(inputs), {}, std::move(attributes), scope_};
  for (TensorType& result : results) {
    node.outputs.push_back({value_count()});
    values_.push_back({std::move(result), node_count()});
  }
  nodes_.push_back(std::move(node));
  return nodes_.back().outputs;
}

Value Graph::add(std::string_view op, std::vector<Value> inputs, Attributes attributes) {
  auto outputs = add_all(op, std::move(inputs), std::move(attributes));
  NEON_ASSERT(outputs.size() == 1);
  return outputs.front();
}

namespace {

Attributes leaf_attributes(const std::string& name, DType dtype, const Shape& shape) {
  return {{"name", name}, {"dtype", int64_t(dtype)}, {"shape", std::vector<int64_t>(shape.begin(), shape.end())}};
}

}  // namespace

Value Graph::input(const std::string& name, DType dtype, const Shape& shape) {
  return add(ops::input, {}, leaf_attributes(name, dtype, shape));
}

Value Graph::variable(const std::string& name, DType dtype, const Shape& shape) {
  return add(ops::variable, {}, leaf_attributes(name, dtype, shape));
}

Value Graph::scalar(const std::string& name, DType dtype) {
  return add(ops::scalar, {}, leaf_attributes(name, dtype, {}));
}

Value Graph::constant(double number, DType dtype) {
  return add(ops::constant, {}, {{"value", number}, {"dtype", int64_t(dtype)}});
}

bool outlives_run(const Graph& graph, Value value) {
  const Node& maker = graph.producer(value);
  return maker.op->traits.leaf == LeafKind::variable || maker.attributes.has(kKept);
}

void Graph::assign(Value variable, Value value, Value guard) {
  NEON_ASSERT(outlives_run(*this, variable) && type(variable) == type(value));
  NEON_ASSERT(!guard || shape(guard).elements() == 1);
  NEON_ASSERT(assigned_.insert(variable).second);
  assignments_of_.emplace(value, assignments_.size());
  assignments_.push_back({variable, value, guard});
}

std::vector<Assignment> Graph::assignments_of(Value value) const {
  std::vector<Assignment> out;
  const auto [begin, end] = assignments_of_.equal_range(value);
  for (auto at = begin; at != end; ++at) out.push_back(assignments_[at->second]);
  return out;
}

void Graph::output(const std::string& name, Value value) { outputs_[name] = value; }

std::vector<Value> Graph::leaves(LeafKind kind) const {
  std::vector<Value> out;
  for (const Node& node : nodes_)
    if (node.op->traits.leaf == kind) out.push_back(node.outputs.front());
  return out;
}

std::string Graph::to_string() const {
  std::string out;
  for (const Node& node : nodes_) {
    for (size_t i = 0; i < node.outputs.size(); ++i) out += text(i ? ", " : "", "%", node.outputs[i].id);
    out += text(" = ", node.op->name, "(");
    for (size_t i = 0; i < node.inputs.size(); ++i) out += text(i ? ", " : "", "%", node.inputs[i].id);
    out += text(") ", node.attributes, " : ");
    for (size_t i = 0; i < node.outputs.size(); ++i) out += text(i ? ", " : "", type(node.outputs[i]));
    out += node.scope.empty() ? "\n" : "   # " + node.scope + "\n";
  }
  for (const Assignment& a : assignments_) out += text("%", a.variable.id, " := %", a.value.id, "\n");
  for (const auto& [name, value] : outputs_) out += text("output ", name, " = %", value.id, "\n");
  return out;
}

}  // namespace neon
