// The kernels of attention and of its gradient share blocks of queries and keys of one head, their products, and
// which keys a query sees. They compute in f32, or f64 for f64; arrays of 16 bits are converted as a whole.
#pragma once
#include <algorithm>
#include <type_traits>

#include "backends/cpu/block_product.h"
#include "backends/cpu/operand.h"
#include "backends/elementwise/kernels.h"

namespace neon::cpu {

// Queries or keys of a block. A multiple of 16, as products want their columns.
constexpr int64_t kAttentionBlock = 64;

struct AttentionShape {
  AttentionShape(const LoweredKernel& kernel, const Context& context, size_t lengths)
      : samples(context.type(kernel.inputs[0]).shape[0]),
        queries(context.type(kernel.inputs[0]).shape[1]),
        heads(context.type(kernel.inputs[0]).shape[2]),
        size(context.type(kernel.inputs[0]).shape[3]),
        keys(context.type(kernel.inputs[1]).shape[1]),
        key_heads(context.type(kernel.inputs[1]).shape[2]),
        padded(divided_up(size, 16) * 16),
        causal(kernel.attributes.integer("causal") != 0),
        has_lengths(kernel.inputs.size() > lengths) {}
  int64_t samples, queries, heads, size, keys, key_heads, padded;  // `padded`: size as products want it
  bool causal, has_lengths;
  int64_t group() const { return heads / key_heads; }
  // Numbers from one step to the next.
  int64_t query_step() const { return heads * size; }
  int64_t key_step() const { return key_heads * size; }
  // Where step t of a head begins.
  int64_t query_at(int64_t n, int64_t t, int64_t head) const { return ((n * queries + t) * heads + head) * size; }
  int64_t key_at(int64_t n, int64_t s, int64_t head) const { return ((n * keys + s) * key_heads + head) * size; }
};

template <typename R>
const elementwise::Reductions<R>& reductions_of_rows() {
  if constexpr (std::is_same_v<R, float>) return *elementwise::active_level().reduce_f32;
  else return *elementwise::active_level().reduce_f64;
}

template <typename R>
class AttentionBlocks : public Kernel {
 public:
  std::string implementation() const override { return "attention"; }

 protected:
  // Each thread works in memory of its own, `numbers` numbers.
  AttentionBlocks(const LoweredKernel& kernel, Context& context, size_t lengths, int64_t numbers);

  Operand operand(Value value) { return Operand(context_, value, dtype_of<R>()); }
  const R* read(Operand& from) { return static_cast<const R*>(from.load(threads_)); }
  static R* place(Operand& to) { return static_cast<R*>(to.place()); }
  R* memory(int thread) { return context_.scratch.at<R>(memory_) + thread * numbers_; }

  // Keys of sample n that are no padding.
  int64_t keys_of(int64_t n) const;
  // The number of keys, of the first `keys`, that query t sees.
  int64_t seen_by(int64_t t, int64_t keys) const {
    return s_.causal ? std::min(keys, t + 1 + s_.keys - s_.queries) : keys;
  }
  static int64_t block_of(int64_t first, int64_t all) { return std::min(kAttentionBlock, all - first); }

  // `rows` steps of a head, `step` numbers apart, as columns (size, 64), or as rows (64, padded); the rest is 0.
  void copy_turned(const R* from, int64_t step, int64_t rows, R* to) const;
  void copy_rows(const R* from, int64_t step, int64_t rows, R* to) const;
  // p[j] = exp(scale z[j] - shift), j < seen, 0 for the other keys of the block.
  void exponentials(const R* z, R shift, int64_t seen, R* p) const;
  // 1 / keep for a weight that dropout keeps, 0 for another: weights of query t and the keys from `first` on.
  void draw_kept(const Run& run, int64_t n, int64_t head, int64_t t, int64_t first, int64_t keys, R* kept) const;

  const AttentionShape s_;
  const R scale_;
  const bool drops_;
  const int threads_;

 private:
  Context& context_;
  void** lengths_;
  const int64_t numbers_;
  const size_t memory_;
  const elementwise::BlockFunction<R> exp_;
  double keep_ = 1;
  elementwise::RandomKey key_{};
  DrawPlaces places_;
};

// A kernel in f32 or f64, as the type of its first input asks for.
template <template <typename> class K>
std::unique_ptr<Kernel> make_attention_kernel(const LoweredKernel& kernel, Context& context) {
  if (context.type(kernel.inputs[0]).dtype == DType::f64) return std::make_unique<K<double>>(kernel, context);
  return std::make_unique<K<float>>(kernel, context);
}

}  // namespace neon::cpu
