// Programs on the GPU that share the memory of their values, which moves as they come and go.
#include <catch2/catch.hpp>

#include "backends/device/device.h"
#include "backends/graph/expression.h"

using namespace neon;

TEST_CASE("programs in turn share the memory of their values, and each keeps its results and what it makes once") {
  constexpr int64_t kLarge = 4096, kSmall = 64;
  std::string why_not;
  GpuModule& module = *gpu_module(why_not);
  Graph large;
  const Value x = large.input("x", DType::f32, {kLarge, kLarge}), square = matmul(large, x, x);
  large.output("sum", sum(Expr(large, matmul(large, square, x)), {0, 1}));
  Graph small;
  const Value w = small.variable("w", DType::f32, {kSmall, kSmall}), narrow = cast(small, w, DType::f16),
              mean = small.input("x", DType::f16, {kSmall, kSmall});
  small.output("y", matmul(small, matmul(small, narrow, mean), mean));
  small.output("narrow", cast(small, narrow, DType::f32));
  Variables of_large, of_small;
  const auto program = compile_program(small, of_small, {.gpu = true});
  Tensor share(DType::f16, {kSmall, kSmall});
  for (int64_t i = 0; i < share.elements(); ++i) share.set(i, 1.0 / kSmall);
  program->bind("x", share.data());
  const auto set_rows = [&](int scale) {
    for (int64_t i = 0; i < kSmall * kSmall; ++i) of_small.at("w").set(i, scale * double(i / kSmall));
    of_small.to_device();
  };
  const auto check_rows = [&](int scale) {
    for (const char* name : {"y", "narrow"})
      for (const int64_t row : {int64_t(1), kSmall - 1})
        CHECK(program->output(name).at(row * kSmall + 5) == scale * double(row));
  };
  set_rows(1);
  program->run(0);
  check_rows(1);
  // What they share moves when one comes that needs more of it, and when that goes.
  auto first = compile_program(large, of_large, {.gpu = true});
  const size_t peak = module.peak_bytes(0);
  auto again = compile_program(large, of_large, {.gpu = true});
  CHECK(module.peak_bytes(0) - peak < kLarge * kLarge * 4);  // two such values are alive at a time
  const std::vector<float> numbers(kLarge * kLarge, 1.0f / kLarge);
  first->bind("x", numbers.data());
  again->bind("x", numbers.data());
  check_rows(1);
  for (const int scale : {1, 3}) {
    set_rows(scale);
    for (uint64_t run = 0; run < 2; ++run) {
      program->run(run);
      for (const auto& other : {&first, &again}) {
        (*other)->run(run);
        CHECK((*other)->output("sum").at(0) == kLarge);
      }
      check_rows(scale);
    }
  }
  program->run(2);
  first.reset(), again.reset();
  check_rows(3);
  program->run(3);
  check_rows(3);
}
