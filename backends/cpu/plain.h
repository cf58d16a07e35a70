// Plain kernels: one obvious loop per op, in double, on any dtype. Tests compare all other kernels with them, and they
// run where no other kernel can.
#pragma once
#include <string>
#include <vector>

#include "backends/graph/graph.h"
#include "neon/core/tensor.h"

namespace neon::cpu {

struct PlainArguments {
  const Node& node;
  std::vector<Tensor> inputs, outputs;  // outputs are there to be filled
  uint64_t step = 0;
};
using PlainFunction = void (*)(PlainArguments&);

void add_plain(std::string_view op, PlainFunction function);
PlainFunction find_plain(const Op& op);  // elementwise ops share one; null: the op has none

// The numbers of an array in f64: a copy, unless they are.
inline Tensor in_f64(const Tensor& x) { return x.dtype() == DType::f64 ? x : x.converted(DType::f64); }
// Rounds numbers to the type of an array of as many.
inline void store(const std::vector<double>& numbers, Tensor& to) {
  dispatch(to.dtype(), [&]<typename T>() {
    const auto rounded = to.as<T>();
    NEON_ASSERT(rounded.size() == numbers.size());
    for (size_t i = 0; i < numbers.size(); ++i) rounded[i] = store_as<T>(numbers[i]);
  });
}

struct PlainRegistration {
  PlainRegistration(std::string_view op, PlainFunction function) { add_plain(op, function); }
};

}  // namespace neon::cpu
