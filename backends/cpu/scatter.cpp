// scatter_add, the gradient of looked-up rows: the values of each row are brought together by a counting sort, and
// threads add up parts of rows. Sums are in doubles, in the order of the values, so that threads change no bit.
#include <algorithm>

#include "backends/cpu/operand.h"
#include "backends/graph/ops.h"

namespace neon::cpu {

namespace {

constexpr int64_t kColumnsAtOnce = 64;

template <typename R>
class ScatterAdd : public Kernel {
 public:
  ScatterAdd(const LoweredKernel& kernel, Context& context)
      : values_(context, kernel.inputs[0], dtype_of<R>()),
        out_(context, kernel.outputs[0], dtype_of<R>()),
        indices_(context.slot(kernel.inputs[1])),
        count_(values_.shape()[0]),
        rows_(out_.shape()[0]),
        width_(rows_ ? out_.shape().elements() / rows_ : 0),
        threads_(team_of((count_ + rows_) * width_ / kElementsOfOneThread, context.threads)),
        first_(size_t(rows_ + 1)),
        next_(size_t(rows_)),
        order_(size_t(count_)) {}

  void run(const Run&) override {
    sort();
    const R* values = static_cast<const R*>(values_.load(threads_));
    R* out = static_cast<R*>(out_.place());
    const int64_t parts = divided_up(width_, kColumnsAtOnce);
#pragma omp parallel for num_threads(threads_) schedule(dynamic, 16) if (threads_ > 1)
    for (int64_t i = 0; i < rows_ * parts; ++i) add_up(values, i / parts, i % parts * kColumnsAtOnce, out);
    out_.store(threads_);
  }

  std::string implementation() const override { return "scatter"; }

 private:
  // The values of row r are those of places first_[r] to first_[r + 1] of order_.
  void sort() {
    const auto* index = static_cast<const int32_t*>(*indices_);
    std::ranges::fill(first_, 0);
    for (int64_t i = 0; i < count_; ++i) {
      if (index[i] < 0 || index[i] >= rows_)
        fail(ErrorKind::data, "index ", index[i], " at place ", i, " is not in [0, ", rows_, ")");
      ++first_[size_t(index[i]) + 1];
    }
    for (size_t row = 0; row < size_t(rows_); ++row) first_[row + 1] += first_[row], next_[row] = first_[row];
    for (int64_t i = 0; i < count_; ++i) order_[size_t(next_[size_t(index[i])]++)] = i;
  }

  void add_up(const R* values, int64_t row, int64_t column, R* out) const {
    const int64_t columns = std::min(kColumnsAtOnce, width_ - column);
    double sums[kColumnsAtOnce] = {};
    for (int64_t at = first_[size_t(row)]; at < first_[size_t(row) + 1]; ++at) {
      const R* from = values + order_[size_t(at)] * width_ + column;
      for (int64_t k = 0; k < columns; ++k) sums[k] += double(from[k]);
    }
    for (int64_t k = 0; k < columns; ++k) out[row * width_ + column + k] = R(sums[k]);
  }

  Operand values_, out_;
  void** indices_;
  const int64_t count_, rows_, width_;
  const int threads_;
  std::vector<int64_t> first_, next_, order_;
};

// Numbers of floating types; whole ones are the plain kernel's.
std::unique_ptr<Kernel> make_scatter_add(const LoweredKernel& kernel, Context& context) {
  const DType dtype = context.type(kernel.inputs[0]).dtype;
  if (!is_floating(dtype)) return nullptr;
  if (dtype == DType::f64) return std::make_unique<ScatterAdd<double>>(kernel, context);
  return std::make_unique<ScatterAdd<float>>(kernel, context);
}

const KernelRegistration scatter_kernel(ops::scatter_add, 0, make_scatter_add);

}  // namespace

}  // namespace neon::cpu
