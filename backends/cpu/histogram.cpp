// Histograms of sizes by a table of exponents: no logarithm is taken, and nothing branches, since sizes cannot be
// foreseen. Threads count a run of elements each, in four tables by turns, since neighbours often have the same size
// and would wait for one another's counter.
#include "backends/graph/histogram.h"

#include <omp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "backends/cpu/kernel.h"
#include "backends/elementwise/kernels.h"
#include "backends/graph/ops.h"

namespace neon::cpu {

namespace {

constexpr int64_t kConvertedAtOnce = 1024;  // elements converted at once

class Histogram : public Kernel {
 public:
  Histogram(const LoweredKernel& kernel, Context& context)
      : x_(context.slot(kernel.inputs[0])),
        counts_(context.slot(kernel.outputs[0])),
        elements_(context.type(kernel.inputs[0]).shape.elements()),
        size_(int64_t(size_of(context.type(kernel.inputs[0]).dtype))),
        bins_(kernel.attributes.integer("bins")),
        load_(elementwise::load_function(context.type(kernel.inputs[0]).dtype, DType::f32)),
        entries_(histogram_entries(bins_, kernel.attributes.integer("offset"))) {
    if (kernel.inputs.size() > 1) {
      when_ = context.slot(kernel.inputs[1]);
      load_when_ = elementwise::load_function(context.type(kernel.inputs[1]).dtype, DType::f32);
    }
    threads_ = team_of(elements_ / kElementsOfOneThread, context.threads);
    tables_.assign(size_t(threads_), std::vector<int64_t>(4 * table_size()));
  }

  void run(const Run&) override {
    auto* counts = static_cast<int32_t*>(*counts_);
    std::fill_n(counts, bins_, 0);
    if (!counts_now()) return;
    if (threads_ == 1) {
      count(0, 1);
    } else {
#pragma omp parallel num_threads(threads_)
      for (int part = omp_get_thread_num(); part < threads_; part += omp_get_num_threads()) count(part, threads_);
    }
    for (int64_t bin = 0; bin < bins_; ++bin) {
      int64_t sum = 0;
      for (const auto& table : tables_)
        for (size_t turn = 0; turn < 4; ++turn) sum += table[turn * table_size() + size_t(bin)];
      counts[bin] = int32_t(std::min<int64_t>(sum, std::numeric_limits<int32_t>::max()));
    }
  }

  std::string implementation() const override { return "histogram"; }

 private:
  size_t table_size() const { return size_t(bins_) + 1; }

  bool counts_now() const {
    float open = 1;
    if (when_) load_when_(*when_, &open, 1);
    return open != 0;
  }

  uint32_t bin_of(float x) const {
    const float size = std::fabs(x);
    const bool lifted = size < 0x1p-126f;
    const uint32_t bits = __builtin_bit_cast(uint32_t, lifted ? size * 0x1p64f : size);
    const HistogramEntry& entry = entries_[(bits >> 23) + (lifted ? 0 : kHistogramLift)];
    return entry.bins[(bits & 0x7fffff) >= entry.mantissa];
  }

  void count(int part, int parts) {
    std::vector<int64_t>& table = tables_[size_t(part)];
    std::ranges::fill(table, 0);
    int64_t* const turns[4] = {&table[0], &table[table_size()], &table[2 * table_size()], &table[3 * table_size()]};
    std::array<float, kConvertedAtOnce> block;
    const int64_t last = elements_ * (part + 1) / parts;
    for (int64_t first = elements_ * part / parts; first < last; first += kConvertedAtOnce) {
      const int64_t n = std::min(kConvertedAtOnce, last - first);
      load_(static_cast<const std::byte*>(*x_) + first * size_, block.data(), n);
      for (int64_t i = 0; i < n; ++i) ++turns[i % 4][bin_of(block[size_t(i)])];
    }
  }

  void **x_, **counts_, **when_ = nullptr;
  int64_t elements_, size_, bins_;
  elementwise::ConvertFunction load_, load_when_ = nullptr;
  std::vector<HistogramEntry> entries_;
  int threads_ = 1;
  std::vector<std::vector<int64_t>> tables_;  // by thread: four tables of bins and what is counted nowhere
};

std::unique_ptr<Kernel> make_histogram(const LoweredKernel& kernel, Context& context) {
  return std::make_unique<Histogram>(kernel, context);
}

const KernelRegistration histogram_kernel(ops::histogram, 0, make_histogram);

}  // namespace

}  // namespace neon::cpu
