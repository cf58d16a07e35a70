#include "backends/cpu/operand.h"

#include <omp.h>

#include <algorithm>

#include "backends/elementwise/kernels.h"

namespace neon::cpu {

namespace {

constexpr int64_t kBlock = 16384;  // elements, of which a second thread takes the next

void convert(elementwise::ConvertFunction function, const void* from, size_t from_size, void* to, size_t to_size,
             int64_t n, int threads) {
#pragma omp parallel for num_threads(threads) schedule(static) if (n > kBlock)
  for (int64_t first = 0; first < n; first += kBlock)
    function(static_cast<const std::byte*>(from) + size_t(first) * from_size,
             static_cast<std::byte*>(to) + size_t(first) * to_size, std::min(kBlock, n - first));
}

}  // namespace

Operand::Operand(Context& context, Value value, DType compute)
    : slot_(context.slot(value)), type_(context.type(value)), compute_(compute) {
  if (type_.dtype != compute) copy_ = Tensor(compute, type_.shape);
}

const void* Operand::load(int threads) {
  if (copy_.empty()) return *slot_;
  convert(elementwise::load_function(type_.dtype, compute_), *slot_, size_of(type_.dtype), copy_.data(),
          size_of(compute_), copy_.elements(), threads);
  return copy_.data();
}

void Operand::store(int threads) {
  if (copy_.empty()) return;
  convert(elementwise::store_function(compute_, type_.dtype), copy_.data(), size_of(compute_), *slot_,
          size_of(type_.dtype), copy_.elements(), threads);
}

}  // namespace neon::cpu
