// attention_grad on the CPU; backends/graph/ops_attention.cpp says what it computes. Weights are made again from the
// sums of exponentials, block by block. One thread does all heads of queries that share a head of keys, one block of
// keys after the other, so that every sum has one order with any number of threads.
#include <omp.h>

#include "backends/cpu/attention.h"
#include "backends/graph/ops.h"

namespace neon::cpu {

namespace {

constexpr int64_t kPairs = kAttentionBlock * kAttentionBlock;

template <typename R>
class AttentionGradientKernel : public AttentionBlocks<R> {
 public:
  AttentionGradientKernel(const LoweredKernel& kernel, Context& context)
      : AttentionBlocks<R>(kernel, context, 6, Parts::numbers(AttentionShape(kernel, context, 6))),
        q_(this->operand(kernel.inputs[0])),
        k_(this->operand(kernel.inputs[1])),
        v_(this->operand(kernel.inputs[2])),
        y_(this->operand(kernel.inputs[3])),
        sums_(this->operand(kernel.inputs[4])),
        g_(this->operand(kernel.inputs[5])),
        dq_(this->operand(kernel.outputs[0])),
        dk_(this->operand(kernel.outputs[1])),
        dv_(this->operand(kernel.outputs[2])),
        inner_(context.scratch.take(size_t(this->s_.samples * this->s_.heads * this->s_.queries) * sizeof(R))),
        scratch_(context.scratch) {}

  void run(const Run& run) override {
    const auto& s = this->s_;
    arrays_ = {this->read(q_), this->read(k_),   this->read(v_),   this->read(y_),   this->read(sums_),
               this->read(g_), this->place(dq_), this->place(dk_), this->place(dv_), scratch_.template at<R>(inner_)};
    const int64_t rows = s.samples * s.queries, items = s.samples * s.key_heads;
#pragma omp parallel for num_threads(this->threads_) schedule(static) if (rows * s.query_step() > kElementsOfOneThread)
    for (int64_t row = 0; row < rows; ++row) begin_row(row / s.queries, row % s.queries);
#pragma omp parallel for num_threads(this->threads_) schedule(dynamic) if (items > 1)
    for (int64_t item = 0; item < items; ++item) {
      const int64_t n = item / s.key_heads, shared = item % s.key_heads;
      for (int64_t s0 = 0; s0 < s.keys; s0 += kAttentionBlock) of_keys(run, n, shared, s0);
    }
    for (Operand* written : {&dq_, &dk_, &dv_}) written->store(this->threads_);
  }

 private:
  struct Arrays {
    const R *q, *k, *v, *y, *sums, *g;
    R *dq, *dk, *dv, *inner;
  };
  // The memory of a thread holds a block of keys and of values, turned; of keys, queries and the gradient of y as rows;
  // weights and what they are given (64,64); sums of dk, dv, and a block of dq.
  struct Parts {
    static int64_t numbers(const AttentionShape& s) {
      return kAttentionBlock * (2 * s.size + 6 * s.padded) + 2 * kPairs;
    }
    Parts(const AttentionShape& s, R* at)
        : keys_turned(at),
          values_turned(keys_turned + kAttentionBlock * s.size),
          keys(values_turned + kAttentionBlock * s.size),
          queries(keys + kAttentionBlock * s.padded),
          given(queries + kAttentionBlock * s.padded),
          dk(given + kAttentionBlock * s.padded),
          dv(dk + kAttentionBlock * s.padded),
          dq(dv + kAttentionBlock * s.padded),
          weights(dq + kAttentionBlock * s.padded),
          of_weights(weights + kPairs) {}
    R *keys_turned, *values_turned, *keys, *queries, *given, *dk, *dv, *dq, *weights, *of_weights;
  };

  // dq is a sum over blocks of keys; `inner` is sum(g y).
  void begin_row(int64_t n, int64_t t) const {
    const auto& s = this->s_;
    for (int64_t head = 0; head < s.heads; ++head) {
      const int64_t at = s.query_at(n, t, head);
      R sum = 0;
      for (int64_t d = 0; d < s.size; ++d) sum += arrays_.g[at + d] * arrays_.y[at + d];
      arrays_.inner[sum_at(n, head, t)] = sum;
      std::fill_n(arrays_.dq + at, s.size, R(0));
    }
  }

  int64_t sum_at(int64_t n, int64_t head, int64_t t) const {
    return (n * this->s_.heads + head) * this->s_.queries + t;
  }

  // A block of keys, which all queries of the heads that share them see in turn.
  void of_keys(const Run& run, int64_t n, int64_t shared, int64_t s0) {
    const auto& s = this->s_;
    const Parts parts(s, this->memory(omp_get_thread_num()));
    const int64_t keys = this->keys_of(n), count = std::max<int64_t>(this->block_of(s0, keys), 0),
                  at = s.key_at(n, s0, shared);
    std::fill_n(parts.dk, kAttentionBlock * s.padded, R(0));
    std::fill_n(parts.dv, kAttentionBlock * s.padded, R(0));
    if (count > 0) {
      this->copy_turned(arrays_.k + at, s.key_step(), count, parts.keys_turned);
      this->copy_turned(arrays_.v + at, s.key_step(), count, parts.values_turned);
      this->copy_rows(arrays_.k + at, s.key_step(), count, parts.keys);
      for (int64_t head = shared * s.group(); head < (shared + 1) * s.group(); ++head)
        for (int64_t t0 = 0; t0 < s.queries; t0 += kAttentionBlock) {
          const int64_t rows = this->block_of(t0, s.queries);
          if (this->seen_by(t0 + rows - 1, keys) > s0) of_queries(run, parts, n, head, t0, rows, s0, count);
        }
    }
    for (int64_t j = 0; j < this->block_of(s0, s.keys); ++j) {
      std::copy_n(parts.dk + j * s.padded, s.size, arrays_.dk + at + j * s.key_step());
      std::copy_n(parts.dv + j * s.padded, s.size, arrays_.dv + at + j * s.key_step());
    }
  }

  void of_queries(const Run& run, const Parts& parts, int64_t n, int64_t head, int64_t t0, int64_t rows, int64_t s0,
                  int64_t count) {
    const auto& s = this->s_;
    const int64_t at = s.query_at(n, t0, head), keys = this->keys_of(n);
    this->copy_rows(arrays_.q + at, s.query_step(), rows, parts.queries);
    this->copy_rows(arrays_.g + at, s.query_step(), rows, parts.given);
    const BlockProduct to_pairs{rows, s.size, kAttentionBlock, s.padded, 1, kAttentionBlock, kAttentionBlock, false};
    multiply_blocks(to_pairs, parts.queries, parts.keys_turned, parts.weights);
    multiply_blocks(to_pairs, parts.given, parts.values_turned, parts.of_weights);
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t seen = std::clamp<int64_t>(this->seen_by(t0 + i, keys) - s0, 0, count);
      pairs_of(run, parts, n, head, t0 + i, i, s0, seen);
    }
    const BlockProduct of_rows{count, rows, s.padded, 1, kAttentionBlock, s.padded, s.padded, true};
    multiply_blocks(of_rows, parts.weights, parts.given, parts.dv);
    multiply_blocks(of_rows, parts.of_weights, parts.queries, parts.dk);
    multiply_blocks({rows, kAttentionBlock, s.padded, kAttentionBlock, 1, s.padded, s.padded, false}, parts.of_weights,
                    parts.keys, parts.dq);
    for (int64_t i = 0; i < rows; ++i) {
      R* to = arrays_.dq + at + i * s.query_step();
      for (int64_t d = 0; d < s.size; ++d) to[d] += parts.dq[i * s.padded + d];
    }
  }

  // Row i of the block is query t: products become weights, and gradients of weights become those of products.
  void pairs_of(const Run& run, const Parts& parts, int64_t n, int64_t head, int64_t t, int64_t i, int64_t first,
                int64_t seen) const {
    R *weights = parts.weights + i * kAttentionBlock, *of = parts.of_weights + i * kAttentionBlock;
    this->exponentials(weights, arrays_.sums[sum_at(n, head, t)], seen, weights);
    std::fill(of + seen, of + kAttentionBlock, R(0));
    const R inner = arrays_.inner[sum_at(n, head, t)];
    if (!this->drops_) {
      for (int64_t j = 0; j < seen; ++j) of[j] = this->scale_ * weights[j] * (of[j] - inner);
      return;
    }
    R kept[kAttentionBlock];
    this->draw_kept(run, n, head, t, first, seen, kept);
    for (int64_t j = 0; j < seen; ++j) {
      of[j] = this->scale_ * weights[j] * (kept[j] * of[j] - inner);
      weights[j] *= kept[j];
    }
  }

  Operand q_, k_, v_, y_, sums_, g_, dq_, dk_, dv_;
  const size_t inner_;
  Scratch& scratch_;
  Arrays arrays_{};
};

const KernelRegistration attention_gradient_kernel{ops::attention_grad, 0,
                                                   make_attention_kernel<AttentionGradientKernel>};

}  // namespace

}  // namespace neon::cpu
