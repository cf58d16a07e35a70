// Arrays of more elements than 32 bits count, on a GPU: the same in whatever way a kernel walks over them. They take up
// to 16 GiB.
#include "neon/core/random.h"
#include "support.h"

using namespace neon;
using namespace neon::test;

namespace {

constexpr int64_t kLarge = (int64_t(1) << 31) + 4096 + 16;

// Numbers where something may go wrong, among zeros: about the first and the last, and where 31 bits end.
const std::vector<std::pair<int64_t, int>> kMarks = {{0, 3},
                                                     {9, 5},
                                                     {(int64_t(1) << 30) + 1, 7},
                                                     {(int64_t(1) << 31) - 1, 11},
                                                     {int64_t(1) << 31, 13},
                                                     {(int64_t(1) << 31) + 37, 17},
                                                     {kLarge - 1, 19}};

Array marked(const Backend& be, int64_t elements) {
  Array out = be.zeros({elements}, DType::u8);
  for (const auto& [at, number] : kMarks) {
    Array near = out.slice(0, at / 16 * 16, 16);
    Tensor values = near.get();
    values.set(at % 16, number);
    near.set(values);
  }
  return out;
}

double element(const Array& flat, int64_t at) { return flat.slice(0, at / 16 * 16, 16).get().at(at % 16); }

double total() {
  double sum = 0;
  for (const auto& [at, number] : kMarks) sum += number;
  return sum;
}

}  // namespace

TEST_CASE("arrays of more than 2^31 elements: functions, parts, rows") {
  const Backend be = make_backend();
  const Array a = marked(be, kLarge);
  Array b = be.empty({kLarge}, DType::u8);
  b.assign(a * 2 + 1);
  Array part = be.empty({kLarge - 3}, DType::u8);
  part.assign(a.slice(0, 3, kLarge - 3));
  const Array both = concatenate({a, b});
  Array turned = be.empty({8, kLarge / 8}, DType::u8);
  turned.assign(a.reshape({kLarge / 8, 8}).T());
  turned = turned.reshape({kLarge});
  for (const auto& [at, number] : kMarks) {
    INFO("element " << at);
    CHECK(element(b, at) == 2 * number + 1);
    CHECK(element(b, at ^ 2) == 1);
    if (at >= 3 && at - 3 < (kLarge - 3) / 16 * 16) CHECK(element(part, at - 3) == number);
    CHECK(element(both, at) == number);
    CHECK(element(both, kLarge + at) == 2 * number + 1);
    CHECK(element(turned, at % 8 * (kLarge / 8) + at / 8) == number);
    Tensor row(DType::i32, {1});
    row.set(0, double(at / 8));
    CHECK(Array(take(a.reshape({kLarge / 8, 8}), be.array(row))).get().at(at % 8) == number);
  }
}

TEST_CASE("arrays of more than 2^31 elements: sums, along rows, down columns and of all") {
  const Backend be = make_backend();
  const Array a = marked(be, kLarge);
  CHECK(Array(sum(a)).item() == total());
  CHECK(Array(sum(a.reshape({1, kLarge}), 1)).item() == total());
  CHECK(Array(max(a.reshape({1, kLarge}), 1)).item() == 19);
  const Array wide = marked(be, 2 * kLarge);  // two rows, or two columns: marks at even places are of the first
  const Tensor rows = Array(sum(wide.reshape({2, kLarge}), 1)).get();
  CHECK((rows.at(0) == total() && rows.at(1) == 0));
  const Tensor columns = Array(sum(wide.reshape({kLarge, 2}), 0)).get();
  double even = 0;
  for (const auto& [at, number] : kMarks) even += at % 2 ? 0 : number;
  CHECK((columns.at(0) == even && columns.at(1) == total() - even));
  // Another walk follows: mean squares less squared means.
  double squares = 0;
  for (const auto& [at, number] : kMarks) squares += at % 2 ? 0 : number * number;
  const double n = double(kLarge);
  CHECK(Array(var(wide.reshape({kLarge, 2}), 0)).get().at(0) ==
        Approx(squares / n - even / n * (even / n)).epsilon(1e-3));
}

TEST_CASE("arrays of more than 2^31 elements: draws, and a product of nothing") {
  const Backend be = make_backend(DType::f32, 7);
  const DrawState state = be.draw_state();
  const Array u = be.uniform({kLarge});
  const uint64_t stream = hash_name("draw/0"), step = state.evaluations;
  for (int64_t at : {int64_t(5), int64_t(1) << 31, kLarge - 1}) {
    const uint64_t group = uint64_t(at) / 4;
    const Philox4 drawn = philox({uint32_t(group), uint32_t(group >> 32) ^ uint32_t(step >> 32),
                                  uint32_t(stream) ^ uint32_t(step), uint32_t(stream >> 32)},
                                 {7, 0});
    CHECK(element(u, at) == uniform_from_bits(drawn[size_t(at % 4)]));
  }
  Array c = be.full({65536, 65536}, 7, DType::f16);
  c.assign(dot(be.zeros({65536, 0}, DType::f16), be.zeros({0, 65536}, DType::f16)));
  c = c.reshape({int64_t(1) << 32});
  for (int64_t at : {int64_t(0), int64_t(1) << 31, (int64_t(1) << 32) - 1}) CHECK(element(c, at) == 0);
}
