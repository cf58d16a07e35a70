// What must hold of recurrent cells whatever their kernels: padding changes no bit, pieces with carried states are the
// whole, gradients by all results are those of the chain of steps, and kernels may write over what they were given.
#include "backends/graph/recurrent.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>

#include "backends/program.h"
#include "neon/core/random.h"
#include "tests/backends/run_case.h"

using namespace neon;
using namespace neon::test;

namespace {

using MakeCell = CellStates (*)(Graph&, const CellRows&, Value z, Value w, CellState begin, Value lengths);

struct NamedCell {
  const char* name;
  int64_t gates;
  MakeCell make;
};
constexpr NamedCell kCells[] = {{"recurrent", 1, recurrent}, {"lstm", 4, lstm}, {"gru", 3, gru}};

constexpr int64_t kSequences = 3, kUnits = 5;

struct Given {
  std::string name;
  Tensor array;
};

// Numbers in [-1, 1) for the part of each sample that all runs have, (N, T, F) from a longer (N, most, F).
Tensor numbers_of(const std::string& name, const Shape& shape, int64_t most, DType dtype) {
  Tensor out(dtype, shape);
  Tensor all(DType::f64, shape.rank() == 3 ? Shape{shape[0], most, shape[2]} : shape);
  Stream stream(3, name);
  for (double& x : all.as<double>()) x = std::ldexp(std::floor(stream.uniform() * 128 - 64), -6);
  for (int64_t i = 0; i < out.elements(); ++i) {
    const int64_t row = shape.rank() == 3 ? shape[1] * shape[2] : 1, rest = i % row;
    out.set(i, all.at(shape.rank() == 3 ? i / row * most * shape[2] + rest : i));
  }
  return out;
}

// h, and the gradients by z, w, h0 (and c0) of the sum of h times numbers, of c too where `of_c`.
struct CellArrays {
  std::vector<Tensor> arrays;
  int written_over = 0;
};

struct Asked {
  int64_t steps, most;
  DType dtype = DType::f32;
  bool reverse = false;
  std::vector<int32_t> lengths = {};
  bool of_c = false, unrolled = false, plain = false;
  // Whether a kernel makes z and g, so that the cell's kernels may write over them; whether results keep all of these.
  bool made = false, kept = false;
};

// A cell whose functions are the rows of CellRows, as a chain of steps.
struct RowFunctions : Cell {
  explicit RowFunctions(bool backwards) : Cell(backwards) {}
  Expr activation(Expr x) const override { return neon::apply("tanh", x); }
  Expr gate(Expr x) const override { return neon::apply("logistic", x); }
};

CellStates made(Graph& graph, const NamedCell& cell, const Asked& asked, Value z, Value w, CellState begin,
                Value lengths) {
  if (!asked.unrolled) return cell.make(graph, {"tanh", "logistic", asked.reverse}, z, w, begin, lengths);
  const RowFunctions functions(asked.reverse);
  const auto steps = cell.gates == 4 ? lstm_steps : cell.gates == 3 ? gru_steps : recurrent_steps;
  return steps(graph, functions, z, w, begin, lengths);
}

// Kernels of the cell with a result in the place of an operand.
int written_over(const Lowered& lowered, const NamedCell& cell) {
  const auto place = [&](Value value) { return lowered.storage[size_t(value.id)]; };
  int out = 0;
  for (const LoweredKernel& kernel : lowered.kernels)
    if (kernel.op && kernel.op->name.starts_with(cell.name))
      out += std::ranges::any_of(kernel.outputs, [&](Value output) {
        return std::ranges::any_of(kernel.inputs, [&](Value operand) { return place(operand) == place(output); });
      });
  return out;
}

CellArrays run(const NamedCell& cell, const Asked& asked) {
  const DType dtype = asked.dtype, wide = compute_type(dtype);
  const int64_t inner = cell.gates * kUnits;
  Graph graph;
  std::vector<Given> given;
  const auto input = [&](const std::string& name, const Shape& shape, DType type) {
    given.push_back({name, numbers_of(name, shape, asked.most, type)});
    return graph.input(name, type, shape);
  };
  // As another kernel makes it, or as it is given.
  const auto maybe_made = [&](Value value) {
    if (!asked.made) return value;
    const Value twice = (Expr(graph, value) + Expr(graph, value)).value();
    if (asked.kept) graph.output(text("kept ", value.id), twice);
    return twice;
  };
  const Value z = maybe_made(input("z", {kSequences, asked.steps, inner}, dtype)),
              w = input("w", {inner, kUnits}, dtype), h0 = input("h0", {kSequences, kUnits}, dtype),
              c0 = input("c0", {kSequences, kUnits}, wide);
  Value lengths;
  if (!asked.lengths.empty()) {
    lengths = graph.input("lengths", DType::i32, {kSequences});
    given.push_back({"lengths", Tensor(DType::i32, {kSequences})});
    for (int64_t n = 0; n < kSequences; ++n) given.back().array.set(n, asked.lengths[size_t(n)]);
  }
  const CellStates states = made(graph, cell, asked, z, w, {h0, c0}, lengths);
  const Shape shape{kSequences, asked.steps, kUnits};
  const Value given_cotangent = input("g", shape, dtype);
  for (int64_t n = 0; n < int64_t(asked.lengths.size()); ++n)  // nobody asks for padding
    for (int64_t i = asked.lengths[size_t(n)] * kUnits; i < asked.steps * kUnits; ++i)
      given.back().array.set(n * asked.steps * kUnits + i, 0);
  const Value cotangent = maybe_made(given_cotangent);
  Expr total = sum(Expr(graph, states.h) * Expr(graph, cotangent), {0, 1, 2});
  if (asked.of_c) {
    const Expr of_c = sum(Expr(graph, states.c) * Expr(graph, input("gc", shape, wide)), {0, 1, 2});
    total = cast(total, wide) + of_c;
  }
  graph.output("0", states.h);
  std::vector<Value> wanted = {z, w, h0};
  if (states.c) wanted.push_back(c0), graph.output("5", states.c);
  const std::vector<Value> derived = gradients(graph, total, wanted);
  for (size_t i = 0; i < wanted.size(); ++i) graph.output(text(i + 1), derived[i]);
  Variables variables;
  const auto program = compile_for_cpu(graph, variables, {.threads = 2, .plain = asked.plain});
  for (const Given& one : given) program->bind(one.name, one.array.data());
  program->run(0);
  CellArrays out;
  for (const auto& [name, value] : graph.outputs())
    if (!name.starts_with("kept")) out.arrays.push_back(program->output(name).clone());
  out.written_over = written_over(program->lowered(), cell);
  return out;
}

// The first `steps` of x (N,T,F).
Tensor first_steps(const Tensor& x, int64_t steps) {
  const int64_t count = x.shape()[1], features = x.shape()[2];
  Tensor out(x.dtype(), {x.shape()[0], steps, features});
  for (int64_t i = 0; i < out.elements(); ++i)
    out.set(i, x.at(i / (steps * features) * count * features + i % (steps * features)));
  return out;
}

}  // namespace

TEST_CASE("padding a sequence more changes no bit of a cell's states and gradients") {
  for (const NamedCell& cell : kCells)
    for (const bool reverse : {false, true})
      for (const DType dtype : {DType::f32, DType::bf16}) {
        INFO(cell.name << (reverse ? ", reverse, " : ", ") << text(dtype));
        Asked asked{.steps = 4, .most = 7, .dtype = dtype, .reverse = reverse, .lengths = {4, 2, 0}};
        const CellArrays few = run(cell, asked);
        asked.steps = 7;
        const CellArrays many = run(cell, asked);
        REQUIRE(few.arrays.size() == many.arrays.size());
        for (size_t i = 0; i < few.arrays.size(); ++i) {
          INFO("result " << i);
          const bool by_steps = few.arrays[i].shape().rank() == 3;
          const Tensor same = by_steps ? first_steps(many.arrays[i], 4) : many.arrays[i];
          // The weights' gradient is a sum over all steps, whose zeros a library may group in another way.
          if (i == 2) CHECK(difference(same, few.arrays[i], 64 * unit_roundoff(dtype)) == "");
          else CHECK(same_bits(same, few.arrays[i]));
        }
      }
}

TEST_CASE("gradients by all results of a cell are those of its chain of steps") {
  for (const NamedCell& cell : kCells)
    for (const bool reverse : {false, true})
      for (const bool padded : {false, true}) {
        INFO(cell.name << (reverse ? ", reverse" : "") << (padded ? ", padded" : ""));
        Asked asked{.steps = 5, .most = 5, .dtype = DType::f64, .reverse = reverse, .of_c = cell.gates == 4};
        if (padded) asked.lengths = {5, 3, 0};
        const CellArrays node = run(cell, asked);
        asked.unrolled = asked.plain = true;
        const CellArrays steps = run(cell, asked);
        REQUIRE(node.arrays.size() == steps.arrays.size());
        for (size_t i = 0; i < node.arrays.size(); ++i) {
          INFO("result " << i);
          CHECK(difference(node.arrays[i], steps.arrays[i], 1e-12) == "");
        }
      }
}

TEST_CASE("a cell's kernels write over what nothing reads later, with the same bits") {
  for (const NamedCell& cell : kCells)
    for (const bool reverse : {false, true})
      for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f16})
        for (const bool padded : {false, true}) {
          INFO(cell.name << (reverse ? ", reverse, " : ", ") << text(dtype) << (padded ? ", padded" : ""));
          Asked asked{.steps = 5, .most = 5, .dtype = dtype, .reverse = reverse, .made = true};
          if (padded) asked.lengths = {5, 3, 0};
          const CellArrays over = run(cell, asked);
          // The gates of a gru are read after its gradient, too: what its reset gate leaves makes a weight's gradient.
          CHECK(over.written_over == (cell.gates == 3 ? 1 : 2));
          asked.kept = true;
          const CellArrays apart = run(cell, asked);
          CHECK(apart.written_over < over.written_over);
          REQUIRE(over.arrays.size() == apart.arrays.size());
          for (size_t i = 0; i < over.arrays.size(); ++i) CHECK(same_bits(over.arrays[i], apart.arrays[i]));
        }
}

TEST_CASE("pieces of a sequence, each begun with the states of the piece before, are the whole") {
  constexpr int64_t kSteps = 6, kPiece = 2;
  for (const NamedCell& cell : kCells)
    for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
      INFO(cell.name << ", " << text(dtype));
      const int64_t inner = cell.gates * kUnits;
      const DType wide = compute_type(dtype);
      const Tensor z = numbers_of("z", {kSequences, kSteps, inner}, kSteps, dtype),
                   w = numbers_of("w", {inner, kUnits}, kSteps, dtype);
      const auto states_of = [&](const Tensor& part, const Tensor& h0, const Tensor& c0) {
        Graph graph;
        const CellStates states = cell.make(
            graph, {"tanh", "logistic"}, graph.input("z", dtype, part.shape()), graph.input("w", dtype, w.shape()),
            {graph.input("h0", dtype, h0.shape()), graph.input("c0", wide, c0.shape())}, {});
        graph.output("h", states.h);
        if (states.c) graph.output("c", states.c);
        Variables variables;
        const auto program = compile_for_cpu(graph, variables, {.threads = 2});
        const std::pair<const char*, const Tensor*> given[] = {{"z", &part}, {"w", &w}, {"h0", &h0}, {"c0", &c0}};
        for (const auto& [name, array] : given) program->bind(name, array->data());
        program->run(0);
        return std::pair(program->output("h").clone(), states.c ? program->output("c").clone() : c0.clone());
      };
      Tensor h(dtype, {kSequences, kUnits}), c(wide, {kSequences, kUnits});
      for (Tensor* state : {&h, &c})
        for (int64_t i = 0; i < state->elements(); ++i) state->set(i, 0);
      const Tensor whole = states_of(z, h, c).first;
      for (int64_t first = 0; first < kSteps; first += kPiece) {
        Tensor part(dtype, {kSequences, kPiece, inner}), expected(dtype, {kSequences, kPiece, kUnits});
        for (int64_t n = 0; n < kSequences; ++n) {
          for (int64_t i = 0; i < kPiece * inner; ++i)
            part.set(n * kPiece * inner + i, z.at((n * kSteps + first) * inner + i));
          for (int64_t i = 0; i < kPiece * kUnits; ++i)
            expected.set(n * kPiece * kUnits + i, whole.at((n * kSteps + first) * kUnits + i));
        }
        const auto [states, cells] = states_of(part, h, c);
        CHECK(same_bits(states, expected));
        for (int64_t n = 0; n < kSequences; ++n)
          for (int64_t j = 0; j < kUnits; ++j) {
            h.set(n * kUnits + j, states.at((n * kPiece + kPiece - 1) * kUnits + j));
            if (cell.gates == 4) c.set(n * kUnits + j, cells.at((n * kPiece + kPiece - 1) * kUnits + j));
          }
      }
    }
}
