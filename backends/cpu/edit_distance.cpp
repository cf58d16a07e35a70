// edit_distance on the CPU, a sample a thread: one row of the table of distances, from label to label.
#include <omp.h>

#include <numeric>

#include "backends/cpu/kernel.h"
#include "backends/graph/ops.h"

namespace neon::cpu {

namespace {

class EditDistance : public Kernel {
 public:
  EditDistance(const LoweredKernel& kernel, Context& context)
      : a_(context.slot(kernel.inputs[0])),
        b_(context.slot(kernel.inputs[1])),
        out_(context.slot(kernel.outputs[0])),
        samples_(context.type(kernel.inputs[0]).shape[0]),
        most_a_(context.type(kernel.inputs[0]).shape[1]),
        most_b_(context.type(kernel.inputs[1]).shape[1]),
        threads_(team_of(samples_ * most_a_ * most_b_ / kElementsOfOneThread, context.threads)),
        memory_(size_t(threads_), std::vector<int32_t>(size_t(2 * most_b_ + 1))) {}

  void run(const Run&) override {
#pragma omp parallel for num_threads(threads_) schedule(static) if (threads_ > 1)
    for (int64_t n = 0; n < samples_; ++n) static_cast<float*>(*out_)[n] = float(distance(n));
  }
  std::string implementation() const override { return "edit distance"; }

 private:
  int32_t distance(int64_t n) {
    const int32_t *a = static_cast<const int32_t*>(*a_) + n * most_a_,
                  *b = static_cast<const int32_t*>(*b_) + n * most_b_;
    int32_t* known = memory_[size_t(omp_get_thread_num())].data();
    int64_t count = 0;
    for (int64_t j = 0; j < most_b_; ++j)
      if (b[j] >= 0) known[count++] = b[j];
    int32_t* row = known + count;
    std::iota(row, row + count + 1, 0);
    for (int64_t i = 0; i < most_a_; ++i) {
      if (a[i] < 0) continue;
      int32_t diagonal = row[0]++;
      for (int64_t j = 0; j < count; ++j) {
        const int32_t kept = diagonal + (a[i] != known[j]);
        diagonal = row[j + 1];
        row[j + 1] = std::min({kept, diagonal + 1, row[j] + 1});
      }
    }
    return row[count];
  }

  void **a_, **b_, **out_;
  const int64_t samples_, most_a_, most_b_;
  const int threads_;
  std::vector<std::vector<int32_t>> memory_;  // by thread: labels of b that count, then a row of the table
};

std::unique_ptr<Kernel> make_edit_distance(const LoweredKernel& kernel, Context& context) {
  return std::make_unique<EditDistance>(kernel, context);
}

const KernelRegistration edit_distance_kernel(ops::edit_distance, 0, make_edit_distance);

}  // namespace

}  // namespace neon::cpu
