// The code of one group: registers, instructions, stores.
#include <algorithm>
#include <map>

#include "backends/elementwise/kernels.h"
#include "backends/graph/fuse.h"
#include "backends/graph/ops.h"

namespace neon {

namespace {

class CodeWriter {
 public:
  CodeWriter(const Graph& graph, const std::vector<Role>& roles, const GroupLayout& layout, bool in_f64)
      : graph_(graph), roles_(roles), in_f64_(in_f64) {
    for (size_t p = 0; p < layout.parts.size(); ++p)
      for (int n : layout.parts[p].nodes) part_of_[n] = int(p);
    for (const auto& part : layout.parts) {
      Segment segment;
      segment.domain = part.domain;
      segment.reduced = part.reduced;
      kernel.segments.push_back(std::move(segment));
    }
    registers_.resize(layout.parts.size() + 1);
  }

  FusedKernel kernel;

  // The register of `value` in a part, or in post when part is the number of parts.
  int emit(Value value, size_t part) {
    auto& known = registers_[part];
    if (const auto it = known.find(value.id); it != known.end()) return it->second;
    Instruction made = instruction(value, part);
    body(part).push_back(std::move(made));
    return known[value.id] = int(body(part).size()) - 1;
  }

  int add_total(int n) {
    const size_t part = size_t(part_of_.at(n));
    const int reg = emit(graph_.node(n).inputs[0], part);
    auto& totals = kernel.segments[part].totals;
    totals.push_back({graph_.node(n).op, reg});
    total_of_[n] = {int(part), int(totals.size()) - 1};
    return int(totals.size()) - 1;
  }

  Reach reach(int reg, size_t part) const { return kernel.segments[part].body[size_t(reg)].reach; }

 private:
  std::vector<Instruction>& body(size_t part) {
    return part < kernel.segments.size() ? kernel.segments[part].body : kernel.post;
  }

  Instruction instruction(Value value, size_t part) {
    const int n = graph_.producer_index(value);
    const Node& node = graph_.node(n);
    const OpTraits& traits = node.op->traits;
    Instruction out;
    if (traits.leaf == LeafKind::constant) {
      out.kind = Instruction::Kind::constant;
      out.number = node.attributes.real("value");
      out.reach = Reach::scalar;
      return out;
    }
    if (traits.leaf == LeafKind::scalar) {
      out.kind = Instruction::Kind::record;
      out.name = node.attributes.string("name");
      out.reach = Reach::scalar;
      return out;
    }
    const bool post = part == kernel.segments.size();
    if (post && total_of_.count(n)) {
      out.kind = Instruction::Kind::total;
      std::tie(out.segment, out.total) = total_of_.at(n);
      out.reach = Reach::scalar;
      return out;
    }
    const bool here = roles_[size_t(n)] == Role::source || (part_of_.count(n) && size_t(part_of_.at(n)) == part) ||
                      (post && post_nodes.count(n));
    if (!here) return load(value, {}, part);
    if (traits.fusion == Fusion::rows) return load(node.inputs[0], node.inputs[1], part, &graph_.shape(value));
    if (traits.fusion == Fusion::slice) return slice(node, part);
    const bool source_here = traits.fusion == Fusion::source;
    if (source_here && !traits.draws && graph_.shape(value)[int(node.attributes.integer("axis"))] == 1) {
      // 0 throughout, also where the domain is longer along that axis.
      Instruction zero;
      zero.kind = Instruction::Kind::constant;
      zero.reach = Reach::scalar;
      body(part).push_back(std::move(zero));
      out.op = find_op(ops::identity);
      out.inputs = {int(body(part).size()) - 1};
      out.reach = reach_of_shape(graph_.shape(value), part);
      return out;
    }
    if (source_here) return source(value, node, part);
    out.kind = is_reduction(*node.op) ? Instruction::Kind::reduce : Instruction::Kind::compute;
    out.op = node.op->is_elementwise() || is_reduction(*node.op) ? node.op : find_op(ops::identity);
    out.dtype = graph_.dtype(value);
    out.reach = Reach::scalar;
    for (Value input : node.inputs) {
      out.inputs.push_back(operand(input, node, part));
      if (!post) out.reach = std::max(out.reach, reach(out.inputs.back(), part));
    }
    if (out.kind == Instruction::Kind::reduce) {
      out.reach = Reach::kept;
      out.folded = value;
    } else if (!post && !node.op->is_elementwise()) {
      out.reach = std::max(out.reach, reach_of_shape(graph_.shape(value), part));
    }
    return out;
  }

  // The register of what a node takes. Where a kernel computes in f64, a number beside f32 is still one of f32.
  int operand(Value value, const Node& reader, size_t part) {
    const Node& maker = graph_.producer(value);
    if (!in_f64_ || maker.op->traits.leaf != LeafKind::constant || !is_made_in_f32(graph_, reader))
      return emit(value, part);
    Instruction number = instruction(value, part);
    number.number = double(float(number.number));
    body(part).push_back(std::move(number));
    return int(body(part).size()) - 1;
  }

  Shape padded(const Shape& shape, size_t part) const {
    std::vector<int64_t> sizes(size_t(kernel.segments[part].domain.rank() - shape.rank()), 1);
    sizes.insert(sizes.end(), shape.begin(), shape.end());
    return Shape(sizes);
  }

  Reach reach_of_shape(const Shape& shape, size_t part) const {
    if (part == kernel.segments.size() || shape.elements() == 1) return Reach::scalar;
    return reach_of_array(shape, part);
  }

  // A value that does not vary along the reduced axes is kept, even if it repeats along others.
  Reach reach_of_array(const Shape& shape, size_t part) const {
    const Segment& segment = kernel.segments[part];
    const Shape own = padded(shape, part);
    bool kept = std::ranges::count(segment.reduced, true) > 0;
    for (int axis = 0; axis < own.rank(); ++axis) kept = kept && (!segment.reduced[size_t(axis)] || own[axis] == 1);
    return kept ? Reach::kept : Reach::full;
  }

  Instruction load(Value value, Value index, size_t part, const Shape* gathered = nullptr) {
    Instruction out;
    out.kind = Instruction::Kind::load;
    out.value = value;
    out.index = index;
    const Shape& shape = gathered ? *gathered : graph_.shape(value);
    out.reach = reach_of_shape(shape, part);
    if (part == kernel.segments.size()) return out;
    const Shape own = padded(shape, part), &domain = kernel.segments[part].domain;
    out.strides.assign(size_t(own.rank()), 0);
    int64_t stride = 1;
    for (int axis = own.rank() - 1; axis >= 0; --axis) {
      // The rows of a gather lie a stride apart however few are looked up.
      const bool rows = gathered && axis == 0;
      if (own[axis] == domain[axis] && (own[axis] != 1 || rows)) out.strides[size_t(axis)] = stride;
      stride *= own[axis];
    }
    if (gathered) {
      out.reach = reach_of_array(shape, part);  // also a single number is looked up
      out.strides[0] = shape.elements() / shape[0];
    }
    return out;
  }

  // Elements of the input that lie apart as they do there.
  Instruction slice(const Node& node, size_t part) {
    Instruction out = load(node.outputs[0], {}, part);
    out.value = node.inputs[0];
    const Shape& shape = graph_.shape(out.value);
    const int missing = int(out.strides.size()) - shape.rank();
    int64_t stride = 1;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      if (!out.strides.empty() && out.strides[size_t(axis + missing)] != 0)
        out.strides[size_t(axis + missing)] = stride;
      if (axis == int(node.attributes.integer("axis"))) out.first = node.attributes.integer("first") * stride;
      stride *= shape[axis];
    }
    out.value = of_first_row(out, part);
    return out;
  }

  // The view that is read, or the array that it shows if the load reads only from the array's first row. A first row
  // lies together in any shape, also in a concatenation.
  Value of_first_row(const Instruction& load, size_t part) const {
    const Value array = viewed(graph_, load.value);
    int64_t last = load.first;
    for (size_t axis = 0; axis < load.strides.size(); ++axis)
      last += load.strides[axis] * (kernel.segments[part].domain[int(axis)] - 1);
    return last < graph_.shape(array).back() ? array : load.value;
  }

  Instruction source(Value value, const Node& node, size_t part) {
    Instruction out;
    out.reach = reach_of_shape(graph_.shape(value), part);
    if (node.op->traits.draws) {
      out.kind = Instruction::Kind::uniform;
      out.name = node.attributes.string("stream");
      out.seed = uint64_t(node.attributes.integer("seed"));
      out.places = draw_places(node.attributes);
    } else {
      const int offset = kernel.segments[part].domain.rank() - graph_.shape(value).rank();
      out.kind = Instruction::Kind::iota;
      out.axis = int(node.attributes.integer("axis")) + offset;
    }
    return out;
  }

  const Graph& graph_;
  const std::vector<Role>& roles_;
  const bool in_f64_;
  std::map<int, int> part_of_;
  std::map<int, std::pair<int, int>> total_of_;
  std::vector<std::map<int, int>> registers_;

 public:
  std::map<int, bool> post_nodes;
};

}  // namespace

FusedKernel fused_code(const Graph& graph, const std::vector<Role>& roles, const std::vector<int>& nodes,
                       const std::vector<bool>& stored) {
  const GroupLayout layout = *layout_of_group(graph, roles, nodes);
  CodeWriter writer(graph, roles, layout, has_f64(graph, nodes));
  const size_t post = layout.parts.size();
  for (int n : layout.post)
    if (!is_total(graph, graph.node(n))) writer.post_nodes[n] = true;

  auto store = [&](int n, size_t part) {
    const Value value = graph.node(n).outputs[0];
    auto put = [&](Value to) {
      const int reg = writer.emit(value, part);
      if (part == post) {
        writer.kernel.post_stores.push_back({reg, to, Reach::scalar});
      } else {
        // A slice that is repeated as it is read has fewer numbers than there are to store.
        const int64_t all = writer.kernel.segments[part].domain.elements();
        NEON_ASSERT(!is_fused_slice(graph, graph.node(n)) || writer.reach(reg, part) != Reach::full ||
                    graph.shape(value).elements() == all);
        // The value may be wider than what it was computed from: a broadcast number.
        writer.kernel.segments[part].stores.push_back({reg, to, writer.reach(reg, part)});
      }
    };
    if (stored[size_t(value.id)]) put(value);
    for (const Assignment& a : graph.assignments_of(value)) {
      put(a.variable);
      writer.kernel.guard = a.guard;
    }
  };
  for (size_t part = 0; part < layout.parts.size(); ++part)
    for (int n : layout.parts[part].nodes) {
      if (is_total(graph, graph.node(n))) writer.add_total(n);
      else store(n, part);
    }
  for (int n : layout.post) store(n, post);

  std::vector<Value> made;
  for (const Store& s : writer.kernel.post_stores) made.push_back(s.value);
  for (const Segment& segment : writer.kernel.segments)
    for (const Store& s : segment.stores) made.push_back(s.value);
  writer.kernel.compute = arithmetic_of(graph, nodes, made);
  return std::move(writer.kernel);
}

std::string FusedKernel::to_string(const Graph& graph) const {
  std::string out;
  auto name = [](Value value) { return text("%", value.id); };
  Shape domain;
  // Whether a load is of some elements only.
  auto is_slice = [&](const Instruction& load) {
    int64_t reached = 1;
    for (size_t axis = 0; axis < load.strides.size(); ++axis)
      if (load.strides[axis] != 0) reached *= domain[int(axis)];
    return load.first > 0 || reached < graph.shape(load.value).elements();
  };
  auto line = [&](const std::vector<Instruction>& body, int reg, auto&& self) -> std::string {
    const Instruction& i = body[size_t(reg)];
    switch (i.kind) {
      case Instruction::Kind::load: {
        if (i.spread && i.spread->gate)
          return text("spread(", i.spread->derivative->name, "(", name(i.value), ", ", name(i.spread->gate), "), ",
                      name(i.index), ")");
        if (i.spread) return text("spread(", name(i.value), ", ", name(i.index), ")");
        if (i.index) return text(name(i.value), "[", name(i.index), "]");
        return is_slice(i) ? text(name(i.value), "[", i.first, "..]") : name(i.value);
      }
      case Instruction::Kind::record: return i.name;
      case Instruction::Kind::constant: return number(float(i.number));
      case Instruction::Kind::iota: return text("iota", i.axis);
      case Instruction::Kind::uniform: return text("uniform(", i.name, ")");
      case Instruction::Kind::total: return text("total", i.segment, ".", i.total);
      default: break;
    }
    if (i.op->is(ops::identity)) return self(body, i.inputs[0], self);
    std::string call = text(i.op->name, "(");
    for (size_t k = 0; k < i.inputs.size(); ++k) call += (k ? ", " : "") + self(body, i.inputs[k], self);
    return call + ")";
  };
  auto append = [&](const std::string& statement) { out += (out.empty() ? "" : "; ") + statement; };
  for (size_t s = 0; s < segments.size(); ++s) {
    domain = segments[s].domain;
    for (const Store& store : segments[s].stores)
      append(text(name(store.value), " = ", line(segments[s].body, store.reg, line)));
    for (size_t t = 0; t < segments[s].totals.size(); ++t)
      append(text("total", s, ".", t, " = ", segments[s].totals[t].op->name, "(",
                  line(segments[s].body, segments[s].totals[t].reg, line), ")"));
  }
  domain = {};
  for (const Store& store : post_stores) append(text(name(store.value), " = ", line(post, store.reg, line)));
  if (guard) out = text("if ", name(guard), ": ", out);
  return out;
}

}  // namespace neon
