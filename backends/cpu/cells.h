// Kernels of recurrent cells: threads share samples and units, and each goes through all steps of its share. They
// compute in f32, or f64 for f64.
#pragma once
#include <omp.h>

#include "backends/cpu/cell_team.h"
#include "backends/cpu/operand.h"
#include "backends/cpu/step_rows.h"
#include "backends/cpu/step_weights.h"
#include "backends/elementwise/kernels.h"

namespace neon::cpu {

// A row of the elementwise table as the function of a cell, and its derivative times g where the result was y.
template <typename R>
class CellFunction {
 public:
  explicit CellFunction(const std::string& name)
      : row_(elementwise::row(name)),
        value_(elementwise::block_function<R>(row_)),
        derivative_(elementwise::derivative_function<R>(row_, 0)) {}
  void apply(const R* x, R* y, int64_t n) const { value_(&x, y, n); }
  // `out` may be g.
  void derive(const R* g, const R* y, R* out, int64_t n) const {
    const R* inputs[2];
    int count = 0;
    if (row_.reads[0] & elementwise::kGradient) inputs[count++] = g;
    if (row_.reads[0] & elementwise::kOutput) inputs[count++] = y;
    derivative_(inputs, out, n);
  }

 private:
  const elementwise::Row& row_;
  elementwise::BlockFunction<R> value_, derivative_;
};

// The parts that all these kernels share: N samples, T steps, H units, the order of steps, functions and lengths.
template <typename R>
class CellKernel : public Kernel {
 public:
  std::string implementation() const override { return "cells"; }

 protected:
  // `states` has the shape (N,T,H); lengths may be an invalid Value. The cell has `gates` parts in its weights.
  CellKernel(const LoweredKernel& kernel, Context& context, Value states, Value lengths, int64_t gates)
      : samples_(context.type(states).shape[0]),
        steps_(context.type(states).shape[1]),
        units_(context.type(states).shape[2]),
        reverse_(kernel.attributes.integer("reverse") != 0),
        threads_(team_of(samples_ * steps_ * gates * units_ * units_ / kProductsOfOneThread, context.threads)),
        activation_(kernel.attributes.string("activation")),
        gate_(kernel.attributes.string("gate")),
        usual_(std::is_same_v<R, float> && kernel.attributes.string("gate") == "logistic" &&
               kernel.attributes.string("activation") == "tanh"),
        spare_(dtype_of<R>(), {threads_, kSpareRows * gates * units_}),
        context_(context),
        stored_(context.type(kernel.outputs[0]).dtype),
        shares_({samples_, units_, kPanel, gates * units_ * units_ * int64_t(std::min(sizeof(R), size_of(stored_)))},
                threads_),
        alone_({samples_, units_, kPanel, 0}, 1),
        lengths_(lengths ? context.slot(lengths) : nullptr) {
    if (size_of(stored_) != 2) return;
    store_ = elementwise::store_function(dtype_of<R>(), stored_);
    load_ = elementwise::load_function(stored_, dtype_of<R>());
  }

  StepWeights<R> weights(const StepSizes& sizes) const {
    return {sizes, stored_ == DType::bf16, shares_.most_samples(), threads_};
  }
  StepRows<R> step_rows(Value value, int64_t parts) { return {context_, value, parts}; }
  // Rows of as many numbers as all gates have, of a share alone; k < kSpareRows.
  R* spare(const CellShare& share, int64_t k) const {
    const int64_t row = spare_.shape()[1] / kSpareRows;
    return static_cast<R*>(const_cast<void*>(spare_.data())) + (share.number * kSpareRows + k) * row;
  }
  Operand operand(Value value) { return Operand(context_, value, dtype_of<R>()); }
  const R* read(Operand& from) { return static_cast<const R*>(from.load(threads_)); }
  static R* place(Operand& to) { return static_cast<R*>(to.place()); }
  // Room of so many numbers for each sample; of two steps in turn, where others still read what was written before.
  Tensor room(int64_t numbers) const { return Tensor(dtype_of<R>(), {samples_, numbers}); }

  // Steps in the order of the cell: number k of the forward pass, k of the backward pass.
  int64_t forward_step(int64_t k) const { return reverse_ ? steps_ - 1 - k : k; }
  int64_t backward_step(int64_t k) const { return forward_step(steps_ - 1 - k); }
  // The step whose state step t takes; -1: the first state.
  int64_t before(int64_t t) const { return reverse_ ? (t + 1 < steps_ ? t + 1 : -1) : t - 1; }
  bool may_pad() const { return lengths_; }
  bool is_padding(int64_t n, int64_t t) const { return lengths_ && t >= static_cast<const int32_t*>(*lengths_)[n]; }
  // body(n, row) for the samples of a share, at step t. The rows of a step lie as far apart as sequences. fetch(row)
  // brings a short row into the cache while the row before is computed; long ones the processor sees coming by itself.
  template <typename Fetch, typename Body>
  void each_row(const CellShare& share, int64_t t, Fetch&& fetch, Body&& body) const {
    for (int64_t n = share.first_sample; n < share.last_sample; ++n) {
      const int64_t row = n * steps_ + t;
      if (share.units <= kShortRow && n + 1 < share.last_sample) fetch(row + steps_);
      body(n, row);
    }
  }
  // Rounds numbers to the type in which the states are stored: a step takes what another run would read.
  void round_as_stored(R* row, int64_t n) const {
    if (!store_) return;
    uint16_t stored[256];
    for (int64_t first = 0; first < n; first += 256) {
      const int64_t count = std::min<int64_t>(256, n - first);
      store_(row + first, stored, count);
      load_(stored, row + first, count);
    }
  }
  // body(share) for all shares, each by a thread of its own.
  template <typename Body>
  void each_share(Body&& body) const {
    if (threads_ == 1) return body(alone_[0]);
#pragma omp parallel num_threads(threads_)
    {
      // A team of another size than asked for cannot meet as planned.
      if (omp_get_num_threads() == shares_.count()) body(shares_[omp_get_thread_num()]);
      else if (omp_get_thread_num() == 0) body(alone_[0]);
    }
  }

  const int64_t samples_, steps_, units_;
  const bool reverse_;
  const int threads_;
  const CellFunction<R> activation_, gate_;
  const bool usual_;  // f32, logistic gates and tanh: loops of their own take the steps

 private:
  static constexpr int64_t kSpareRows = 3;
  static constexpr int64_t kShortRow = 128;  // units; with 512, fetching cost a tenth of a step in bf16
  Tensor spare_;
  static constexpr int64_t kProductsOfOneThread = 1 << 18;  // fewer are not worth a second thread

  Context& context_;
  const DType stored_;
  const CellShares shares_, alone_;
  void** lengths_;
  elementwise::ConvertFunction store_ = nullptr, load_ = nullptr;  // of 16-bit states
};

// A kernel in f32 or f64, as the type of its first input asks for.
template <template <typename> class K>
std::unique_ptr<Kernel> make_cell_kernel(const LoweredKernel& kernel, Context& context) {
  if (context.type(kernel.inputs[0]).dtype == DType::f64) return std::make_unique<K<double>>(kernel, context);
  return std::make_unique<K<float>>(kernel, context);
}

}  // namespace neon::cpu
