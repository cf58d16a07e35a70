// Gradients of expressions against central differences, and by formula; in f64, as the rules have tests of their own.
#include "neon/array/node.h"
#include "support.h"

using namespace neon;
using namespace neon::test;

namespace {

double total_of(const Lazy& output, const Tensor& seed, Backend& be) {
  return Array(sum(output * be.array(seed))).item();
}

}  // namespace

TEST_CASE("gradients are the slopes of the expression") {
  Backend be = make_backend(DType::f64);
  Array x = be.array(numbers({4, 3}, DType::f64)), y = be.array(numbers({3}, DType::f64, 1)),
        w = be.array(numbers({3, 5}, DType::f64, 2));
  const auto expressions = [&] {
    return std::vector<Lazy>{
        tanh(dot(x * y, w)),
        (x - mean(x, 0)) / sqrt(var(x, 0) + 0.5) * y,
        exp(-square(x)).T() + sum(w) * y.reshape({3, 1}),
        dot(sig(x.slice(1, 0, 2)).reshape({2, 4}), take(sqrt(x * x + 1), be.array({0, 2, 2, 1}, {4}, DType::i32))),
        max(x, 1) * 0.5 + sum(dot(x, w), 1),
        split(x * 2, {1, 3})[1] * y + square(split(x, {1, 3})[1]) + split(x, {3, 1})[0],
        dot(split(x, {2, 1}, -1)[1], split(w, {1, 2})[0]),
    };
  };
  for (size_t which = 0; which < expressions().size(); ++which) {
    const Lazy output = expressions()[which];
    const Tensor seed = numbers(output.shape(), DType::f64, 9);
    const Autodiff derived(output, be.array(seed));
    for (Array* wanted : {&x, &y, &w}) {
      const Tensor got = Array(derived.gradient(*wanted)).get();
      const Tensor start = wanted->get();
      for (int64_t i = 0; i < start.elements(); ++i) {
        constexpr double h = 1e-5;
        Tensor moved = start.clone();
        moved.set(i, start.at(i) + h);
        wanted->set(moved);
        const double above = total_of(output, seed, be);
        moved.set(i, start.at(i) - h);
        wanted->set(moved);
        const double below = total_of(output, seed, be);
        INFO("expression " << which << ", element " << i);
        CHECK(got.at(i) == Approx((above - below) / (2 * h)).margin(1e-7).epsilon(1e-7));
      }
      wanted->set(start);
    }
  }
}

namespace {

// The values of a step between the kernels, of a recurrent net over a sequence (steps,4,8) and its gradients.
size_t bytes_of_sequence(int64_t steps) {
  constexpr int64_t rows = 16, units = 32;
  Backend be = make_backend();
  const Array x = be.array(numbers({steps, rows, units}, DType::f32)),
              u = be.array(numbers({units, units}, DType::f32, 1)),
              w = be.array(numbers({units, units}, DType::f32, 2));
  Lazy h = 0.0;
  for (const Lazy& step : split(x, std::vector<int64_t>(size_t(steps), 1)))
    h = tanh(dot(step.reshape({rows, units}), u) + (h.node()->kind == Lazy::Node::Kind::number ? h : dot(h, w)));
  Array dx = be.zeros(x.shape()), du = be.zeros(u.shape()), dw = be.zeros(w.shape());
  Autodiff(sum(h)).back_prop({x, u, w}, {dx, du, dw});
  return x.node()->state->programs.front().second.bytes();
}

}  // namespace

TEST_CASE("a sequence twice as long takes twice the memory") {
  const size_t of_64 = bytes_of_sequence(64), of_128 = bytes_of_sequence(128);
  CHECK(of_64 > 0);
  CHECK(double(of_128) < 2.2 * double(of_64));
}

TEST_CASE("parts of a split add up") {
  Backend be = make_backend();
  const Array x = be.ones({4, 3});
  CHECK_THROWS_WITH(split(x, {1, 2}), "parts of sizes=(1, 2) do not add up to axis 0 of (4, 3)");
  CHECK_THROWS_WITH(split(x, {}), "parts of sizes=() do not add up to axis 0 of (4, 3)");
  CHECK_THROWS_WITH(split(x, {5, -1}), "parts of sizes=(5, -1) do not add up to axis 0 of (4, 3)");
  CHECK_THROWS_WITH(split(x, {4}, 2), Catch::Contains("axis"));
}

TEST_CASE("gradients go on in expressions, and into arrays in one program") {
  Backend be = make_backend();
  const Array x = be.array({1, 2, 3}, {3}), y = be.array({4, 5, 6}, {3}), z = be.ones({3});
  const Autodiff derived(x * x * y);
  // d/dx = 2xy, d/dy = x^2
  check(Array(derived.gradient(x) + 1).get(), {3},
        [](const Index& i) { return double(2 * (i[0] + 1) * (i[0] + 4) + 1); });
  check(Array(derived.gradient(z)).get(), {3}, [](const Index&) { return 0; });
  Array dx = be.zeros({3}), dy = be.zeros({3}, DType::f16);
  const int64_t before = be.programs_compiled();
  derived.back_prop({x, y}, {dx, dy});
  CHECK(be.programs_compiled() == before + 1);
  check(dx.get(), {3}, [](const Index& i) { return double(2 * (i[0] + 1) * (i[0] + 4)); });
  check(dy.get(), {3}, [](const Index& i) { return double((i[0] + 1) * (i[0] + 1)); });
  CHECK_THROWS_WITH(Autodiff(derived.gradient(x) + 1), Catch::Contains("gradients have no gradients"));
  CHECK_THROWS_WITH(derived.gradient(be.zeros({3}, DType::i32)), Catch::Contains("there is no gradient of i32"));
  CHECK_THROWS_WITH(Autodiff(x, be.ones({2})), Catch::Contains("does not broadcast to the output, (3)"));
}

TEST_CASE("gradients of parts of arrays, and of arrays that are read in parts") {
  Backend be = make_backend();
  const Tensor values = numbers({6, 8}, DType::f32);
  const Array x = be.array(values);
  const Array top = x.slice(0, 0, 2), column = x.slice(1, 3, 1), flat = x.reshape({48}), turned = x.T();
  // sum(top^2) / 2 + sum(3 column) + sum(flat^3) / 3: x in the first rows, 3 in the column, x^2 everywhere
  const Autodiff derived(sum(square(top)) * 0.5 + sum(3 * column) + (sum(power(flat, 3)) * (1.0 / 3)).reshape({1, 1}));
  auto slope = [&](int64_t i, int64_t j) {
    const double v = at(values, {i, j});
    return (i < 2 ? v : 0) + (j == 3 ? 3 : 0) + v * v;
  };
  check(
      Array(derived.gradient(x)).get(), {6, 8}, [&](const Index& i) { return slope(i[0], i[1]); }, 1e-5);
  check(
      Array(derived.gradient(top)).get(), {2, 8}, [&](const Index& i) { return slope(i[0], i[1]); }, 1e-5);
  check(
      Array(derived.gradient(column)).get(), {6, 1}, [&](const Index& i) { return slope(i[0], 3); }, 1e-5);
  check(
      Array(derived.gradient(turned)).get(), {8, 6}, [&](const Index& i) { return slope(i[1], i[0]); }, 1e-5);
  check(
      Array(derived.gradient(flat)).get(), {48}, [&](const Index& i) { return slope(i[0] / 8, i[0] % 8); }, 1e-5);
  // An update of a part by the gradient of the whole.
  Array moved = x.slice(0, 0, 2);
  moved.assign(moved - 0.5 * derived.gradient(moved));
  check(
      x.get(), {6, 8}, [&](const Index& i) { return at(values, i) - (i[0] < 2 ? 0.5 * slope(i[0], i[1]) : 0); }, 1e-5);
}

TEST_CASE("a small net learns by hand-written steps") {
  // y = sin(x) on a grid, by two layers; the loss must fall a hundredfold.
  Backend be = make_backend();
  const int64_t n = 64, hidden = 16;
  const Array x = (be.index({n, 1}, 0) / (n / 6.0)) - 3, y = apply("sin", x);
  Array w1 = be.normal({1, hidden}), b1 = be.normal({1, hidden}), w2 = be.normal({hidden, 1}, 0, 0.3),
        b2 = be.zeros({1, 1});
  const std::vector<Array> weights = {w1, b1, w2, b2};
  const Lazy loss = mean(square(dot(tanh(dot(x, w1) + b1), w2) + b2 - y));
  const Autodiff derived(loss);
  const double first = Array(loss).item();
  std::vector<std::pair<Array, Lazy>> update;
  for (const Array& w : weights) update.push_back({w, w - 0.1 * derived.gradient(w)});
  be.assign(update);
  const int64_t compiled = be.programs_compiled();
  for (int step = 0; step < 2000; ++step) be.assign(update);
  CHECK(be.programs_compiled() == compiled);
  CHECK(Array(loss).item() < first / 100);
}
