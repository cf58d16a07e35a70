#include "tests/backends/cell_graph.h"

#include <cmath>

#include "backends/graph/expression.h"
#include "backends/graph/op.h"
#include "backends/graph/recurrent.h"
#include "neon/core/random.h"

namespace neon::test {

std::vector<CellGraphCase> cell_graph_cases() {
  return {{"an lstm of few units", "lstm", 3, 6, 5, false, true, true},
          {"an lstm of 128 units", "lstm", 128, 12, 128},
          {"an lstm of 512 units", "lstm", 64, 6, 512, false, false, true},
          {"an lstm of 512 units, backwards and padded", "lstm", 50, 6, 512, true, true},
          {"an lstm of 1000 units", "lstm", 20, 3, 1000, true},
          {"an lstm of many steps", "lstm", 19, 150, 33, false, true},
          {"an lstm of many samples", "lstm", 20'000, 3, 7, false, true},
          {"a gru of few units", "gru", 3, 6, 5, true, true},
          {"a gru of 512 units", "gru", 64, 6, 512, false, true},
          {"a gru of 320 units, backwards", "gru", 33, 6, 320, true},
          {"a gru of many steps", "gru", 19, 150, 33, true, true},
          {"a gru of many samples", "gru", 20'000, 3, 9},
          {"a simple cell of one unit", "recurrent", 1, 1, 1},
          {"a simple cell of 700 units", "recurrent", 33, 6, 700, true, true},
          {"a simple cell of many steps", "recurrent", 19, 150, 33, false, true},
          {"a logistic cell of many samples", "recurrent", 20'000, 3, 9, true, true, false, "logistic"}};
}

Graph cell_graph(const CellGraphCase& c, DType dtype) {
  Graph graph;
  const DType wide = compute_type(dtype);
  const int64_t gates = c.cell == "lstm" ? 4 : c.cell == "gru" ? 3 : 1;
  const Shape state{c.samples, c.units}, states{c.samples, c.steps, c.units};
  const Value z = graph.input("z", dtype, {c.samples, c.steps, gates * c.units}),
              w = graph.input("w", dtype, {gates * c.units, c.units}), h0 = graph.input("h0", dtype, state),
              g = graph.input("g", dtype, states),
              lengths = c.padded ? graph.input("lengths", DType::i32, {c.samples}) : Value{};
  const CellRows rows{c.activation, c.gate, c.reverse};
  std::vector<Value> wanted = {z, w, h0};
  std::vector<std::string> names = {"dz", "dw", "dh0"};
  CellStates made;
  Expr total;
  if (c.cell == "lstm") {
    const Value c0 = graph.input("c0", wide, state);
    made = lstm(graph, rows, z, w, {h0, c0}, lengths);
    wanted.push_back(c0), names.push_back("dc0");
    graph.output("c", made.c);
  } else {
    made =
        c.cell == "gru" ? gru(graph, rows, z, w, {h0, {}}, lengths) : recurrent(graph, rows, z, w, {h0, {}}, lengths);
  }
  graph.output("h", made.h);
  total = sum(cast(Expr(graph, made.h), wide) * cast(Expr(graph, g), wide), {0, 1, 2});
  if (c.of_c) total = total + sum(Expr(graph, made.c) * Expr(graph, graph.input("gc", wide, states)), {0, 1, 2});
  const std::vector<Value> derived = gradients(graph, total, wanted);
  for (size_t i = 0; i < names.size(); ++i) graph.output(names[i], derived[i]);
  return graph;
}

std::map<std::string, Tensor> cell_data(const CellGraphCase& c, const Graph& graph) {
  std::map<std::string, Tensor> out;
  // Weights whose rows have a norm of about 1/2, so that states neither vanish nor saturate.
  const int down = 7 + int(std::ceil(std::log2(double(c.units)) / 2));
  for (Value leaf : graph.leaves(LeafKind::input)) {
    const std::string& name = graph.producer(leaf).attributes.string("name");
    Tensor data(graph.dtype(leaf), graph.shape(leaf));
    Stream stream(11, c.name + name);
    for (int64_t i = 0; i < data.elements(); ++i) {
      if (name == "lengths") data.set(i, i == 0 ? double(c.steps) : std::floor(stream.uniform() * double(c.steps + 1)));
      else data.set(i, std::ldexp(std::floor(stream.uniform() * 256 - 128), name == "w" ? -down : -7));
    }
    out.emplace(name, std::move(data));
  }
  return out;
}

}  // namespace neon::test
