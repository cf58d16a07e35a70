// Graphs on the GPU against the plain kernels, on data whose sums are exact.
#pragma once
#include <map>
#include <utility>

#include "backends/device/device.h"
#include "tests/backends/net_of_branches.h"

namespace neon::test {

// The outputs of two runs with the data of join_data(), and the variables after them as "variable NAME".
std::map<std::string, Tensor> results_of(const Graph& graph, const DeviceOptions& options);

std::vector<double> numbers_of(const Tensor& tensor);

// Rounding decides whether a gradient passes a relu whose argument is nearly 0: so large a share of elements may be
// off.
constexpr double kMostOff = 2e-3;
// The root of the mean square of what is off, over that of what is expected, and the share of elements that are off by
// a tenth of the latter.
std::pair<double, double> error_of(const Tensor& got, const std::vector<double>& wanted);

// What build_branches() makes, in all these types; in f16 also with algorithms that the clock chose.
void check_against_plain(const std::string& name, const std::function<void(Graph&, DType)>& build,
                         const std::vector<DType>& types = {DType::f32, DType::f16, DType::bf16, DType::f64},
                         bool tf32 = false);

}  // namespace neon::test
