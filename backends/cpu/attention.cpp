// attention on the CPU; backends/graph/ops_attention.cpp says what it computes. A block of queries goes through all
// blocks of keys that it sees, and keeps the largest product so far, the sum of exponentials less that, and the values
// weighted so: the matrix of weights never lies in memory (Dao et al. 2022).
#include "backends/cpu/attention.h"

#include <omp.h>

#include <cmath>

#include "backends/graph/ops.h"

namespace neon::cpu {

namespace {

constexpr int64_t kSquare = kAttentionBlock * kAttentionBlock;

template <typename R>
class AttentionKernel : public AttentionBlocks<R> {
 public:
  AttentionKernel(const LoweredKernel& kernel, Context& context)
      : AttentionBlocks<R>(kernel, context, 3, Parts::numbers(AttentionShape(kernel, context, 3))),
        q_(this->operand(kernel.inputs[0])),
        k_(this->operand(kernel.inputs[1])),
        v_(this->operand(kernel.inputs[2])),
        y_(this->operand(kernel.outputs[0])),
        sums_(this->operand(kernel.outputs[1])) {}

  void run(const Run& run) override {
    const auto& s = this->s_;
    arrays_ = {this->read(q_), this->read(k_), this->read(v_), this->place(y_), this->place(sums_)};
    const int64_t blocks = divided_up(s.queries, kAttentionBlock), items = s.samples * s.heads * blocks;
#pragma omp parallel for num_threads(this->threads_) schedule(dynamic) if (items > 1)
    for (int64_t item = 0; item < items; ++item) {
      const int64_t of_head = item / blocks;
      attend(run, of_head / s.heads, of_head % s.heads, item % blocks * kAttentionBlock);
    }
    for (Operand* written : {&y_, &sums_}) written->store(this->threads_);
  }

 private:
  struct Arrays {
    const R *q, *k, *v;
    R *y, *sums;
  };
  // The memory of a thread holds keys (D,64), values (64,padded), products and weights (64,64), what is weighted so far
  // (64,padded), and for each query the largest and the sum.
  struct Parts {
    static int64_t numbers(const AttentionShape& s) { return kAttentionBlock * (s.size + 2 * s.padded + 2) + kSquare; }
    Parts(const AttentionShape& s, R* at)
        : keys(at),
          values(keys + kAttentionBlock * s.size),
          weights(values + kAttentionBlock * s.padded),
          out(weights + kSquare),
          largest(out + kAttentionBlock * s.padded),
          total(largest + kAttentionBlock) {}
    R *keys, *values, *weights, *out, *largest, *total;
  };

  void attend(const Run& run, int64_t n, int64_t head, int64_t t0) {
    const auto& s = this->s_;
    const Parts parts(s, this->memory(omp_get_thread_num()));
    const int64_t rows = this->block_of(t0, s.queries), shared = head / s.group();
    const int64_t keys = this->keys_of(n), last = this->seen_by(t0 + rows - 1, keys);
    std::fill_n(parts.out, kAttentionBlock * s.padded, R(0));
    std::fill_n(parts.largest, rows, R(-1e30));
    std::fill_n(parts.total, rows, R(0));
    for (int64_t s0 = 0; s0 < last; s0 += kAttentionBlock) {
      const int64_t count = this->block_of(s0, last), at = s.key_at(n, s0, shared);
      this->copy_turned(arrays_.k + at, s.key_step(), count, parts.keys);
      this->copy_rows(arrays_.v + at, s.key_step(), count, parts.values);
      multiply_blocks({rows, s.size, kAttentionBlock, s.query_step(), 1, kAttentionBlock, kAttentionBlock, false},
                      arrays_.q + s.query_at(n, t0, head), parts.keys, parts.weights);
      for (int64_t i = 0; i < rows; ++i) {
        const int64_t seen = std::clamp<int64_t>(this->seen_by(t0 + i, keys) - s0, 0, count);
        weigh(parts, i, seen);
        if (this->drops_ && seen > 0) drop(run, n, head, t0 + i, s0, seen, parts.weights + i * kAttentionBlock);
      }
      multiply_blocks({rows, kAttentionBlock, s.padded, kAttentionBlock, 1, s.padded, s.padded, true}, parts.weights,
                      parts.values, parts.out);
    }
    for (int64_t i = 0; i < rows; ++i) {
      const R total = std::max(parts.total[i], R(1e-30)), factor = 1 / total;
      R* y = arrays_.y + s.query_at(n, t0 + i, head);
      for (int64_t d = 0; d < s.size; ++d) y[d] = parts.out[i * s.padded + d] * factor;
      arrays_.sums[(n * s.heads + head) * s.queries + t0 + i] = parts.largest[i] + std::log(total);
    }
  }

  // Products of query i become exponentials less the largest so far; what stands from blocks before is brought to it.
  void weigh(const Parts& parts, int64_t i, int64_t seen) const {
    R* row = parts.weights + i * kAttentionBlock;
    if (seen == 0) return void(std::fill_n(row, kAttentionBlock, R(0)));
    const auto& reduce = reductions_of_rows<R>();
    const R before = parts.largest[i], block = this->scale_ > 0 ? reduce.maximum(row, seen) : reduce.minimum(row, seen);
    const R most = std::max(before, this->scale_ * block);
    this->exponentials(row, most, seen, row);
    const R factor = std::exp(before - most);
    parts.largest[i] = most;
    parts.total[i] = parts.total[i] * factor + reduce.sum(row, seen);
    R* out = parts.out + i * this->s_.padded;
    for (int64_t d = 0; d < this->s_.size; ++d) out[d] *= factor;
  }

  void drop(const Run& run, int64_t n, int64_t head, int64_t t, int64_t first, int64_t seen, R* row) const {
    R kept[kAttentionBlock];
    this->draw_kept(run, n, head, t, first, seen, kept);
    for (int64_t j = 0; j < seen; ++j) row[j] *= kept[j];
  }

  Operand q_, k_, v_, y_, sums_;
  Arrays arrays_{};
};

const KernelRegistration attention_kernel{ops::attention, 0, make_attention_kernel<AttentionKernel>};

}  // namespace

}  // namespace neon::cpu
