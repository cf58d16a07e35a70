// The nodes of an expression, and the functions that evaluate it. For the files of this folder.
#pragma once
#include <list>
#include <unordered_map>

#include "backends/device/device.h"
#include "backends/graph/ops.h"
#include "neon/array/array.h"

namespace neon {

constexpr size_t kArrayAlignment = 16;  // bytes; kernels read that much at once
constexpr int kDeepest = 4000;          // nodes on a path: walks over expressions recurse

struct Lazy::Node {
  using NodePtr = std::shared_ptr<const Node>;
  // A gradient is that of inputs[0] by inputs[1]; the seed is inputs[2].
  enum class Kind : uint8_t { op, array, number, gradient };

  bool is(OpName name) const { return op && op->is(name); }
  bool is_array() const { return kind == Kind::array; }

  Kind kind = Kind::op;
  const Op* op = nullptr;  // of Kind::op
  std::vector<NodePtr> inputs;
  Attributes attributes;
  TensorType type;
  int depth = 0;
  int result = 0;                         // of those that the op has
  double number = 0;                      // of a number
  bool rounded = false;                   // to its type, also where that is of 16 bits and sums were made in f32
  std::shared_ptr<DeviceMemory> memory;   // of an array
  size_t offset = 0;                      // bytes into it
  NodePtr view;                           // of an array that is part of another one: how it shows that
  std::shared_ptr<Backend::State> state;  // of arrays and draws, and what follows from them
};

using NodePtr = Lazy::Node::NodePtr;

// The backend that all inputs are of; null where they are numbers alone. Fails where they are of two.
std::shared_ptr<Backend::State> common_state(const std::vector<NodePtr>& inputs);
// A node of an op, whose shape rule gives the type; `result` chooses among several results.
NodePtr make_node(const Op& op, std::vector<NodePtr> inputs, Attributes attributes = {}, size_t result = 0);
NodePtr make_node(OpName op, std::vector<NodePtr> inputs, Attributes attributes = {}, size_t result = 0);
// Dense elements at a place in memory.
NodePtr array_node(std::shared_ptr<Backend::State> state, std::shared_ptr<DeviceMemory> memory, size_t offset,
                   const TensorType& type, NodePtr view = nullptr);
NodePtr cast_node(NodePtr node, DType dtype);
// In the type of the arithmetic: f64 where one of them is f64, else f32. Numbers stay what they are.
std::vector<NodePtr> in_arithmetic(std::vector<NodePtr> nodes);
// Fails where the indices are no list of i32; messages name `function`.
const Lazy& checked_indices(const char* function, const Lazy& indices);
bool broadcasts_to(const Shape& shape, const Shape& to);
// The axis counted from 0; fails where the axis is missing.
int checked_axis(const Shape& shape, int axis);

// A value of an array's shape and type, to be written to it.
struct Target {
  NodePtr array, value;
};
// Runs the program of these targets.
void evaluate(Backend::State& state, const std::vector<Target>& targets);
// The dense array that `place` is a view of, and the value which that takes when `value`, broadcast to the view and
// rounded to its type, is written through it.
Target target_of(const NodePtr& place, const NodePtr& value, int rounding);

// Memory that is given back is kept for the next array of its size.
class MemoryPool {
 public:
  explicit MemoryPool(const DeviceOptions& options) : options_(options) {}
  static std::shared_ptr<DeviceMemory> take(const std::shared_ptr<MemoryPool>& pool, size_t bytes);
  void clear();

 private:
  std::shared_ptr<DeviceMemory> make(size_t bytes);
  void give_back(std::shared_ptr<DeviceMemory> memory);
  DeviceOptions options_;
  std::unordered_map<size_t, std::vector<std::shared_ptr<DeviceMemory>>> free_;
  size_t kept_ = 0;  // bytes in it
};

struct CompiledExpression {
  Variables variables;
  std::unique_ptr<Program> program;
  size_t bytes() const { return program->lowered().arena_bytes; }
};

// The device that programs of a backend are compiled for. Throws a config error for options that cannot be.
DeviceOptions device_of(const BackendOptions& options);

struct Backend::State {
  BackendOptions options;
  DeviceOptions device;
  std::shared_ptr<MemoryPool> pool;
  uint64_t evaluations = 0;
  // By form of the expression, the last used first.
  std::list<std::pair<std::string, CompiledExpression>> programs;
  std::unordered_map<std::string, decltype(programs)::iterator> known;
  int64_t compiled = 0;
  int64_t hist_bins = 64, hist_offset = -48;
  std::vector<std::shared_ptr<DeviceMemory>> hist_rows;
  std::map<std::string, int64_t> hist_tags;

  NodePtr new_array(const std::shared_ptr<State>& self, const TensorType& type);
  void drop_programs();
  // What `make` gives; where memory does not suffice, once nothing is kept for later.
  template <typename Make>
  auto with_room(Make&& make) {
    try {
      return make();
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::memory) throw;
    }
    drop_programs();
    pool->clear();
    return make();
  }
};

}  // namespace neon
