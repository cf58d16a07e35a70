// What lowering must keep: the order of reads and writes, guards, shapes that repeat, roundings, NaN. Each case is a
// small graph whose results are known.
#include "backends/graph/lower.h"

#include "backends/graph/op.h"
#include "neon/core/random.h"
#include "tests/backends/lower_check.h"

using namespace neon;
using namespace neon::test;

TEST_CASE("two variables change places") {
  Check c;
  Expr a = c.variable("a", array({2}, {1, 2})), b = c.variable("b", array({2}, {3, 4}));
  c.graph.assign(a, b);
  c.graph.assign(b, a);
  c.expect("a", {3, 4});
  c.expect("b", {1, 2});
  c.agree();
}

TEST_CASE("a reader of the old value may need the new one, too") {
  Check c;
  Expr a = c.variable("a", array({2}, {1, 2}));
  Expr updated = a * 3.0;
  c.graph.assign(a, updated);
  c.graph.output("change", sum(updated - a, {0}));
  c.expect("a", {3, 6});
  c.expect("change", {6});
  c.agree();
}

TEST_CASE("a variable is read through a view before it is written") {
  Check c;
  Expr a = c.variable("a", array({6}, {1, 2, 3, 4, 5, 6}));
  Expr view = reshape(a, {2, 3});
  c.graph.assign(a, a * 10.0);
  c.graph.output("columns", sum(view, {0}));
  c.graph.output("view", view);
  c.graph.output("a before", a);
  c.expect("columns", {5, 7, 9});
  c.expect("view", {1, 2, 3, 4, 5, 6});
  c.expect("a before", {1, 2, 3, 4, 5, 6});
  c.expect("a", {10, 20, 30, 40, 50, 60});
  c.agree();
}

TEST_CASE("rows looked up in the variable that is written are the old ones") {
  Check c;
  Expr a = c.variable("a", array({4}, {1, 2, 3, 4}));
  Expr at = c.input("at", array({4}, {3, 2, 1, 0}, DType::i32));
  c.graph.assign(a, Expr(c.graph, gather(c.graph, a, at)));
  c.expect("a", {4, 3, 2, 1});
  c.agree();
}

TEST_CASE("a single number beside many elements is written once, after it was read") {
  Check c;
  Expr count = c.variable("count", array({1}, {5})), x = c.input("x", array({5000}, {1}));
  Expr next = count + 1.0;
  c.graph.assign(count, next);
  c.graph.output("y", sum(x * (count * 2.0) + next, {0}));
  c.expect("count", {6});
  c.expect("y", {16 * 5000});
  c.agree();
}

TEST_CASE("a guard stops the write and nothing else") {
  const double gate = GENERATE(0.0, 1.0);
  Check c;
  c.scalars["gate"] = gate;
  Expr a = c.variable("a", array({3}, {1, 2, 3})), b = c.variable("b", array({3}, {0})),
       d = c.variable("d", array({3}, {0}));
  Expr updated = a + 1.0, gate_value = {c.graph, c.graph.scalar("gate")};
  c.graph.assign(a, updated, gate_value);
  c.graph.assign(b, updated, 1.0 - gate_value);
  c.graph.assign(d, updated);
  c.graph.output("updated", updated);
  const std::vector<double> old = {1, 2, 3}, made = {2, 3, 4}, none = {0, 0, 0};
  c.expect("a", gate ? made : old);
  c.expect("b", gate ? none : made);
  c.expect("d", made);
  c.expect("updated", made);
  c.agree();
}

TEST_CASE("a guard that follows from the value that it guards") {
  const double x = GENERATE(1.0, kNaN);
  Check c;
  Expr a = c.variable("a", array({2}, {1, 2})), g = c.input("g", array({2}, {x}));
  Expr updated = a - g;
  c.graph.assign(a, updated, apply("is_finite", sum(updated, {0})));
  c.expect("a", std::isnan(x) ? std::vector<double>{1, 2} : std::vector<double>{0, 1});
  c.agree();
}

TEST_CASE("a kernel of its own writes a variable directly where nothing else is in the way") {
  const float a[] = {1, -2, 3, 4}, b[] = {1, 2, -1, 1};  // a b = (3 0; -1 10)
  const bool relu = GENERATE(false, true), read = GENERATE(false, true), plain = GENERATE(false, true);
  INFO("relu " << relu << ", read " << read << (plain ? ", plain" : ""));
  Graph graph;
  const Value x = graph.input("a", DType::f32, {2, 2}), w = graph.input("b", DType::f32, {2, 2});
  const Expr y(graph, graph.variable("y", DType::f32, {2, 2})), z(graph, graph.variable("z", DType::f32, {2, 2}));
  Expr product(graph, matmul(graph, x, w));
  if (relu) product = apply("relu", product);
  graph.assign(y, product);
  graph.assign(z, transpose(graph, x, {1, 0}));
  if (read) graph.output("before", y + 0.0);
  Variables variables;
  const auto program = compile_for_cpu(graph, variables, {.plain = plain});
  program->bind("a", a);
  program->bind("b", b);
  program->run(0);
  const std::vector<float> expected = {3, 0, relu ? 0.0f : -1.0f, 10};
  for (size_t i = 0; i < 4; ++i) {
    CHECK(variables.at("y").at(int64_t(i)) == expected[i]);
    CHECK(variables.at("z").at(int64_t(i)) == a[i % 2 * 2 + i / 2]);
    if (read) CHECK(program->output("before").at(int64_t(i)) == 0);
  }
  if (!plain && !read) CHECK(program->lowered().kernels.size() == 2);
}

TEST_CASE("one row is looked up where it lies") {
  Check c;
  Expr data = c.input("data", array({3, 2}, {1, 2, 3, 4, 5, 6}, DType::u8));
  Expr labels = c.input("labels", array({3, 1}, {7, 8, 9}, DType::i32));
  Expr at = c.input("at", array({1}, {2}, DType::i32));
  Expr x = cast(Expr(c.graph, gather(c.graph, data, at)), DType::f32);
  Expr label(c.graph, gather(c.graph, labels, at));
  Expr classes(c.graph, iota(c.graph, {1, 10}, 1));
  c.graph.output("x", x);
  c.graph.output("hot", sum(apply("equal", label, classes) * classes, {1}));
  c.graph.output("share", apply("div", x, sum(x, {1})));
  c.expect("x", {5, 6});
  c.expect("hot", {9});
  c.expect("share", {5.0 / 11, 6.0 / 11});
  c.agree();
}

TEST_CASE("rows of one number are looked up before they are folded") {
  Check c;
  Expr data = c.input("data", array({4, 1}, {1, 2, 3, 4})), at = c.input("at", array({3}, {3, 0, 2}, DType::i32));
  Expr x(c.graph, gather(c.graph, data, at));
  c.graph.output("y", sum(x, {1}) * 2.0);
  c.expect("y", {8, 2, 6});
  c.agree();
}

TEST_CASE("what repeats along kept axes of a fold") {
  // kept axes (1, 2, 3), of which the weights know one only
  Check c;
  Expr x = c.input("x", array({2, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
  Expr w = c.input("w", array({1, 1, 3}, {1, 10, 100}));
  Expr mean = sum(x, {0}) * w;
  c.graph.output("mean", mean);
  c.graph.output("all", sum(mean - x, {0, 1, 2}));
  c.expect("mean", {8, 100, 1200, 14, 160, 1800});
  c.expect("all", {2 * (8 + 100 + 1200 + 14 + 160 + 1800) - 78});
  c.agree();
}

TEST_CASE("an axis in the middle is folded in one kernel, with whatever varies along some of the axes") {
  // (K,R,C), of lengths that a tile holds and that it does not; all numbers and sums are exact.
  const int64_t K = 3, R = GENERATE(4, 1024), C = GENERATE(5, 520);
  const std::vector<double> of_stack = {2, -1, 4}, of_column = {1, 0.5, 2, -4};
  const double rows[] = {4, 0, 5};
  std::vector<double> draws, drawn_means;
  Stream stream(9, "mask", 4), kept_stream(9, "means", 4);
  for (int64_t i = 0; i < K * R * C; ++i) draws.push_back(double(uniform_from_bits(stream.bits())));
  for (int64_t i = 0; i < K * C; ++i) drawn_means.push_back(double(uniform_from_bits(kept_stream.bits())));
  const Tensor data = array({6, R, C}, {1, -2, 3, 0.5, 0, -1.5, 7, 2, 2, 5, -3});
  for (const ProgramOptions& options :
       {ProgramOptions{.threads = 3}, ProgramOptions{.fuse = false}, ProgramOptions{.plain = true}}) {
    Check c;
    const Expr all = c.input("data", data.clone()), at = c.input("at", array({K}, {4, 0, 5}, DType::i32));
    const Expr v = c.input("v", array({K, 1, 1}, of_stack)), w = c.input("w", array({1, 1, C}, of_column));
    const auto places = [&](int axis) { return Expr(c.graph, iota(c.graph, {K, R, C}, axis)); };
    const auto drawn = [&](const Shape& shape, const char* name) {
      return Expr(c.graph, uniform(c.graph, shape, 9, name));
    };
    const Expr x = Expr(c.graph, gather(c.graph, all, at)) * v + places(0) - places(1) + places(2) * w;
    const Expr average = mean(x, {1}), least = reduce("min", x - average, {1});
    c.graph.output("mean", average * w + drawn({K, 1, C}, "means"));
    c.graph.output("y", (x - average - least) * w + drawn({K, R, C}, "mask"));
    c.graph.output("all", sum(least * v, {0, 1, 2}));
    auto got = c.run(options, 4);
    INFO(R << " x " << C << (options.plain ? " plain" : options.fuse ? " fused" : " kernel by kernel"));
    double total = 0, worst = 0;
    for (int64_t k = 0; k < K; ++k)
      for (int64_t n = 0; n < C; ++n) {
        const double by = of_stack[size_t(k)], column = of_column[size_t(n % 4)];
        const auto number = [&](int64_t r) {
          return data.at((int64_t(rows[k]) * R + r) * C + n) * by + double(k - r) + double(n) * column;
        };
        double sum = 0, smallest = INFINITY;
        for (int64_t r = 0; r < R; ++r) sum += number(r), smallest = std::min(smallest, number(r));
        const double middle = sum / double(R), below = smallest - middle;
        total += below * by;
        const auto off = [&](double value, double expected) {
          worst = std::max(worst, std::fabs(value - expected) / std::max(1.0, std::fabs(expected)));
        };
        off(got["mean"][size_t(k * C + n)], middle * column + drawn_means[size_t(k * C + n)]);
        for (int64_t r = 0; r < R; ++r) {
          const auto i = size_t((k * R + r) * C + n);
          off(got["y"][i], (number(r) - middle - below) * column + draws[i]);
        }
      }
    CHECK(worst < 1e-6);
    CHECK(got["all"][0] == Approx(total).epsilon(1e-5));
    if (options.fuse && !options.plain) CHECK(lower(c.graph).kernels.size() == 1);
  }
}

TEST_CASE("a number beside an array is added up once") {
  Check c;
  Expr x = c.input("x", array({300, 20}, {1})), s = c.input("s", array({1, 1}, {3}));
  Expr doubled = s * 2.0;
  c.graph.output("total", sum(doubled, {0, 1}));
  c.graph.output("y", sum(x * doubled, {0, 1}));
  c.expect("total", {6});
  c.expect("y", {36000});
  c.agree();
}

TEST_CASE("a total is taken before a result is stored over its operand") {
  Check c;
  Expr x = c.input("x", array({50, 50}, {2})), w = c.input("w", array({50, 50}, {1}));
  Expr made(c.graph, matmul(c.graph, x, w));  // 100 everywhere, in the arena
  c.graph.output("total", sum(made, {0, 1}));
  c.graph.output("y", made * -1.0);
  c.expect("total", {250000});
  c.agree();
}

TEST_CASE("a draw does not depend on what it is fused with") {
  // Element k of the stream is what the k-th call of the host's reader gives.
  std::vector<double> drawn;
  Stream stream(9, "mask", 4);
  for (int i = 0; i < 6; ++i) drawn.push_back(double(uniform_from_bits(stream.bits())));
  for (const ProgramOptions& options :
       {ProgramOptions{}, ProgramOptions{.fuse = false}, ProgramOptions{.plain = true}}) {
    Check c;
    Expr x = c.input("x", array({6, 4}, {1}));
    Expr rows(c.graph, uniform(c.graph, {6, 1}, 9, "mask"));
    c.graph.output("each", rows);
    c.graph.output("repeated", x * rows);
    c.graph.output("means", sum(x * rows, {1}) * 0.25);
    c.graph.output("total", sum(rows, {0, 1}) * Expr(c.graph, uniform(c.graph, {1, 1}, 9, "mask")));
    auto got = c.run(options, 4);
    double total = 0;
    for (size_t i = 0; i < 6; ++i) {
      total += drawn[i];
      CHECK(got["each"][i] == drawn[i]);
      CHECK(got["means"][i] == drawn[i]);
      for (size_t k = 0; k < 4; ++k) CHECK(got["repeated"][4 * i + k] == drawn[i]);
    }
    CHECK(got["total"][0] == Approx(total * drawn[0]));
  }
}

TEST_CASE("an index along an axis of one is 0, however often it is repeated") {
  Check c;
  Expr x = c.input("x", array({2, 3}, {1}));
  Expr first(c.graph, iota(c.graph, {2, 1}, 1)), second(c.graph, iota(c.graph, {1, 3}, 1));
  c.graph.output("y", x * first);
  c.graph.output("z", x * second);
  c.expect("y", {0, 0, 0, 0, 0, 0});
  c.expect("z", {0, 1, 2, 0, 1, 2});
  c.agree();
}

TEST_CASE("a cast to integers rounds and saturates, also inside a kernel") {
  Check c;
  Expr x = c.input("x", array({5}, {1.4, 2.5, -1.6, 300, -7}));
  c.graph.output("y", cast(cast(x, DType::i8), DType::f32) * 2.0);
  c.expect("y", {2, 4, -4, 254, -14});
  c.agree();
}

TEST_CASE("large integers come through whole") {
  Check c;
  const double large = (1 << 24) + 1;
  Expr x = c.input("x", array({2, 1}, {large, 3}, DType::i32));
  Expr at = c.input("at", array({2}, {1, 0}, DType::i32));
  c.graph.output("y", Expr(c.graph, gather(c.graph, x, at)));
  c.graph.output("z", cast(x, DType::i64));
  c.expect("y", {3, large});
  c.expect("z", {large, 3});
  c.agree();
}

TEST_CASE("argmax of 16-bit numbers counts beyond what 16 bits hold") {
  std::vector<double> values(3001, 0);
  values[2999] = 1;
  for (DType dtype : {DType::bf16, DType::f16}) {
    Check c;
    Expr x = c.input("x", array({1, 3001}, values, dtype));
    c.graph.output("y", reduce("argmax", x, {1}));
    CHECK(c.graph.dtype(c.graph.outputs().at("y")) == DType::f32);
    auto got = c.run({});
    CHECK(got["y"][0] == 2999);
  }
}

TEST_CASE("where a rectifier is cut nothing comes back, though the cut is rounded down in 16 bits") {
  const auto [dtype, cut] = GENERATE(std::pair(DType::bf16, 0.7), std::pair(DType::f16, 0.1));
  const double half = cut / 2;
  Check c;
  Expr x = c.variable("x", array({4}, {-1, half, 1, 2}, dtype));
  Expr y = apply("relu_clip", x, x.constant(0.25), x.constant(cut));
  const Value wanted[] = {x};
  c.graph.output("y", y);
  c.graph.output("dx", *gradients(c.graph, y, wanted, c.input("g", array({4}, {1, 1, 1, 1}, dtype))).begin());
  REQUIRE(array({1}, {cut}, dtype).at(0) < cut);
  c.expect("dx", {0.25, 1, 0, 0});
  c.agree();
}

TEST_CASE("numbers meet in the wider type") {
  Check c;
  Expr x = c.input("x", array({}, {1}, DType::f64));
  Expr y = 1.0 / 3.0 + x * 0.1;
  c.graph.output("y", y);
  CHECK(y.dtype() == DType::f64);
  for (bool plain : {false, true}) CHECK(c.run({.plain = plain})["y"][0] == Approx(1.0 / 3.0 + 0.1).epsilon(1e-15));
  // Numbers without axes among themselves; two kinds of 16 bits are both exact in 32.
  const auto met = [&](DType a, DType b) {
    const Value first = c.graph.constant(1, a), second = c.graph.constant(1, b);
    CHECK(c.graph.dtype(c.graph.add("add", {first, second})) == c.graph.dtype(c.graph.add("add", {second, first})));
    return c.graph.dtype(c.graph.add("add", {first, second}));
  };
  CHECK(met(DType::f32, DType::f64) == DType::f64);
  CHECK(met(DType::f16, DType::f64) == DType::f64);
  CHECK(met(DType::f16, DType::f32) == DType::f32);
  CHECK(met(DType::f16, DType::bf16) == DType::f32);
}

TEST_CASE("the sum of what max pooling's gradient spreads, over pixels and over other axes") {
  // Windows of 3 that overlap; the gradient of each of y's 2 x 2 maxima is 1, 2, 3, ... in every one of two channels.
  // x grows to the right and down, so the maxima of windows at (0,0), (0,1), (1,0), (1,1) stand at (1,1), (1,2), (2,1)
  // and (2,2) of 3 x 3.
  Check c;
  std::vector<double> growing;
  for (int i = 0; i < 18; ++i) growing.push_back(i);
  const Expr x = c.input("x", array({1, 3, 3, 2}, growing)),
             g = c.input("g", array({1, 2, 2, 2}, {1, 10, 2, 20, 3, 30, 4, 40}));
  using Axes = std::vector<int64_t>;
  const Attributes windows = {
      {"window", Axes{3, 3, 1}}, {"strides", Axes{1, 1, 1}}, {"padding", Axes{1, 0, 1, 0, 0, 0}}};
  const auto pooled = c.graph.add_all("pool_max", {x}, windows);
  REQUIRE(c.graph.shape(pooled[0]) == Shape{1, 2, 2, 2});
  const Expr spread(c.graph, c.graph.add("pool_max_gradient", {g, pooled[1]}, windows.with("sizes", Axes{3, 3, 2})));
  c.graph.output("channels", sum(spread, {0, 1, 2}));
  c.graph.output("all", sum(spread, {0, 1, 2, 3}));
  c.graph.output("rows", sum(spread, {0, 2, 3}));
  c.expect("channels", {10, 100});
  c.expect("all", {110});
  c.expect("rows", {0, 33, 77});
  c.agree();
}

TEST_CASE("errors name what is wrong") {
  Graph graph;
  Expr x(graph, graph.input("x", DType::f32, {2, 3}));
  CHECK_THROWS_WITH(reduce("sum", x, {0, 0}), "axis 0 to reduce is named twice");
  CHECK_THROWS_WITH(graph.add("concat", {}, {{"axis", int64_t(0)}}), "concat takes at least one array");
  graph.output("y", x * 2.0);
  for (bool plain : {false, true}) {
    Variables variables;
    const auto program = compile_for_cpu(graph, variables, {.plain = plain});
    CHECK_THROWS_WITH(program->run(0), "input 'x' of the program was not bound before it ran");
  }
  Graph looked_up;
  Expr data(looked_up, looked_up.input("data", DType::f32, {3, 2}));
  looked_up.output("y", gather(looked_up, data, looked_up.input("at", DType::i32, {2})));
  const Tensor rows = array({3, 2}, {1}), at = array({2}, {1, 3}, DType::i32);
  for (bool plain : {false, true}) {
    Variables variables;
    const auto program = compile_for_cpu(looked_up, variables, {.plain = plain});
    program->bind("data", rows.data());
    program->bind("at", at.data());
    CHECK_THROWS_WITH(program->run(0), "index 3 at place 1 is not in [0, 3)");
  }
}
