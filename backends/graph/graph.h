// The graph: values of known shape and dtype, made by nodes, each an op of the table. Nodes are only ever
// appended, so their order is a topological one. All ops are pure, so an equal node is never made twice:
// adding it again gives the first one's values. Leaves are ops too:
//   input     bound before each run (indices, a data set, an array of the caller)
//   variable  lives in the store across runs (parameters, optimizer state, running statistics)
//   scalar    one number of the step record (learning rate, step), the same for the whole run
//   constant  a number fixed in the program
// Numbers of the record and constants take part as exactly as the arithmetic that they enter can hold them.
#pragma once
#include <deque>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/graph/attributes.h"
#include "neon/core/dtype.h"
#include "neon/core/shape.h"

namespace neon {

struct Op;

enum class LeafKind : uint8_t { none, input, variable, scalar, constant };

struct TensorType {
  DType dtype = DType::f32;
  Shape shape;
  size_t bytes() const { return size_t(shape.elements()) * size_of(dtype); }
  bool operator==(const TensorType&) const = default;
  std::string to_string() const;  // "f32 (128, 10)"
};

// A handle to one output of one node of one graph.
struct Value {
  int id = -1;
  explicit operator bool() const { return id >= 0; }
  bool operator==(const Value&) const = default;
  auto operator<=>(const Value&) const = default;
};

struct Node {
  const Op* op = nullptr;
  std::vector<Value> inputs, outputs;
  Attributes attributes;
  std::string scope;  // the layer that asked for it: "layers[2] Affine"
};

// After a run, `variable` holds what `value` was; where `guard` (a scalar value) is given and 0, nothing
// is written. All reads of the variable see the value from before the run. A variable is assigned once at most. In
// place of a variable it may be a kept cast of one, see with_kept_casts().
struct Assignment {
  Value variable, value, guard;
};

// References to types, shapes and nodes stay valid while nodes are added.
class Graph {
 public:
  // Appends a node; the op's shape rule gives the outputs or throws a config error that names the scope.
  std::vector<Value> add_all(std::string_view op, std::vector<Value> inputs, Attributes attributes = {});
  // The same for ops with one output.
  Value add(std::string_view op, std::vector<Value> inputs, Attributes attributes = {});

  Value input(const std::string& name, DType dtype, const Shape& shape);
  Value variable(const std::string& name, DType dtype, const Shape& shape);
  Value scalar(const std::string& name, DType dtype = DType::f32);  // shape ()
  Value constant(double value, DType dtype = DType::f32);           // shape (); equal ones are shared

  void assign(Value variable, Value value, Value guard = {});
  void output(const std::string& name, Value value);

  const TensorType& type(Value value) const { return values_[size_t(value.id)].type; }
  const Shape& shape(Value value) const { return type(value).shape; }
  DType dtype(Value value) const { return type(value).dtype; }
  int producer_index(Value value) const { return values_[size_t(value.id)].node; }
  const Node& producer(Value value) const { return nodes_[size_t(producer_index(value))]; }
  const Node& node(int index) const { return nodes_[size_t(index)]; }
  int node_count() const { return int(nodes_.size()); }
  int value_count() const { return int(values_.size()); }
  const std::vector<Assignment>& assignments() const { return assignments_; }
  bool is_assigned(Value variable) const { return assigned_.count(variable) > 0; }
  std::vector<Assignment> assignments_of(Value value) const;  // that give it to a variable
  const std::map<std::string, Value>& outputs() const { return outputs_; }
  std::vector<Value> leaves(LeafKind kind) const;  // in the order in which they were added

  // Where following nodes come from, for messages and the printed program.
  void set_scope(std::string scope) { scope_ = std::move(scope); }
  const std::string& scope() const { return scope_; }

  // The sequences of the batch, whose steps are rows; 0: samples have no steps. Kernels may then add up rows sample by
  // sample, so that padding changes no bit of the sum.
  int64_t sequences = 0;

  std::string to_string() const;  // one line a node

 private:
  struct ValueRecord {
    TensorType type;
    int node;
  };
  // Not vectors: shapes and nodes are handed out by reference, and must stay where they are while more are added.
  std::deque<Node> nodes_;
  std::deque<ValueRecord> values_;
  std::vector<Assignment> assignments_;
  std::set<Value> assigned_;                     // variables
  std::multimap<Value, size_t> assignments_of_;  // by the value that is given
  std::map<std::string, Value> outputs_;
  std::map<std::string, int> known_;  // node by op, inputs and attributes
  std::string scope_;
};

// Attribute of nodes that make something of variables alone, such as a cast of one, whose result outlives the run: it
// is made again only when somebody else has written a variable.
constexpr const char* kKept = "kept";
// Whether it is a variable or kept of some, so that a kernel may write it anew while others still read it.
bool outlives_run(const Graph& graph, Value value);

// Sets the scope of a graph for a block.
class Scope {
 public:
  Scope(Graph& graph, std::string scope) : graph_(graph), outer_(graph.scope()) { graph.set_scope(std::move(scope)); }
  ~Scope() { graph_.set_scope(outer_); }
  Scope(const Scope&) = delete;

 private:
  Graph& graph_;
  std::string outer_;
};

}  // namespace neon
