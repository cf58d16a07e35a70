// The variance of each row in one kernel: the mean is reduced, taken off and squared, and what is left is reduced
// again.
#include <cmath>
#include <cstdio>

#include "neon/array/array.h"

using namespace neon;

int main(int argc, char** argv) try {
  const int64_t rows = 1000, columns = 2000;
  Backend be({.device = argc > 1 ? argv[1] : "cpu"});

  const Array x = be.normal({rows, columns}, 3, 2);
  const Array v = mean(square(x - mean(x, 1)), 1);
  std::printf("%d kernel:\n%s", be.last_kernels(), be.last_program().c_str());

  const Tensor on_the_host = x.get(), got = v.get();
  double worst = 0;
  for (int64_t i = 0; i < rows; ++i) {
    double sum = 0, squares = 0;
    for (int64_t j = 0; j < columns; ++j) sum += on_the_host.at(i * columns + j);
    for (int64_t j = 0; j < columns; ++j) squares += std::pow(on_the_host.at(i * columns + j) - sum / columns, 2);
    worst = std::max(worst, std::fabs(got.at(i) - squares / columns));
  }
  std::printf("row 0: %.5f, largest error %.1e\n", got.at(0), worst);
  return be.last_kernels() == 1 && worst < 1e-4 ? 0 : 1;
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
