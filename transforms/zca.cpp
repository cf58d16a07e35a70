#include "transforms/zca.h"

#include "neon/core/error.h"
#include "transforms/zca_part.h"

namespace neon {

#ifdef NEON_HAVE_DLIB

std::vector<double> zca_matrix(const std::vector<double>& covariance, int64_t n, double bias) {
  return part<ZcaPart>().matrix(covariance, n, bias);
}

#else

std::vector<double> zca_matrix(const std::vector<double>&, int64_t, double) {
  fail(ErrorKind::config,
       "Whiten: this neon was built without dlib, which finds eigenvectors; install libdlib-dev and build neon again");
}

#endif

}  // namespace neon
