#include "transforms/zca.h"

#include "neon/core/error.h"

#if NEON_HAVE_DLIB
#include <dlib/matrix.h>
#endif

namespace neon {

#if NEON_HAVE_DLIB

std::vector<double> zca_matrix(const std::vector<double>& covariance, int64_t n, double bias) {
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

#else

std::vector<double> zca_matrix(const std::vector<double>&, int64_t, double) {
  fail(ErrorKind::config,
       "Whiten: this neon was built without dlib, which finds eigenvectors; install libdlib-dev and build neon again");
}

#endif

}  // namespace neon
