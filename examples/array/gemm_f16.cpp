// A product of f16 matrices, with a relu in the same kernel. Operands and result are stored in 16 bits, sums are f32.
#include <cmath>
#include <cstdio>

#include "neon/array/array.h"

using namespace neon;

int main(int argc, char** argv) try {
  const int64_t m = 200, n = 100, k = 300;
  Backend be({.device = argc > 1 ? argv[1] : "cpu", .dtype = DType::f16});

  Array a = be.empty({m, k}), b = be.empty({k, n}), c = be.empty({m, n});
  a.assign(be.uniform({m, k}, -1, 1));
  b.assign(be.uniform({k, n}, -1, 1));
  c.assign(relu(dot(a, b)));
  const int kernels = be.last_kernels();
  std::printf("%d kernel\n", kernels);

  // The same in double on the host.
  const Tensor x = a.get(), y = b.get(), z = c.get();
  double worst = 0;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t l = 0; l < k; ++l) sum += x.at(i * k + l) * y.at(l * n + j);
      worst = std::max(worst, std::fabs(z.at(i * n + j) - std::max(sum, 0.0)));
    }
  std::printf("largest error %.4f, numbers up to %.1f\n", worst, Array(max(c)).item());
  // Rounding to f16 takes 2^-11 of numbers below 32, sums in f32 much less.
  return kernels == 1 && worst < 32.0 / 2048 ? 0 : 1;
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
