// From expressions to programs. An expression's form is what it looks like apart from its arrays, numbers and draws:
// ops, attributes, types, and which of the arrays and numbers are the same. Programs are kept by form; a run gives them
// the arrays' places and the numbers.
#include <algorithm>

#include "backends/graph/expression.h"
#include "backends/graph/op.h"
#include "neon/array/node.h"
#include "neon/core/team.h"

namespace neon {

namespace {

constexpr size_t kMostPrograms = 256;

struct Leaf {
  const Lazy::Node* node;  // of one of the arrays that are this
  bool read = false, written = false;
};

bool same_array(const Lazy::Node& a, const Lazy::Node& b) {
  return a.memory == b.memory && a.offset == b.offset && a.type == b.type;
}
bool overlap(const Lazy::Node& a, const Lazy::Node& b) {
  return a.memory == b.memory && a.offset < b.offset + b.type.bytes() && b.offset < a.offset + a.type.bytes();
}

class Form {
 public:
  // Where gradients are derived, parts of arrays are seen as such, so that what reaches the part reaches the whole.
  Form(const std::vector<Target>& targets, bool derives) : derives_(derives) {
    for (const Target& target : targets) {
      const int value = add(*target.value);
      const int leaf = find_leaf(*target.array);
      leaves_[size_t(leaf)].written = true;
      targets_.push_back({leaf, value});
      key_ += text("=", leaf, ":", value, ";");
    }
    for (const Leaf& leaf : leaves_) key_ += text(leaf.read ? "r" : "", leaf.written ? "w" : "", leaf.node->type, ";");
  }

  const std::string& key() const { return key_; }
  const std::vector<Leaf>& leaves() const { return leaves_; }
  const std::vector<double>& numbers() const { return numbers_; }

  Graph graph(uint64_t seed) const {
    Graph out;
    std::vector<Value> leaf_values, values;
    for (size_t k = 0; k < leaves_.size(); ++k) {
      const TensorType& type = leaves_[k].node->type;
      leaf_values.push_back(leaves_[k].written ? out.variable(text("array", k), type.dtype, type.shape)
                                               : out.input(text("array", k), type.dtype, type.shape));
    }
    for (const Step& step : steps_) values.push_back(build(out, step, values, leaf_values, seed));
    for (const auto& [leaf, value] : targets_)
      // An array that is given to itself needs no copy, but a value of its own.
      out.assign(leaf_values[size_t(leaf)], values[size_t(value)]);
    return out;
  }

 private:
  struct Step {
    const Lazy::Node* node;
    std::vector<int> inputs;
    int index = 0;  // of the array, number or draw
  };

  int find_leaf(const Lazy::Node& node) {
    for (size_t k = 0; k < leaves_.size(); ++k)
      if (same_array(*leaves_[k].node, node)) return int(k);
    leaves_.push_back({&node});
    return int(leaves_.size()) - 1;
  }

  int find_number(double number) {
    const auto same = [&](double other) {
      return __builtin_bit_cast(int64_t, other) == __builtin_bit_cast(int64_t, number);
    };
    const auto found = std::ranges::find_if(numbers_, same);
    if (found != numbers_.end()) return int(found - numbers_.begin());
    numbers_.push_back(number);
    return int(numbers_.size()) - 1;
  }

  int add(const Lazy::Node& node) {
    if (derives_ && node.view) return add(*node.view);
    if (const auto known = places_.find(&node); known != places_.end()) return known->second;
    Step step{&node, {}, 0};
    for (const NodePtr& input : node.inputs) step.inputs.push_back(add(*input));
    if (node.is_array()) {
      step.index = find_leaf(node);
      leaves_[size_t(step.index)].read = true;
    } else if (node.kind == Lazy::Node::Kind::number) {
      step.index = find_number(node.number);
    } else if (node.is(ops::uniform) || node.is(ops::round_stochastic)) {
      step.index = draws_++;
    }
    key_ += text(int(node.kind), " ", node.op ? node.op->name : "", " ", step.index, " ", node.result, " ",
                 node.attributes);
    for (int input : step.inputs) key_ += text(" %", input);
    key_ += ";";
    steps_.push_back(std::move(step));
    return places_[&node] = int(steps_.size()) - 1;
  }

  Value build(Graph& graph, const Step& step, const std::vector<Value>& values, const std::vector<Value>& leaves,
              uint64_t seed) const {
    const Lazy::Node& node = *step.node;
    std::vector<Value> inputs;
    for (int input : step.inputs) inputs.push_back(values[size_t(input)]);
    const std::string stream = text("draw/", step.index);
    if (node.is_array()) return leaves[size_t(step.index)];
    if (node.kind == Lazy::Node::Kind::number) return graph.scalar(text("number", step.index));
    if (node.is(ops::uniform)) return uniform(graph, node.type.shape, seed, stream);
    if (node.is(ops::round_stochastic))
      return round_stochastic({graph, inputs[0]}, node.type.dtype, int(node.attributes.integer("bits")), seed, stream);
    if (node.kind != Lazy::Node::Kind::gradient)
      return graph.add_all(node.op->name, inputs, node.attributes)[size_t(node.result)];
    const Value wanted[] = {inputs[1]};
    const Value found = gradients(graph, inputs[0], wanted, inputs.size() > 2 ? inputs[2] : Value{})[0];
    if (found) return found;
    return broadcast_to(graph, graph.constant(0, node.type.dtype), node.type.shape);
  }

  const bool derives_;
  std::string key_;
  std::vector<Step> steps_;
  std::unordered_map<const Lazy::Node*, int> places_;
  std::vector<Leaf> leaves_;
  std::vector<double> numbers_;
  std::vector<std::pair<int, int>> targets_;  // leaf, step
  int draws_ = 0;
};

void drop_oldest(Backend::State& state) {
  size_t count = 0, bytes = 0;
  for (auto at = state.programs.begin(); at != state.programs.end();) {
    const auto& [key, made] = *at;
    const bool fits = count < kMostPrograms && bytes + made.bytes() <= size_t(state.options.program_bytes);
    if (fits || count == 0) {
      ++count, bytes += made.bytes();
      ++at;
    } else {
      state.known.erase(key);
      at = state.programs.erase(at);
    }
  }
}

// A program of the CPU is made for a team: inside a caller's parallel region another one is needed than outside.
std::string program_key(const Backend::State& state, const Form& form) {
  return state.device.gpu ? form.key() : text("team ", team_limit(), ";", form.key());
}

CompiledExpression& compiled(Backend::State& state, const Form& form) {
  const std::string wanted = program_key(state, form);
  if (const auto known = state.known.find(wanted); known != state.known.end()) {
    state.programs.splice(state.programs.begin(), state.programs, known->second);
    return known->second->second;
  }
  // A program knows where its variables are: they stay there.
  decltype(state.programs) made(1);
  std::string& key = made.front().first = wanted;
  CompiledExpression& expression = made.front().second;
  state.with_room([&] {
    expression.program = compile_program(form.graph(state.options.seed), expression.variables, state.device);
  });
  state.programs.splice(state.programs.begin(), made);
  state.known[key] = state.programs.begin();
  ++state.compiled;
  drop_oldest(state);
  return expression;
}

void run(Backend::State& state, const std::vector<Target>& targets, bool derives) {
  const Form form(targets, derives);
  Program& program = *compiled(state, form).program;
  for (size_t k = 0; k < form.leaves().size(); ++k) {
    const Lazy::Node& node = *form.leaves()[k].node;
    program.bind_memory(text("array", k), *node.memory, node.offset);
  }
  for (size_t k = 0; k < form.numbers().size(); ++k) program.set_scalar(text("number", k), form.numbers()[k]);
  program.run(state.evaluations++);
  program.release_memory();
}

// The nodes below the values; with `derives`, also the whole arrays that parts belong to.
class Below {
 public:
  Below(const std::vector<Target>& targets, bool derives) : derives_(derives) {
    for (const Target& target : targets) collect(*target.value);
  }
  std::vector<const Lazy::Node*> nodes;
  bool has_gradient() const {
    return std::ranges::any_of(nodes, [](const Lazy::Node* node) { return node->kind == Lazy::Node::Kind::gradient; });
  }

 private:
  void collect(const Lazy::Node& node) {
    if (derives_ && node.view) return collect(*node.view);
    if (!seen_.emplace(&node, true).second) return;
    nodes.push_back(&node);
    for (const NodePtr& input : node.inputs) collect(*input);
  }
  const bool derives_;
  std::unordered_map<const Lazy::Node*, bool> seen_;
};

}  // namespace

void evaluate(Backend::State& state, const std::vector<Target>& given) {
  std::vector<Target> targets;
  for (const Target& target : given) {
    if (target.array->state.get() != &state)
      fail(ErrorKind::config, "an assignment is to an array of another backend; make it with that one");
    for (const Target& other : targets)
      if (overlap(*other.array, *target.array))
        fail(ErrorKind::config,
             "two assignments at once write the same elements, or parts of one array that do not lie together ",
             "in memory, each from a multiple of ", kArrayAlignment, " bytes on; make them one after the other");
    const bool itself = target.value->is_array() && same_array(*target.value, *target.array);
    if (!itself && target.array->type.shape.elements() > 0) targets.push_back(target);
  }
  if (targets.empty()) return;
  const bool derives = Below(targets, false).has_gradient();
  const Below below(targets, derives);
  // Where the memory that is written is read other than as the very same array, it is written elsewhere first.
  std::vector<std::pair<NodePtr, NodePtr>> moves;
  for (Target& target : targets) {
    const bool in_the_way = std::ranges::any_of(below.nodes, [&](const Lazy::Node* node) {
      return node->is_array() && overlap(*node, *target.array) && !same_array(*node, *target.array);
    });
    if (!in_the_way) continue;
    moves.push_back({state.new_array(target.array->state, target.array->type), target.array});
    target.array = moves.back().first;
  }
  run(state, targets, derives);
  for (const auto& [from, to] : moves) to->memory->copy(*from->memory, from->offset, to->type.bytes(), to->offset);
}

}  // namespace neon
