#include <dlib/matrix.h>

#include "neon/core/error.h"
#include "transforms/zca_part.h"

namespace neon {

namespace {

std::vector<double> zca_by_dlib(const std::vector<double>& covariance, int64_t n, double bias) {
  NEON_ASSERT(int64_t(covariance.size()) == n * n);
  using Matrix = dlib::matrix<double>;
  Matrix sum = dlib::mat(covariance.data(), long(n), long(n));
  for (long k = 0; k < long(n); ++k) sum(k, k) += bias;
  const dlib::eigenvalue_decomposition<Matrix> found(dlib::make_symmetric(sum));
  const auto values = found.get_real_eigenvalues();
  if (!(dlib::min(values) > 0))
    fail(ErrorKind::config, "Whiten: the images vary by ", dlib::min(values),
         " in some direction, which would be divided by; give a larger bias");
  // W = F F^T, with F = E D^(-1/4), is symmetric to the bit.
  const Matrix half = dlib::scale_columns(found.get_pseudo_v(), dlib::pow(values, -0.25));
  const Matrix whole = half * dlib::trans(half);
  return {whole.begin(), whole.end()};
}

const PartRegistration<ZcaPart> zca_part({zca_by_dlib}, NEON_MODULE_VERSION);

}  // namespace

}  // namespace neon
