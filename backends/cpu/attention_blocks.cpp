#include "backends/cpu/attention.h"
#include "neon/core/random.h"

namespace neon::cpu {

template <typename R>
AttentionBlocks<R>::AttentionBlocks(const LoweredKernel& kernel, Context& context, size_t lengths, int64_t numbers)
    : s_(kernel, context, lengths),
      scale_(R(kernel.attributes.real("scale"))),
      drops_(kernel.attributes.has("keep")),
      threads_(context.threads),
      context_(context),
      lengths_(s_.has_lengths ? context.slot(kernel.inputs[lengths]) : nullptr),
      numbers_(divided_up(numbers, 16) * 16),
      memory_(context.scratch.take(size_t(context.threads * numbers_) * sizeof(R))),
      exp_(elementwise::block_function<R>(elementwise::row("exp"))) {
  if (!drops_) return;
  keep_ = kernel.attributes.real("keep");
  key_ = {uint64_t(kernel.attributes.integer("seed")), hash_name(kernel.attributes.string("stream")), 0};
  const int64_t first = kernel.attributes.has("first") ? kernel.attributes.integer("first") : 0;
  places_ = draws_of_weights(first, s_.heads, s_.queries, s_.keys);
}

template <typename R>
int64_t AttentionBlocks<R>::keys_of(int64_t n) const {
  if (!lengths_) return s_.keys;
  return std::clamp<int64_t>(static_cast<const int32_t*>(*lengths_)[n], 0, s_.keys);
}

template <typename R>
void AttentionBlocks<R>::copy_turned(const R* from, int64_t step, int64_t rows, R* to) const {
  for (int64_t d = 0; d < s_.size; ++d) {
    R* line = to + d * kAttentionBlock;
    for (int64_t i = 0; i < rows; ++i) line[i] = from[i * step + d];
    std::fill(line + rows, line + kAttentionBlock, R(0));
  }
}

template <typename R>
void AttentionBlocks<R>::copy_rows(const R* from, int64_t step, int64_t rows, R* to) const {
  for (int64_t i = 0; i < kAttentionBlock; ++i, to += s_.padded) {
    const int64_t count = i < rows ? s_.size : 0;
    std::copy_n(from + (i < rows ? i * step : 0), count, to);
    std::fill(to + count, to + s_.padded, R(0));
  }
}

template <typename R>
void AttentionBlocks<R>::exponentials(const R* z, R shift, int64_t seen, R* p) const {
  for (int64_t j = 0; j < seen; ++j) p[j] = scale_ * z[j] - shift;
  exp_(&p, p, seen);
  std::fill(p + seen, p + kAttentionBlock, R(0));
}

// As the fused kernels draw and compare: uniform numbers are f32, and so is what they are compared with.
template <typename R>
void AttentionBlocks<R>::draw_kept(const Run& run, int64_t n, int64_t head, int64_t t, int64_t first, int64_t keys,
                                   R* kept) const {
  float draws[kAttentionBlock];
  const elementwise::RandomKey key{key_.seed, key_.id, run.step};
  const uint64_t place = places_.of(((n * s_.heads + head) * s_.queries + t) * s_.keys + first);
  elementwise::active_level().random->uniform_f32(key, place, draws, keys);
  for (int64_t j = 0; j < keys; ++j) kept[j] = draws[j] < float(keep_) ? R(1 / keep_) : R(0);
}

template class AttentionBlocks<float>;
template class AttentionBlocks<double>;

}  // namespace neon::cpu
