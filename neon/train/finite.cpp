#include "neon/train/finite.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

namespace neon {

namespace {

// Without its sign, a floating number is the larger the larger its bits are; infinity and NaN are the largest.
template <typename Bits>
bool any_from(const void* data, int64_t count, Bits first_bad) {
  constexpr Bits magnitude = Bits(~Bits(0)) >> 1;
  const auto* from = static_cast<const std::byte*>(data);
  unsigned found = 0;
  for (int64_t i = 0; i < count; ++i) {
    Bits bits;
    std::memcpy(&bits, from + size_t(i) * sizeof bits, sizeof bits);
    found |= Bits(bits & magnitude) >= first_bad;
  }
  return found != 0;
}

// The bits of the least f32 that is rounded to an infinite number of `dtype`: half a last place above its largest.
uint32_t infinite_in(DType dtype) {
  if (dtype == DType::f16) return __builtin_bit_cast(uint32_t, 65520.0f);
  return dtype == DType::bf16 ? 0x7f7f8000u : 0x7f800000u;
}

bool has_bad(const Tensor& tensor, DType read_as) {
  const int64_t n = tensor.elements();
  switch (tensor.dtype()) {
    case DType::f64: return any_from<uint64_t>(tensor.data(), n, 0x7ff0000000000000u);
    case DType::f32: return any_from<uint32_t>(tensor.data(), n, infinite_in(read_as));
    case DType::f16: return any_from<uint16_t>(tensor.data(), n, 0x7c00);
    case DType::bf16: return any_from<uint16_t>(tensor.data(), n, 0x7f80);
    default: return false;
  }
}

std::string described(const std::string& name, const Tensor& tensor, DType read_as) {
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    const double value = tensor.at(i);
    if (std::isnan(value)) return text(name, " ", tensor.shape(), " holds NaN");
    if (std::isinf(value)) return text(name, " ", tensor.shape(), " holds infinity");
  }
  double largest = 0;
  for (int64_t i = 0; i < tensor.elements(); ++i) largest = std::max(largest, std::fabs(tensor.at(i)));
  return text(name, " ", tensor.shape(), " holds ", largest, ", which is infinite in ", read_as);
}

}  // namespace

std::string first_not_finite(const Variables& variables, const StepGraph& step, DType dtype) {
  std::set<std::string> read, sums;
  for (const Parameter& p : step.parameters) {
    read.insert(p.name);
    sums.insert(p.name + "/sum");
  }
  for (const auto& [name, tensor] : variables.all()) {
    if (sums.count(name)) continue;
    const DType read_as = read.count(name) ? dtype : tensor.dtype();
    if (has_bad(tensor, read_as)) return described(name, tensor, read_as);
  }
  return "";
}

std::string first_not_finite(const TensorFile& weights) {
  for (const auto& [name, tensor] : weights.tensors)
    if (has_bad(tensor, tensor.dtype())) return described(name, tensor, tensor.dtype());
  return "";
}

}  // namespace neon
