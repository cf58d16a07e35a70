// What is read and written by lists of indices.
#include "support.h"

using namespace neon;
using namespace neon::test;

TEST_CASE("rows are taken along an axis, classes become ones") {
  Backend be = make_backend();
  const Tensor x = numbers({5, 4}, DType::f16);
  const Array a = be.array(x), at_rows = be.array({4, 0, 4}, {3}, DType::i32),
              labels = be.array({1, 3, 0}, {3}, DType::i32);
  const int64_t rows[] = {4, 0, 4}, columns[] = {1, 3, 0};
  check(Array(take(a, at_rows)).get(), {3, 4}, [&](const Index& i) { return at(x, {rows[i[0]], i[1]}); });
  check(Array(take(a, labels, 1)).get(), {5, 3}, [&](const Index& i) { return at(x, {i[0], columns[i[1]]}); });
  check(Array(onehot(labels, 5)).get(), {3, 5}, [&](const Index& i) { return double(i[1] == columns[i[0]]); });
  check(Array(onehot(labels, 5, 0)).get(), {5, 3}, [&](const Index& i) { return double(i[0] == columns[i[1]]); });
  check(Array(concatenate({a, a.slice(0, 1, 2)})).get(), {7, 4}, [&](const Index& i) {
    return at(x, {i[0] < 5 ? i[0] : i[0] - 4, i[1]});
  });
  CHECK_THROWS_WITH(Array(take(a, be.array({5}, {1}, DType::i32))).get(), "index 5 at place 0 is not in [0, 5)");
}

TEST_CASE("rows are put along an axis, of a place named twice the last") {
  for (DType dtype : {DType::f32, DType::f16, DType::f64, DType::i32}) {
    INFO(std::string(name_of(dtype)));
    Backend be = make_backend();
    const Tensor x = numbers({5, 4}, dtype), y = numbers({3, 4}, dtype, 1), z = numbers({5, 1}, dtype, 2);
    const auto list = [&](std::vector<double> at) { return be.array(at, {int64_t(at.size())}, DType::i32); };
    Array a = be.array(x);
    a.put(list({4, 0, 4}), be.array(y));
    check(a.get(), {5, 4}, [&](const Index& i) {
      return i[0] == 4 ? at(y, {2, i[1]}) : i[0] == 0 ? at(y, {1, i[1]}) : at(x, i);
    });
    a.set(x);
    a.put(list({1, 3}), be.array(z), 1);  // one column for both
    check(a.get(), {5, 4}, [&](const Index& i) { return i[1] % 2 ? at(z, {i[0], 0}) : at(x, i); });
    a.set(x);
    a.T().put(list({2}), 7.0);  // through a view
    check(a.get(), {5, 4}, [&](const Index& i) { return i[1] == 2 ? 7 : at(x, i); });
    a.set(x);
    a.put(list({2, 1}), take(a, list({1, 2})));  // what was there before
    check(a.get(), {5, 4}, [&](const Index& i) { return at(x, {i[0] == 1 ? 2 : i[0] == 2 ? 1 : i[0], i[1]}); });
    a.put(list({}), 1.0);
    a.set(x);
    const Lazy one = Lazy(1.0).broadcast({1, 4}), two = Lazy(2.0).broadcast({1, 4});  // numbers, but rows as well
    a.put(list({3, 0}), concatenate({one, two}));
    check(a.get(), {5, 4}, [&](const Index& i) { return i[0] == 3 ? 1 : i[0] == 0 ? 2 : at(x, i); });
    CHECK_THROWS_WITH(a.put(list({0, 5}), 1.0), "put: index 5 at place 1 is not in [0, 5)");
    CHECK_THROWS_WITH(a.put(list({0, 1}), be.array(y)), "cannot put (3, 4) to 2 places of axis 0 of (5, 4)");
    CHECK_THROWS_WITH(a.put(be.ones({2}), 1.0), Catch::Contains("put takes i32 indices, not f32"));
  }
}

TEST_CASE("rows that are put are rounded by chance, and no others") {
  Backend be = make_backend();
  const Tensor x = numbers({100, 3}, DType::f32);
  Array a = be.empty({100, 3});
  a.assign(be.array(x) * 0.1);  // of more bits than are kept from now on
  const Tensor before = a.get();
  a.round_by_chance(2);
  std::vector<double> even;
  for (int64_t i = 0; i < 100; i += 2) even.push_back(double(i));
  a.put(be.array(even, {50}, DType::i32), 1.1);
  const Tensor after = a.get();
  int64_t up = 0;
  each_index({100, 3}, [&](const Index& i) {
    if (i[0] % 2) CHECK(at(after, i) == at(before, i));
    else CHECK((at(after, i) == 1 || at(after, i) == 1.25));
    up += at(after, i) == 1.25;
  });
  CHECK((up > 0 && up < 150));
}
