#include "backends/cpu/operand.h"

#include <omp.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "backends/elementwise/kernels.h"

namespace neon::cpu {

namespace {

void convert(elementwise::ConvertFunction function, const void* from, size_t from_size, void* to, size_t to_size,
             int64_t n, int threads) {
#pragma omp parallel for num_threads(threads) schedule(static) if (n > kElementsOfOneThread)
  for (int64_t first = 0; first < n; first += kElementsOfOneThread)
    function(static_cast<const std::byte*>(from) + size_t(first) * from_size,
             static_cast<std::byte*>(to) + size_t(first) * to_size, std::min(kElementsOfOneThread, n - first));
}

}  // namespace

Operand::Operand(Context& context, Value value, DType compute)
    : slot_(context.slot(value)),
      type_(context.type(value)),
      placement_(context.lowered.placements[size_t(value.id)]),
      compute_(compute),
      scratch_(context.scratch) {
  const bool together = placement_.lies_together(type_.shape.elements());
  if (together) first_ = size_t(std::exchange(placement_, {}).first) * size_of(type_.dtype);
  if (type_.dtype != compute || !together) copy_ = scratch_.take(size_t(type_.shape.elements()) * size_of(compute));
}

const void* Operand::load(int threads) {
  NEON_ASSERT(!placement_);
  if (!copy_) return memory();
  convert(elementwise::load_function(type_.dtype, compute_), memory(), size_of(type_.dtype), place(), size_of(compute_),
          type_.shape.elements(), threads);
  return place();
}

void Operand::store(int threads) {
  if (!copy_) return;
  const auto* from = static_cast<const std::byte*>(place());
  std::byte* to = memory();
  const size_t size = size_of(type_.dtype);
  placement_.each_run(0, type_.shape.elements(), [&](int64_t element, int64_t place, int64_t n) {
    const std::byte* some = from + size_t(element) * size_of(compute_);
    if (type_.dtype == compute_) std::memcpy(to + size_t(place) * size, some, size_t(n) * size);
    else
      convert(elementwise::store_function(compute_, type_.dtype), some, size_of(compute_), to + size_t(place) * size,
              size, n, threads);
  });
}

}  // namespace neon::cpu
