// matmul in loops of our own, for f64, which oneDNN does not have. Rows of the result are blocked so that the
// right operand stays in cache; each result is summed in one fixed order.
#include <omp.h>

#include <algorithm>

#include "backends/cpu/kernel.h"
#include "backends/graph/ops.h"

namespace neon::cpu {

namespace {

constexpr int64_t kRowBlock = 4;

class LoopMatmul : public Kernel {
 public:
  LoopMatmul(const LoweredKernel& kernel, Context& context)
      : a_(context.slot(kernel.inputs[0])),
        b_(context.slot(kernel.inputs[1])),
        c_(context.slot(kernel.outputs[0])),
        bias_(kernel.bias() ? context.slot(kernel.bias()) : nullptr),
        relu_(kernel.relu()),
        ta_(kernel.attributes.integer("transpose_a")),
        tb_(kernel.attributes.integer("transpose_b")),
        threads_(context.threads) {
    const Shape &a = context.type(kernel.inputs[0]).shape, &c = context.type(kernel.outputs[0]).shape;
    rows_ = c[0];
    columns_ = c[1];
    inner_ = a[ta_ ? 0 : 1];
    if (ta_) a_rows_ = Tensor(DType::f64, {rows_, inner_});
    if (tb_) b_rows_ = Tensor(DType::f64, {inner_, columns_});
  }

  void run(const Run&) override {
    const auto* a = static_cast<const double*>(*a_);
    const auto* b = static_cast<const double*>(*b_);
    if (ta_) a = transposed(a, inner_, rows_, a_rows_);
    if (tb_) b = transposed(b, columns_, inner_, b_rows_);
    auto* c = static_cast<double*>(*c_);
    const auto* bias = bias_ ? static_cast<const double*>(*bias_) : nullptr;
    const int64_t blocks = (rows_ + kRowBlock - 1) / kRowBlock;
#pragma omp parallel for num_threads(threads_) schedule(static) if (rows_ * columns_ * inner_ > 65536)
    for (int64_t block = 0; block < blocks; ++block) {
      for (int64_t m = block * kRowBlock; m < std::min(rows_, (block + 1) * kRowBlock); ++m) {
        double* row = c + m * columns_;
        for (int64_t n = 0; n < columns_; ++n) row[n] = bias ? bias[n] : 0;
        for (int64_t k = 0; k < inner_; ++k) {
          const double factor = a[m * inner_ + k];
          const double* right = b + k * columns_;
          for (int64_t n = 0; n < columns_; ++n) row[n] += factor * right[n];
        }
        if (relu_)
          for (int64_t n = 0; n < columns_; ++n) row[n] = row[n] <= 0 ? 0 : row[n];
      }
    }
  }

  std::string implementation() const override { return "loops"; }

 private:
  // x (rows, columns) -> (columns, rows)
  static const double* transposed(const double* x, int64_t rows, int64_t columns, Tensor& to) {
    auto* y = static_cast<double*>(to.data());
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) y[j * rows + i] = x[i * columns + j];
    return y;
  }

  void **a_, **b_, **c_, **bias_;
  bool relu_, ta_, tb_;
  int threads_;
  int64_t rows_ = 0, columns_ = 0, inner_ = 0;
  Tensor a_rows_, b_rows_;
};

std::unique_ptr<Kernel> make_matmul_loops(const LoweredKernel& kernel, Context& context) {
  if (context.type(kernel.outputs[0]).dtype != DType::f64) return nullptr;
  return std::make_unique<LoopMatmul>(kernel, context);
}

const KernelRegistration matmul_loops_kernel(ops::matmul, 10, make_matmul_loops);

}  // namespace

}  // namespace neon::cpu
