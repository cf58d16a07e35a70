// Batch normalisation in one kernel: mean and variance over the batch, and each feature normalised by them, scaled and
// shifted. Then its gradients, derived from the same expression.
#include <cmath>
#include <cstdio>

#include "neon/array/array.h"

using namespace neon;

int main(int argc, char** argv) try {
  const int64_t batch = 128, features = 500;
  const double epsilon = 1e-3;
  Backend be({.device = argc > 1 ? argv[1] : "cpu"});

  const Array x = be.normal({batch, features}, 1, 3);
  const Array gamma = be.uniform({1, features}, 0.5, 1.5), beta = be.uniform({1, features});
  const Lazy normalised = (x - mean(x, 0)) / sqrt(var(x, 0) + epsilon);
  const Lazy y = gamma * normalised + beta;
  const Array result = y;
  const int kernels = be.last_kernels();
  std::printf("%d kernel:\n%s", kernels, be.last_program().c_str());

  const Tensor in = x.get(), scale = gamma.get(), shift = beta.get(), got = result.get();
  double worst = 0;
  for (int64_t f = 0; f < features; ++f) {
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < batch; ++i) sum += in.at(i * features + f);
    for (int64_t i = 0; i < batch; ++i) squares += std::pow(in.at(i * features + f) - sum / batch, 2);
    for (int64_t i = 0; i < batch; ++i) {
      const double hat = (in.at(i * features + f) - sum / batch) / std::sqrt(squares / batch + epsilon);
      worst = std::max(worst, std::fabs(got.at(i * features + f) - (scale.at(f) * hat + shift.at(f))));
    }
  }
  std::printf("largest error %.1e\n", worst);

  // Adding a number to a feature changes nothing after it was normalised: its gradients over the batch sum to 0.
  const Autodiff derived(y, be.uniform({batch, features}));
  const Array slopes = sum(derived.gradient(x), 0);
  const double left = Array(max(abs(slopes))).item();
  std::printf("gradients of x over a batch sum to %.1e at most\n", left);
  return kernels == 1 && worst < 1e-4 && left < 1e-4 ? 0 : 1;
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
