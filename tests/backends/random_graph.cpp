#include "tests/backends/random_graph.h"

#include <cmath>
#include <exception>

#include "backends/graph/expression.h"
#include "backends/graph/op.h"
#include "neon/core/random.h"
#include "tests/backends/run_case.h"

namespace neon::test {

namespace {

// Numbers, shapes and values that are drawn; what a graph is built of.
class Draws {
 public:
  Draws(uint64_t seed, const RandomGraphOptions& options) : draw_(seed, "random graph"), options_(options) {
    const int64_t sizes[] = {1, 1, 2, 3, 4, 5, 7, 17, 40};
    for (int64_t& size : sizes_) size = sizes[below(std::size(sizes))];
    if (below(8) == 0) sizes_[0] = 300;  // several tiles
  }

 protected:
  int below(size_t bound) { return int(draw_.below(uint32_t(bound))); }
  bool chance(int percent) { return below(100) < percent; }
  int64_t size() { return sizes_[size_t(below(std::size(sizes_)))]; }
  Expr any() { return values_[size_t(below(values_.size()))]; }
  // Later values more often, so that chains grow.
  Expr recent() {
    const size_t n = values_.size(), back = size_t(std::min(below(n), below(n)));
    return values_[n - 1 - back];
  }
  // Two numbers of rank 0 take the wider type: 0.5 * f16 is f32 there.
  void keep(Expr value) {
    if (value.shape().elements() <= 20000) values_.push_back(typed(value));
  }
  Expr number(double value) { return {graph_, graph_.constant(value)}; }
  // Values stay small, or products of products overflow.
  Expr tame(Expr value) { return chance(60) ? apply("tanh", value) : value * 0.5; }

  Shape shape() {
    const int64_t a = sizes_[0], b = sizes_[1], c = sizes_[2];
    const Shape shapes[] = {{a, b}, {a, b}, {a, 1}, {1, b},    {b},       {a},       {1, 1},    {1},
                            {},     {b, a}, {b, c}, {a, b, c}, {1, b, c}, {a, 1, 1}, {1, 1, c}, {a, b, 1, c}};
    return shapes[below(std::size(shapes))];
  }

  Tensor numbers(const Shape& shape, const std::string& name) {
    Tensor out(options_.dtype, shape);
    Stream stream(uint64_t(draw_.bits()), name);
    for (int64_t i = 0; i < out.elements(); ++i) out.set(i, stream.uniform() * 2 - 1);
    return out;
  }

  std::vector<int64_t> axes(const Shape& of) {
    std::vector<int64_t> out;
    for (int axis = 0; axis < of.rank(); ++axis)
      if (chance(50)) out.push_back(axis);
    return chance(20) || out.empty() ? all_axes(of) : out;
  }

  bool meets(Expr a, Expr b) {
    try {
      return broadcast(a.shape(), b.shape()).elements() <= 20000;
    } catch (const Error&) {
      return false;
    }
  }

  Expr fitted(Expr value, const Shape& to) {
    if (value.shape() == to) return value;
    if (value.shape().elements() == to.elements()) return reshape(value, to);
    Expr whole = mean(value, all_axes(value.shape()));
    return {graph_, broadcast_to(graph_, reshape(whole, {}), to)};
  }

  Expr typed(Value value) { return cast(Expr(graph_, value), options_.dtype); }

  Stream draw_;
  RandomGraphOptions options_;
  RandomGraph made_;
  Graph& graph_ = made_.graph;
  int64_t sizes_[3] = {};
  std::vector<Expr> values_;
};

class Builder : Draws {
 public:
  using Draws::Draws;

  RandomGraph run() {
    const int leaves = 2 + below(4), nodes = 5 + below(30);
    for (int i = 0; i < leaves; ++i) leaf(i);
    for (int i = 0; i < nodes; ++i) {
      graph_.set_scope(text("node ", i));
      node(i);
    }
    assign_variables();
    make_outputs();
    return std::move(made_);
  }

 private:
  void leaf(int i) {
    const std::string name = text(i % 2 ? "v" : "x", i);
    const Shape own = i == 0 ? Shape{sizes_[0], sizes_[1]} : shape();
    const Tensor data = numbers(own, name);
    if (i % 2) {
      made_.variables[name] = data;
      variables_.push_back({graph_, graph_.variable(name, options_.dtype, own)});
      keep(variables_.back());
      if (options_.dtype == DType::f64 && chance(50)) narrow(variables_.back());
    } else {
      made_.inputs[name] = data;
      keep({graph_, graph_.input(name, options_.dtype, own)});
    }
  }

  // What a variable is in fewer bytes, which is kept from run to run: among the numbers, and what another variable
  // becomes. In f64 alone, and without gradients, which are rounded, too: what differs by a rounding error would be
  // rounded to other numbers.
  void narrow(Expr v) {
    narrowed_ = true;
    const Expr narrowed(graph_, cast(graph_, v, DType::f32));
    if (chance(70)) keep(typed(narrowed));
    if (v.shape().rank() && chance(40))
      keep(typed(Value(graph_.add("concat", {narrowed, narrowed}, {{"axis", int64_t(0)}}))));
    if (chance(70)) return;
    const std::string name = text("n", variables_.size());
    made_.variables[name] = Tensor(DType::f32, v.shape());
    graph_.assign(graph_.variable(name, DType::f32, v.shape()), narrowed, guard());
  }

  void node(int i) {
    Expr a = recent();
    switch (below(21)) {
      case 0:
      case 1:
      case 2: return unary(a);
      case 3:
      case 4:
      case 5:
      case 6:
      case 7: return binary(a);
      case 8:
      case 9:
      case 10: return reduction(a);
      case 11: return source(i, a);
      case 12: return view(a);
      case 13: return repeat(a);
      case 14: return product(a);
      case 15: return look_up(i, a);
      case 16: return move(a);
      case 17: return compound(a);
      case 18: return jump(a);
      case 19: return three(a);
      default: return derive();
    }
  }

  void unary(Expr a) {
    const char* rows[] = {"tanh", "logistic", "neg", "abs", "relu", "softsign", "sin", "identity", "softplus"};
    keep(apply(rows[below(std::size(rows))], a));
    if (chance(20)) keep(tame(square(a)));
  }

  void binary(Expr a) {
    Expr b = any();
    if (!meets(a, b)) b = number(0.25 * below(8));
    const char* rows[] = {"add", "sub", "mul", "maximum", "minimum"};
    const std::string row = rows[below(std::size(rows))];
    Expr y = chance(50) ? apply(row, a, b) : apply(row, b, a);
    keep(row == "mul" || row == "add" ? tame(y) : y);
  }

  void three(Expr a) {
    Expr b = any(), c = any();
    if (!meets(a, b) || !meets(apply("add", a, b), c)) return unary(a);
    keep(tame(apply("mul_add", a, b, c)));
  }

  void reduction(Expr a) {
    const char* kinds[] = {"sum", "sum", "max", "min"};
    const std::string kind = kinds[below(std::size(kinds))];
    const auto over = axes(a.shape());
    Expr y = reduce(kind, a, over);
    int64_t count = 1;
    for (int64_t axis : over) count *= a.shape()[int(axis)];
    if (kind == "sum") y = y * (1.0 / double(count));
    keep(y);
    if (chance(30) && meets(a, y)) keep(a - y);
  }

  void source(int i, Expr a) {
    if (a.shape().rank() == 0 || chance(50)) {
      const Shape drawn = chance(50) ? a.shape() : shape();
      keep(typed(uniform(graph_, drawn, 3, text("draw", i))));
    } else if (chance(50)) {
      keep(0.01 * typed(iota(graph_, a.shape(), below(size_t(a.shape().rank())))));
    } else {
      keep(typed(broadcast_to(graph_, 0.5 * Expr(graph_, graph_.scalar("gate")), a.shape())));
    }
  }

  void view(Expr a) {
    const Shape& from = a.shape();
    const int64_t n = from.elements();
    std::vector<Shape> shapes = {{n}, {1, n}, {n, 1}};
    if (from.rank() == 2) shapes.push_back({from[1], from[0]});
    if (from.rank() == 3)
      shapes.push_back({from[0], from[1] * from[2]}), shapes.push_back({from[0] * from[1], from[2]});
    if (n == 1) shapes.push_back({});
    keep(reshape(a, shapes[size_t(below(shapes.size()))]));
  }

  void repeat(Expr a) {
    Expr b = any();
    if (!meets(a, b)) return;
    keep({graph_, broadcast_to(graph_, a, broadcast(a.shape(), b.shape()))});
  }

  void product(Expr a) {
    if (options_.products && a.shape().rank() == 3) return batch_product(a);
    if (!options_.products || a.shape().rank() != 2) return binary(a);
    for (int tries = 0; tries < 8; ++tries) {
      Expr b = any();
      if (b.shape().rank() != 2) continue;
      const int ta = below(2), tb = below(2);
      const int64_t inner = a.shape()[ta ? 0 : 1];
      if (inner != b.shape()[tb ? 1 : 0] || a.shape()[ta] * b.shape()[1 - tb] > 20000) continue;
      Expr y(graph_, matmul(graph_, a, b, ta, tb));
      y = y * (1.0 / double(inner));
      for (Expr v : variables_)
        if (chance(60) && v.shape().elements() == y.shape()[1] && meets(y, v)) y = y + v;
      keep(chance(40) ? apply("relu", y) : y);
      return;
    }
  }

  // Of matrices of the same batch.
  void batch_product(Expr a) {
    for (int tries = 0; tries < 8; ++tries) {
      Expr b = any();
      if (b.shape().rank() != 3 || b.shape()[0] != a.shape()[0]) continue;
      const int ta = below(2), tb = below(2);
      const int64_t inner = a.shape()[ta ? 1 : 2];
      if (inner != b.shape()[tb ? 2 : 1] || a.shape()[0] * a.shape()[1 + ta] * b.shape()[2 - tb] > 20000) continue;
      const Attributes how = {{"transpose_a", int64_t(ta)}, {"transpose_b", int64_t(tb)}};
      return keep(Expr(graph_, graph_.add("batch_matmul", {a, b}, how)) * (1.0 / double(inner)));
    }
    binary(a);
  }

  void look_up(int i, Expr a) {
    if (a.shape().rank() == 0) return unary(a);
    const int64_t count = chance(30) ? 1 : chance(50) ? a.shape()[0] : size();
    Tensor indices(DType::i32, {count});
    for (int64_t k = 0; k < count; ++k) indices.set(k, double(draw_.below(uint32_t(a.shape()[0]))));
    made_.inputs[text("i", i)] = indices;
    Value at = graph_.input(text("i", i), DType::i32, {count});
    Expr y(graph_, gather(graph_, a, at));
    keep(y);
    if (chance(30)) keep({graph_, graph_.add("scatter_add", {tame(y), at}, {{"rows", a.shape()[0]}})});
  }

  void move(Expr a) {
    const int rank = a.shape().rank();
    if (rank == 0) return unary(a);
    const int64_t axis = below(size_t(rank)), along = a.shape()[int(axis)];
    if (chance(40)) {
      std::vector<int64_t> order = all_axes(a.shape());
      std::swap(order[0], order[size_t(axis)]);
      keep({graph_, transpose(graph_, a, order)});
    } else if (chance(50)) {
      const int64_t first = below(size_t(along)), count = 1 + below(size_t(along - first));
      keep({graph_, graph_.add("slice", {a}, {{"axis", axis}, {"first", first}, {"count", count}})});
    } else {
      keep({graph_, graph_.add("concat", {a, apply("neg", a)}, {{"axis", axis}})});
    }
  }

  void compound(Expr a) {
    if (a.shape().rank() == 0) return unary(a);
    if (a.shape().rank() != 2 || chance(50)) return keep({graph_, graph_.add("softmax", {a})});
    Expr gamma = sum(a, {0}) * 0.01 + 1.0, beta = max(a, {0});
    auto results =
        graph_.add_all("batch_norm", {a, gamma, beta}, {{"axes", std::vector<int64_t>{0}}, {"epsilon", 1.0}});
    keep({graph_, results[0]});
    graph_.output("variance", results[2]);
  }

  // Odd factors: numbers that are equal but for rounding are not compared.
  void jump(Expr a) {
    if (!options_.jumps) return unary(a);
    Expr b = any();
    if (chance(30)) return keep(typed(cast(a * 2.9173, DType::i32)));
    if (chance(30)) return keep(typed(0.01 * Expr(graph_, graph_.add("argmax", {a}, {{"axes", axes(a.shape())}}))));
    if (meets(a, b)) keep(typed(apply("less", a * 0.9173 + 0.0371, b)));
  }

  // The gradient of some mean by some earlier value.
  void derive() {
    Expr y = any(), x = any();
    if (y.shape().rank() == 0 || narrowed_) return;
    const Value wanted[] = {x};
    const auto found = gradients(graph_, mean(y, all_axes(y.shape())), wanted);
    if (found[0]) keep(tame({graph_, found[0]}));
  }

  Value guard() {
    Expr a = any();
    switch (below(5)) {
      case 0: return graph_.scalar("gate");
      case 1: return Expr(graph_, graph_.scalar("gate")) * 2.0;
      case 2:
        if (!options_.jumps) return {};
        return apply("greater", mean(a, all_axes(a.shape())), number(0.12718));
      case 3: return shared_guard();
      default: return {};
    }
  }
  Value shared_guard() {
    if (!shared_) shared_ = broadcast_to(graph_, typed(graph_.scalar("gate")), {1});
    return shared_;
  }

  void assign_variables() {
    if (variables_.size() > 1 && chance(20) && variables_[0].shape() == variables_[1].shape()) {
      graph_.assign(variables_[0], variables_[1], guard());
      graph_.assign(variables_[1], variables_[0], guard());
      return;
    }
    Value last;
    for (Expr v : variables_) {
      if (chance(15)) continue;
      Expr value = typed(fitted(recent(), v.shape()));
      if (chance(50)) value = typed(0.5 * v + 0.25 * value);
      if (last && chance(20) && graph_.type(last) == graph_.type(v)) value = {graph_, last};
      graph_.assign(v, value, chance(60) ? shared_guard() : guard());
      last = value;
    }
  }

  void make_outputs() {
    const int count = 1 + below(4);
    for (int i = 0; i < count; ++i) graph_.output(text("y", i), chance(80) ? recent() : any());
  }

  std::vector<Expr> variables_;
  Value shared_;
  bool narrowed_ = false;
};

}  // namespace

RandomGraph random_graph(uint64_t seed, const RandomGraphOptions& options) { return Builder(seed, options).run(); }

}  // namespace neon::test
