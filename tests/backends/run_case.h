// Runs op cases and compares arrays.
#pragma once
#include "backends/device/device.h"
#include "tests/backends/op_cases.h"

namespace neon::test {

struct CaseRun {
  std::vector<Tensor> inputs, outputs;
  std::vector<std::string> implementations;
};

// The case in `dtype` on numbers that are exact in `rounded`.
CaseRun run_case(const OpCase& c, DType dtype, DType rounded, const ProgramOptions& options);
CaseRun run_case(const OpCase& c, DType dtype, DType rounded, const DeviceOptions& options);

// How far result y of n added terms whose sizes sum to `magnitude` may be off. Stored and computed types have
// roundoffs u and v (v of f32 for 16-bit types):
//   n + 16 roundings in the arithmetic (16: the elementwise functions), each at most v of what was added up so far,
//   and `stores` roundings to storage on the way.
double allowed_error(DType dtype, double y, double magnitude, int64_t n, int stores = 1);

// Empty where `got` is `expected` within allowed(i), else the first place that is not. NaN equals NaN.
std::string difference(const Tensor& got, const Tensor& expected, const std::vector<double>& allowed);
std::string difference(const Tensor& got, const Tensor& expected, double allowed = 0);
// The plain kernels' results in f64 on numbers that are exact in `rounded`.
struct PlainRun {
  CaseRun run;
  std::vector<Tensor> magnitudes;  // sizes of what is added up for each result; empty for ops that do not add
};
PlainRun run_plain(const OpCase& c, DType rounded);
// Empty where a run of the case in `dtype` gave what run_plain() gives, within `times` what may be off; `fused`: that
// it ran so, otherwise every node has stored its result.
std::string difference_to_plain(const OpCase& c, DType dtype, const CaseRun& got, const PlainRun& plain, bool fused,
                                double times = 1);
std::string difference_to_plain(const OpCase& c, DType dtype, const CaseRun& got, bool fused, double times = 1);
// The greatest difference over the greatest number that is expected.
double difference_over_largest(const Tensor& got, const Tensor& expected);
bool same_bits(const Tensor& a, const Tensor& b);

}  // namespace neon::test
