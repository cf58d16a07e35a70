// Arrays: making them, views, assignment, expressions, reductions, messages.
#include <algorithm>

#include "neon/array/node.h"
#include "support.h"

using namespace neon;
using namespace neon::test;

namespace {

constexpr double kEps32 = 1.2e-7;

}  // namespace

TEST_CASE("what a backend is made with reaches its programs") {
  CHECK_FALSE(device_of({}).gpu);
  CHECK_FALSE(device_of({.tf32 = true}).timed);
  CHECK_FALSE(device_of({.timed = true}).tf32);
  const DeviceOptions gpu = device_of({.device = "gpu", .device_index = 3, .threads = 2, .tf32 = true, .timed = true});
  CHECK(gpu.gpu);
  CHECK(gpu.gpu_index == 3);
  CHECK(gpu.program.threads == 2);
  CHECK(gpu.tf32);
  CHECK(gpu.timed);
  // They are the GPU's: on the CPU the same numbers come out.
  Backend plain, other({.tf32 = true, .timed = true});
  const Tensor x = numbers({3, 7}, DType::f32), y = numbers({7, 5}, DType::f32);
  const Tensor a = Array(dot(plain.array(x), plain.array(y))).get(),
               b = Array(dot(other.array(x), other.array(y))).get();
  CHECK(std::memcmp(a.data(), b.data(), a.bytes()) == 0);
}

TEST_CASE("arrays hold what they are made of, in every type") {
  Backend be = make_backend();
  for (DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i64, DType::i32, DType::i8, DType::u8}) {
    INFO(std::string(name_of(dtype)));
    const Tensor x = numbers({3, 5}, dtype);
    const Array a = be.array(x);
    CHECK(a.dtype() == dtype);
    check(a.get(), {3, 5}, [&](const Index& i) { return at(x, i); });
    check(be.full({2, 3}, 7, dtype).get(), {2, 3}, [](const Index&) { return 7; });
    check(be.zeros({4}, dtype).get(), {4}, [](const Index&) { return 0; });
    Array copy = be.empty({3, 5}, dtype);
    copy.assign(a);
    check(copy.get(), {3, 5}, [&](const Index& i) { return at(x, i); });
    copy.set(numbers({3, 5}, DType::f32, 3));
    check(a.get(), {3, 5}, [&](const Index& i) { return at(x, i); });
  }
  CHECK(be.ones({2}).dtype() == DType::f32);
  CHECK(make_backend(DType::f16).ones({2}).dtype() == DType::f16);
  CHECK(be.array({1.5}, {1}).item() == 1.5);
  check(be.index({2, 3}, 1).cast(DType::i32).node() ? Array(be.index({2, 3}, 1)).get() : Tensor(), {2, 3},
        [](const Index& i) { return double(i[1]); });
}

TEST_CASE("arrays are made of vectors of either type") {
  Backend be = make_backend(DType::f16);
  CHECK(be.array(std::vector<double>{1, 2, 3, 4}, {2, 2}).dtype() == DType::f16);
  const Tensor made = be.array(std::vector<float>{1, 2.5f, -3, 4}, {2, 2}).get();
  CHECK(made.dtype() == DType::f32);
  CHECK(made.at(1) == 2.5);
  CHECK(made.at(2) == -3);
}

TEST_CASE("a copy is another name, assign writes the elements") {
  Backend be = make_backend();
  Array a = be.array({1, 2, 3}, {3});
  Array b = a;
  b.assign(a * 2);
  check(a.get(), {3}, [](const Index& i) { return 2.0 * double(i[0] + 1); });
  b = a + 1;  // a new array of that name
  check(a.get(), {3}, [](const Index& i) { return 2.0 * double(i[0] + 1); });
  check(b.get(), {3}, [](const Index& i) { return 2.0 * double(i[0] + 1) + 1; });
  a += 1, a *= b, a -= 2, a /= 4;
  check(a.get(), {3}, [](const Index& i) { return (std::pow(2.0 * double(i[0] + 1) + 1, 2) - 2) / 4; });
}

TEST_CASE("every kind of view is read") {
  Backend be = make_backend();
  const Tensor x = numbers({4, 6, 5}, DType::f32);
  const Array a = be.array(x);
  auto value = [&](int64_t i, int64_t j, int64_t k) { return at(x, {i, j, k}); };
  check(a.slice(0, 1, 2).get(), {2, 6, 5}, [&](const Index& i) { return value(i[0] + 1, i[1], i[2]); });
  check(a.slice(1, 2, 3).get(), {4, 3, 5}, [&](const Index& i) { return value(i[0], i[1] + 2, i[2]); });
  check(a.slice(-1, 4, 1).get(), {4, 6, 1}, [&](const Index& i) { return value(i[0], i[1], 4); });
  check(a.slice(0, 3, 1).slice(1, 1, 2).get(), {1, 2, 5}, [&](const Index& i) { return value(3, i[1] + 1, i[2]); });
  check(a.T().get(), {5, 6, 4}, [&](const Index& i) { return value(i[2], i[1], i[0]); });
  check(a.transpose({-1, 0, -2}).get(), {5, 4, 6}, [&](const Index& i) { return value(i[1], i[2], i[0]); });
  check(a.transpose({1, 0, 2}).get(), {6, 4, 5}, [&](const Index& i) { return value(i[1], i[0], i[2]); });
  check(a.reshape({6, -1}).get(), {6, 20}, [&](const Index& i) { return x.at(i[0] * 20 + i[1]); });
  check(a.T().reshape({-1}).slice(0, 7, 20).get(), {20}, [&](const Index& i) {
    const int64_t flat = i[0] + 7;
    return value(flat % 4, flat / 4 % 6, flat / 24);
  });
  // Rows of 5 f32 do not begin where kernels can: those of f64 neither.
  const Array wide = be.array(x.converted(DType::f64));
  check(
      (wide.slice(0, 1, 1).slice(1, 1, 1) + 0).node() ? Array(wide.slice(0, 1, 1).slice(1, 1, 1) + 0).get() : Tensor(),
      {1, 1, 5}, [&](const Index& i) { return value(1, 1, i[2]); });
}

TEST_CASE("what is assigned to a view is in the array, and nothing else has changed") {
  for (DType dtype : {DType::f32, DType::f16, DType::u8}) {
    Backend be = make_backend();
    const Tensor x = numbers({4, 6, 5}, dtype), one = numbers({6, 5}, dtype, 1);
    auto fresh = [&] { return be.array(x); };
    INFO(std::string(name_of(dtype)));
    Array a = fresh();
    a.slice(0, 2, 1).assign(be.array(one));
    check(a.get(), {4, 6, 5}, [&](const Index& i) { return i[0] == 2 ? at(one, {i[1], i[2]}) : at(x, i); });
    a = fresh();
    a.slice(1, 1, 3).assign(9);
    check(a.get(), {4, 6, 5}, [&](const Index& i) { return i[1] >= 1 && i[1] < 4 ? 9 : at(x, i); });
    a = fresh();
    a.slice(2, 4, 1).slice(0, 1, 2).assign(9);
    check(a.get(), {4, 6, 5}, [&](const Index& i) { return i[2] == 4 && (i[0] == 1 || i[0] == 2) ? 9 : at(x, i); });
    a = fresh();
    a.T().slice(0, 0, 1).assign(be.array({1, 2, 3, 4}, {4}));
    check(a.get(), {4, 6, 5}, [&](const Index& i) { return i[2] == 0 ? double(i[0] + 1) : at(x, i); });
    a = fresh();
    a.reshape({8, 15}).slice(0, 1, 1).assign(3);
    check(a.get(), {4, 6, 5}, [&](const Index& i) { return i[0] == 0 && i[1] >= 3 ? 3 : at(x, i); });
    a = fresh();
    a.slice(1, 0, 2).set(Tensor(DType::f32, {4, 2, 5}));
    check(a.get(), {4, 6, 5}, [&](const Index& i) { return i[1] < 2 ? 0 : at(x, i); });
  }
}

TEST_CASE("an assignment reads what was there before, however views overlap") {
  Backend be = make_backend();
  const Tensor x = numbers({64, 8}, DType::f32);
  Array a = be.array(x);
  a.slice(0, 2, 62).assign(a.slice(0, 0, 62));
  check(a.get(), {64, 8}, [&](const Index& i) { return i[0] < 2 ? at(x, i) : at(x, {i[0] - 2, i[1]}); });
  a = be.array(x);
  a.slice(0, 0, 62).assign(a.slice(0, 2, 62) + a.slice(0, 0, 62));
  check(a.get(), {64, 8}, [&](const Index& i) { return i[0] < 62 ? at(x, {i[0] + 2, i[1]}) + at(x, i) : at(x, i); });
  a = be.array(x);
  a.assign(a - sum(a, 0));
  check(a.get(), {64, 8}, [&](const Index& i) {
    double sum = 0;
    for (int64_t k = 0; k < 64; ++k) sum += at(x, {k, i[1]});
    return at(x, i) - sum;
  });
  Array square = be.array(numbers({16, 16}, DType::f32));
  const Tensor before = square.get();
  square.assign(square.T());
  check(square.get(), {16, 16}, [&](const Index& i) { return at(before, {i[1], i[0]}); });
  square.assign(dot(square, square));
  check(square.get(), {16, 16}, [&](const Index& i) {
    double sum = 0;
    for (int64_t k = 0; k < 16; ++k) sum += at(before, {k, i[0]}) * at(before, {i[1], k});
    return sum;
  });
  square.reshape({256}).assign(square.T().reshape({256}));
  CHECK(square.get().at(1) == Approx(Array(square.T()).get().at(16)));
  // Two arrays change places.
  Array p = be.array({1, 2}, {2}), q = be.array({3, 4}, {2});
  be.assign({{p, q}, {q, p}});
  CHECK((p.get().at(1) == 4 && q.get().at(1) == 2));
}

TEST_CASE("operands of all types meet in f32, or f64, and broadcast") {
  Backend be = make_backend();
  for (DType left : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i32, DType::i8, DType::u8})
    for (DType right : {DType::f64, DType::f32, DType::f16, DType::u8}) {
      INFO(std::string(name_of(left)) << " and " << std::string(name_of(right)));
      const Tensor x = numbers({5, 1, 7}, left), y = numbers({3, 1}, right, 1);
      const Array got = be.array(x) * be.array(y) - 0.5;
      CHECK(got.dtype() == (left == DType::f64 || right == DType::f64 ? DType::f64 : DType::f32));
      check(got.get(), {5, 3, 7}, [&](const Index& i) { return at(x, i) * at(y, i) - 0.5; });
    }
  // f64 is not squeezed through f32.
  const Array third = be.full({3}, 1, DType::f64) / 3;
  CHECK(third.get().at(0) == 1.0 / 3);
}

TEST_CASE("stored integers are whole and saturate, stored f16 is rounded to the nearest") {
  Backend be = make_backend();
  Array bytes = be.empty({5}, DType::u8), small = be.empty({5}, DType::i8), half = be.empty({3}, DType::f16);
  const Array x = be.array({-3, 0.5, 1.5, 254.6, 300}, {5});
  bytes.assign(x), small.assign(x);
  const double as_bytes[] = {0, 0, 2, 255, 255}, as_small[] = {-3, 0, 2, 127, 127};
  check(bytes.get(), {5}, [&](const Index& i) { return as_bytes[i[0]]; });
  check(small.get(), {5}, [&](const Index& i) { return as_small[i[0]]; });
  half.assign(be.array({2049, 2051, 70000}, {3}));
  const double as_half[] = {2048, 2052, HUGE_VAL};
  check(half.get(), {3}, [&](const Index& i) { return as_half[i[0]]; });
}

TEST_CASE("named functions are the functions of their names") {
  Backend be = make_backend();
  const Tensor x = numbers({4, 9}, DType::f32), y = numbers({4, 9}, DType::f32, 1);
  const Array a = be.array(x), b = be.array(y);
  struct Case {
    const char* name;
    Lazy value;
    double (*expected)(double, double);
  };
  const std::vector<Case> cases = {
      {"-", -a, [](double p, double) { return -p; }},
      {"/", a / (b + 3), [](double p, double q) { return p / (q + 3); }},
      {"==", a == b, [](double p, double q) { return double(p == q); }},
      {"!=", a != b, [](double p, double q) { return double(p != q); }},
      {"<", a < b, [](double p, double q) { return double(p < q); }},
      {"<=", a <= 0.5, [](double p, double) { return double(p <= 0.5); }},
      {">", a > b, [](double p, double q) { return double(p > q); }},
      {">=", 0.5 >= b, [](double, double q) { return double(0.5 >= q); }},
      {"abs", abs(a), [](double p, double) { return std::fabs(p); }},
      {"exp", exp(a), [](double p, double) { return std::exp(p); }},
      {"exp2", exp2(a), [](double p, double) { return std::exp2(p); }},
      {"finite", finite(a / b), [](double p, double q) { return double(std::isfinite(p / q)); }},
      {"log", log(a + 4), [](double p, double) { return std::log(p + 4); }},
      {"log2", log2(a + 4), [](double p, double) { return std::log2(p + 4); }},
      {"reciprocal", reciprocal(a + 4), [](double p, double) { return 1 / (p + 4); }},
      {"relu", relu(a), [](double p, double) { return std::fmax(p, 0); }},
      {"rint", rint(a), [](double p, double) { return std::rint(p); }},
      {"safelog", safelog(a), [](double p, double) { return std::fmax(std::log(std::fmax(p, 1e-300)), -50); }},
      {"sgn", sgn(a), [](double p, double) { return double((p > 0) - (p < 0)); }},
      {"sig", sig(a), [](double p, double) { return 1 / (1 + std::exp(-p)); }},
      {"sig2", sig2(a), [](double p, double) { return 1 / (1 + std::exp2(-p)); }},
      {"sqrt", sqrt(a + 4), [](double p, double) { return std::sqrt(p + 4); }},
      {"square", square(a), [](double p, double) { return p * p; }},
      {"tanh", tanh(a), [](double p, double) { return std::tanh(p); }},
      {"tanh2", tanh2(a), [](double p, double) { return std::tanh(p * std::log(2.0)); }},
      {"maximum", maximum(a, b), [](double p, double q) { return std::fmax(p, q); }},
      {"minimum", minimum(a, 0), [](double p, double) { return std::fmin(p, 0); }},
      {"power", power(a + 4, b), [](double p, double q) { return std::pow(p + 4, q); }},
      {"shift", shift(a, b + 4), [](double p, double q) { return p * std::exp2(std::rint(std::log2(q + 4))); }},
      {"clip", clip(a, -1, 0.5), [](double p, double) { return std::fmin(std::fmax(p, -1), 0.5); }},
      {"where", where(a > 0, b, 7), [](double p, double q) { return p > 0 ? q : 7; }},
      {"gelu", apply("gelu", a), [](double p, double) { return p / 2 * (1 + std::erf(p / std::sqrt(2.0))); }},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    check(
        Array(c.value).get(), {4, 9}, [&](const Index& i) { return c.expected(at(x, i), at(y, i)); }, 60 * 16 * kEps32);
  }
}

TEST_CASE("reductions over each axis and over all") {
  Backend be = make_backend();
  for (DType dtype : {DType::f32, DType::f16, DType::u8, DType::f64}) {
    const Tensor x = numbers({6, 9}, dtype);
    const Array a = be.array(x);
    auto fold = [&](int axis, const Index& kept, const char* what) {
      std::vector<double> v;
      each_index({6, 9}, [&](const Index& i) {
        if (axis == 2 || i[size_t(1 - axis)] == kept[size_t(1 - axis)]) v.push_back(at(x, i));
      });
      double sum = 0, squares = 0;
      for (double p : v) sum += p;
      for (double p : v) squares += (p - sum / double(v.size())) * (p - sum / double(v.size()));
      const std::string name = what;
      return name == "sum"      ? sum
             : name == "mean"   ? sum / double(v.size())
             : name == "var"    ? squares / double(v.size())
             : name == "stddev" ? std::sqrt(squares / double(v.size()))
             : name == "max"    ? *std::ranges::max_element(v)
             : name == "min"    ? *std::ranges::min_element(v)
             : name == "argmax" ? double(std::ranges::max_element(v) - v.begin())
                                : double(std::ranges::min_element(v) - v.begin());
    };
    for (int axis : {0, 1}) {
      const std::pair<const char*, Lazy> all[] = {
          {"sum", sum(a, axis)},     {"mean", mean(a, axis)}, {"var", var(a, axis)},       {"stddev", stddev(a, axis)},
          {"max", max(a, axis - 2)}, {"min", min(a, axis)},   {"argmax", argmax(a, axis)}, {"argmin", argmin(a, axis)}};
      for (const auto& [name, value] : all) {
        INFO(name << " over " << axis << " of " << std::string(name_of(dtype)));
        check(
            Array(value).get(), axis ? Shape{6, 1} : Shape{1, 9},
            [&, what = name](const Index& i) { return fold(axis, i, what); }, 1e-3);
      }
    }
    const std::pair<const char*, Lazy> all[] = {{"sum", sum(a)},       {"mean", mean(a)}, {"var", var(a)},
                                                {"stddev", stddev(a)}, {"max", max(a)},   {"min", min(a)}};
    for (const auto& [name, value] : all) {
      INFO(name << " of " << std::string(name_of(dtype)));
      check(
          Array(value).get(), {1, 1}, [&, what = name](const Index& i) { return fold(2, i, what); }, 1e-3);
    }
  }
}

TEST_CASE("mistakes are told in one line") {
  Backend be = make_backend();
  const Array a = be.ones({2, 3}), b = be.ones({4});
  CHECK_THROWS_WITH(a + b, Catch::Contains("shapes (2, 3) and (4) do not broadcast"));
  CHECK_THROWS_WITH(dot(a, a), Catch::Contains("inner sizes 3 and 2 differ"));
  CHECK_THROWS_WITH(a.reshape({4, 2}), "cannot reshape (2, 3) with 6 elements to (4, 2) with 8");
  CHECK_THROWS_WITH(a.reshape({-1, -1}), Catch::Contains("one at most"));
  CHECK_THROWS_WITH(a.slice(1, 2, 2), Catch::Contains("2 elements from 2 on of axis 1 are not in (2, 3)"));
  CHECK_THROWS_WITH(a.slice(0, INT64_MAX, 2), Catch::Contains("of axis 0 are not in (2, 3)"));
  CHECK_THROWS_WITH(a.slice(0, 1, INT64_MAX), Catch::Contains("of axis 0 are not in (2, 3)"));
  CHECK_THROWS_WITH(a.transpose({0, 0}), "axes (0, 0) are no permutation of the axes of (2, 3)");
  CHECK_THROWS_WITH(a.transpose({0, -3}), "axis -3 is no axis of (2, 3)");
  CHECK_THROWS_WITH(sum(a, 2), "axis 2 is no axis of (2, 3)");
  CHECK_THROWS_WITH(apply("rleu", a), Catch::Contains("did you mean relu"));
  CHECK_THROWS_WITH(apply("exp", a, a), "function 'exp' takes 1 operands, not 2");
  CHECK_THROWS_WITH(Array(a).assign(b), Catch::Contains("(2, 3)"));
  CHECK_THROWS_WITH(Array(b).assign(be.ones({2, 4})), "cannot assign (2, 4) to an array of (4)");
  CHECK_THROWS_WITH(Array(a).set(Tensor(DType::f32, {3, 2})), "cannot set an array of (2, 3) to (3, 2)");
  CHECK_THROWS_WITH(be.array(Tensor()), "cannot set an array of () to a tensor without elements in memory");
  CHECK_THROWS_WITH(be.ones({2}).get().as<double>(),
                    "a tensor of f32 is no array of f64; converted(DType::f64) makes one");
  CHECK_THROWS_WITH(be.uniform({2}, 3, 1), "uniform: low 3 is above high 1");
  CHECK_THROWS_WITH(be.normal({2}, 0, -1), "normal: the standard deviation -1 is below 0");
  CHECK_THROWS_WITH(be.mask({2}, 1.5), "mask: 1.5 is no probability, from 0 to 1");
  CHECK_THROWS_WITH(onehot(b, 3), "onehot takes integers, i32, not f32; cast(DType::i32) rounds them");
  Array rows = be.ones({2, 3});
  CHECK_THROWS_WITH(compound_dot(be.ones({1, 2}), a, rows), "a product of (1, 3) does not fit an array of (2, 3)");
  Array stack = be.ones({2, 2, 2});
  CHECK_THROWS_WITH(batched_dot(be.ones({2, 1, 3}), be.ones({2, 3, 2}), stack),
                    "a product of (2, 1, 2) does not fit an array of (2, 2, 2)");
  CHECK_THROWS_WITH(Array(Lazy(1) + 2), Catch::Contains("numbers alone"));
  CHECK_THROWS_WITH(a.item(), Catch::Contains("one element, not of (2, 3)"));
}

TEST_CASE("mistakes about backends and parts of arrays are told in one line") {
  Backend be = make_backend();
  const Array a = be.ones({2, 3}), b = be.ones({4});
  CHECK_THROWS_WITH(Backend({.device = "cup"}), "device 'cup' is not one of cpu, gpu; did you mean cpu?");
  CHECK_THROWS_WITH(Backend({.threads = -3}), "threads -3 is below 0; 0 takes as many as there are");
  CHECK_THROWS_WITH(Backend({.program_bytes = -1}), "program_bytes -1 is below 0");
  CHECK_THROWS_WITH(a + make_backend().ones({2, 3}), Catch::Contains("arrays of two backends"));
  const Array others = make_backend().ones({2, 3});
  CHECK_THROWS_WITH(Array(a).assign(others), Catch::Contains("arrays of two backends"));
  CHECK_THROWS_WITH(be.assign({{a, a * 2}, {others, others * 2}}), Catch::Contains("to an array of another backend"));
  CHECK_THROWS_WITH(Autodiff(a * a, others), Catch::Contains("arrays of two backends"));
  CHECK_THROWS_WITH(Autodiff(a * a).gradient(others), Catch::Contains("arrays of two backends"));
  CHECK_THROWS_WITH(Autodiff(a * a).back_prop({a}, {others}), Catch::Contains("arrays of two backends"));
  CHECK_THROWS_WITH(be.empty({int64_t(1) << 61}, DType::f64), Catch::Contains("more than 2^59 elements"));
  CHECK_THROWS_WITH(be.empty({int64_t(1) << 55}, DType::f64), Catch::Contains("for an array"));
  CHECK_THROWS_WITH(be.array({1, 2}, {3}), "2 values do not fill (3), which has 3");
  CHECK_THROWS_WITH(take(a, b), Catch::Contains("i32 indices"));
  CHECK_THROWS_WITH(be.assign({{a, b.reshape({4, 1}).slice(0, 0, 2)}, {a.slice(0, 1, 1), 1}}),
                    Catch::Contains("same elements"));
  CHECK_THROWS_WITH(be.assign({{a.slice(1, 0, 1), 1}, {a.slice(1, 1, 1), 2}}),
                    Catch::Contains("parts of one array that do not lie together in memory"));
  CHECK_THROWS_WITH(be.assign({{a.slice(0, 0, 1), 1}, {a.slice(0, 1, 1), 2}}),
                    Catch::Contains("each from a multiple of 16 bytes on"));
  CHECK_THROWS_WITH(a.reshape({int64_t(1) << 33, int64_t(1) << 33, -1}), Catch::Contains("more than 2^59 elements"));
  CHECK_THROWS_WITH(Array(a).round_by_chance(16), Catch::Contains("not 16 of f32"));
  Lazy deep = a;
  CHECK_THROWS_WITH(
      [&] {
        for (int i = 0; i < 5000; ++i) deep = deep + 1;
      }(),
      Catch::Contains("more than 4000 operations deep"));
}

TEST_CASE("arrays of nothing, and of one number") {
  Backend be = make_backend();
  Array none = be.zeros({0, 3});
  none.assign(none + 1);
  CHECK(Array(none * 2).get().shape() == Shape{0, 3});
  CHECK(Array(sum(none, 0)).get().at(2) == 0);
  Array one = be.full({}, 2.5);
  one.assign(one * one);
  CHECK(one.item() == 6.25);
  check(Array(one + be.ones({2, 2})).get(), {2, 2}, [](const Index&) { return 7.25; });
}
