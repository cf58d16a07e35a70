// ZCA whitening (Bell and Sejnowski 1997): the symmetric matrix that decorrelates numbers and changes them least.
#pragma once
#include <cstdint>
#include <vector>

namespace neon {

// (covariance + bias I)^(-1/2) of a covariance (n,n): E D^(-1/2) E^T with the eigenvectors E and eigenvalues D of the
// sum. A config error for a sum that has an eigenvalue of 0 or below, and where neon was built without dlib.
std::vector<double> zca_matrix(const std::vector<double>& covariance, int64_t n, double bias);

}  // namespace neon
