// Products of signs as bits: both matrices become bits, 16 rows of the second side by side, and threads share the
// result. All sums are whole numbers, so that threads change no bit.
#include "backends/graph/sign_product.h"

#include <algorithm>
#include <limits>

#include "backends/cpu/operand.h"
#include "backends/elementwise/kernels.h"

namespace neon::cpu {

namespace {

using elementwise::kSignColumns;

constexpr int64_t kRowsAtOnce = 256, kRowsOfStrip = 8;

template <typename R>
bool pack(const elementwise::Signs& signs, const R* x, int64_t n, uint64_t* words, int64_t step) {
  if constexpr (std::is_same_v<R, float>) return signs.pack(x, n, words, step);
  // The nearest float of a number below 0 may be 0.
  bool nan = false;
  for (int64_t i = 0; i < n; i += 64, words += step) {
    *words = 0;
    for (int64_t k = i; k < std::min(i + 64, n); ++k) *words |= uint64_t(x[k] < 0) << (k - i), nan |= x[k] != x[k];
  }
  return nan;
}

// a (M,K), b (N,K) -> y (M,N)
template <typename R>
class SignProduct : public Kernel {
 public:
  SignProduct(const LoweredKernel& kernel, Context& context)
      : a_(context, kernel.inputs[0], dtype_of<R>()),
        b_(context, kernel.inputs[1], dtype_of<R>()),
        y_(context, kernel.outputs[0], dtype_of<R>()),
        rows_(y_.shape()[0]),
        columns_(y_.shape()[1]),
        length_(a_.shape()[1]),
        words_(divided_up(length_, 64)),
        groups_(divided_up(columns_, kSignColumns)),
        threads_(team_of((rows_ + columns_) * length_ / kElementsOfOneThread, context.threads)),
        scratch_(context.scratch),
        a_words_(scratch_.take(size_t(rows_ * words_) * sizeof(uint64_t))),
        b_words_(scratch_.take(size_t(groups_ * kSignColumns * words_) * sizeof(uint64_t))),
        nan_(scratch_.take(size_t(rows_ + columns_))) {}

  void run(const Run&) override {
    pack_all();
    R* y = static_cast<R*>(y_.place());
    const int64_t blocks = divided_up(rows_, kRowsAtOnce);
#pragma omp parallel for num_threads(threads_) collapse(2) if (threads_ > 1)
    for (int64_t block = 0; block < blocks; ++block)
      for (int64_t group = 0; group < groups_; ++group)
        multiply(block * kRowsAtOnce, std::min((block + 1) * kRowsAtOnce, rows_), group, y);
    const auto* nan = scratch_.at<bool>(nan_);
    if (std::find(nan, nan + rows_ + columns_, true) != nan + rows_ + columns_) set_nan(nan, y);
    y_.store(threads_);
  }

  std::string implementation() const override { return "signs"; }

 private:
  void pack_all() {
    const auto *a = static_cast<const R*>(a_.load(threads_)), *b = static_cast<const R*>(b_.load(threads_));
    auto *a_words = scratch_.at<uint64_t>(a_words_), *b_words = scratch_.at<uint64_t>(b_words_);
    auto* nan = scratch_.at<bool>(nan_);
#pragma omp parallel for num_threads(threads_) if (threads_ > 1)
    for (int64_t i = 0; i < rows_ + columns_; ++i) {
      const int64_t j = i - rows_;
      nan[i] = j < 0 ? pack(signs_, a + i * length_, length_, a_words + i * words_, 1)
                     : pack(signs_, b + j * length_, length_,
                            b_words + j / kSignColumns * kSignColumns * words_ + j % kSignColumns, kSignColumns);
    }
    for (int64_t j = columns_; j < groups_ * kSignColumns; ++j)  // columns that fill up the last group
      for (int64_t k = 0; k < words_; ++k)
        b_words[(groups_ - 1) * kSignColumns * words_ + k * kSignColumns + j % kSignColumns] = 0;
  }

  void multiply(int64_t first, int64_t end, int64_t group, R* y) {
    const auto* a = scratch_.at<uint64_t>(a_words_) + first * words_;
    const auto* b = scratch_.at<uint64_t>(b_words_) + group * kSignColumns * words_;
    const int64_t column = group * kSignColumns, count = std::min<int64_t>(kSignColumns, columns_ - column);
    if constexpr (std::is_same_v<R, float>)
      if (count == kSignColumns)
        return signs_.multiply({end - first, words_, length_, columns_}, a, b, y + first * columns_ + column);
    float strip[kRowsOfStrip * kSignColumns];
    for (; first < end; first += kRowsOfStrip, a += kRowsOfStrip * words_) {
      const int64_t rows = std::min(kRowsOfStrip, end - first);
      signs_.multiply({rows, words_, length_, kSignColumns}, a, b, strip);
      for (int64_t i = 0; i < rows; ++i)
        std::copy_n(strip + i * kSignColumns, count, y + (first + i) * columns_ + column);
    }
  }

  void set_nan(const bool* nan, R* y) const {
    for (int64_t i = 0; i < rows_; ++i)
      for (int64_t j = 0; j < columns_; ++j)
        if (nan[i] || nan[rows_ + j]) y[i * columns_ + j] = std::numeric_limits<R>::quiet_NaN();
  }

  Operand a_, b_, y_;
  const int64_t rows_, columns_, length_, words_, groups_;
  const int threads_;
  const elementwise::Signs& signs_ = elementwise::fastest_signs();
  Scratch& scratch_;
  const size_t a_words_, b_words_, nan_;
};

std::unique_ptr<Kernel> make_sign_product(const LoweredKernel& kernel, Context& context) {
  if (context.type(kernel.outputs[0]).dtype == DType::f64)
    return std::make_unique<SignProduct<double>>(kernel, context);
  return std::make_unique<SignProduct<float>>(kernel, context);
}

const KernelRegistration sign_product_kernel(ops::sign_product, 0, make_sign_product);

}  // namespace

}  // namespace neon::cpu
