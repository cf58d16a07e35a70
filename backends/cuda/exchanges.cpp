#include "backends/cuda/exchanges.h"

#include <algorithm>

#include "backends/graph/ops.h"
#include "backends/graph/plan.h"

namespace neon::cuda {

namespace {

constexpr const char* kWhat = "an exchange between GPUs";

}  // namespace

Exchanges::Exchanges(const Lowered& lowered, Ranks* ranks, std::shared_ptr<Engine> engine)
    : lowered_(lowered), engine_(std::move(engine)) {
  const size_t kernels = lowered_.kernels.size();
  of_.assign(kernels, -1);
  for (size_t k = 0; k < kernels; ++k) {
    if (!lowered_.kernels[k].traits().exchanges) continue;
    of_[k] = int(done_.size());
    done_.push_back(nullptr);
  }
  joins_.assign(kernels + 1, -1);
  if (done_.empty()) return;
  NEON_ASSERT(ranks);
  communicator_ = &engine_->communicator(*ranks);
  // An exchange, which other ranks wait for, comes before other kernels.
  int least = 0, greatest = 0;
  check(cuCtxGetStreamPriorityRange(&least, &greatest), "making a stream");
  check(cuStreamCreateWithPriority(&stream_, CU_STREAM_NON_BLOCKING, greatest), "making a stream");
  check(cuEventCreate(&ready_, CU_EVENT_DISABLE_TIMING), "making an event");
  for (CUevent& done : done_) check(cuEventCreate(&done, CU_EVENT_DISABLE_TIMING), "making an event");
  for (size_t k = 0; k < kernels; ++k)
    if (of_[k] >= 0) joins_[size_t(join_of(lowered_, int(k)))] = of_[k];
}

Exchanges::~Exchanges() {
  engine_->device->use();
  for (const CUevent done : done_)
    if (done) cuEventDestroy(done);
  if (ready_) cuEventDestroy(ready_);
  if (stream_) cuStreamDestroy(stream_);
}

void Exchanges::launch(size_t k, const ProgramMemory& memory) const {
  check(cuEventRecord(ready_, engine_->device->stream()), kWhat);
  check(cuStreamWaitEvent(stream_, ready_, 0), kWhat);
  const LoweredKernel& kernel = lowered_.kernels[k];
  if (kernel.is(ops::exchange)) queue_sum(kernel, memory);
  else queue_rows(kernel, memory);
  check(cuEventRecord(done_[size_t(of_[k])], stream_), kWhat);
}

void Exchanges::queue_rows(const LoweredKernel& kernel, const ProgramMemory& memory) const {
  if (kernel.is(ops::all_to_all)) return queue_all_to_all(kernel, memory);
  const size_t arrays = kernel.inputs.size();
  const bool gathers = kernel.is(ops::all_gather);
  std::vector<MovedRows> moved;
  for (size_t i = 0; i < arrays; ++i) {
    const Shape& shape = lowered_.graph.shape(kernel.inputs[i]);
    moved.push_back({memory.address(kernel.inputs[i]), memory.address(kernel.outputs[i]),
                     rank_rows(kernel.attributes, i, arrays), shape.slice(1, shape.rank()).elements()});
  }
  const DType dtype = lowered_.graph.dtype(kernel.inputs[0]);
  if (gathers) communicator_->all_gather(moved, dtype, stream_);
  else communicator_->reduce_scatter(moved, dtype, stream_);
}

void Exchanges::queue_all_to_all(const LoweredKernel& kernel, const ProgramMemory& memory) const {
  const Value x = kernel.inputs[0];
  const DType dtype = lowered_.graph.dtype(x);
  const RankRows rows = rank_rows(kernel.attributes);
  const bool back = kernel.attributes.integer("back");
  const MovedRows moved{memory.address(x), memory.address(kernel.outputs[0]), rows, lowered_.graph.shape(x).back()};
  if (back) communicator_->rows_to_columns(moved, dtype, stream_);
  else communicator_->columns_to_rows(moved, dtype, stream_);
}

void Exchanges::queue_sum(const LoweredKernel& kernel, const ProgramMemory& memory) const {
  const DType dtype = lowered_.graph.dtype(kernel.inputs[0]);
  std::vector<Summand> arrays;
  for (size_t i = 0; i < kernel.inputs.size(); ++i) {
    const void* const from = memory.address(kernel.inputs[i]);
    const int64_t elements = lowered_.graph.shape(kernel.inputs[i]).elements();
    if (i > 0 && lies_behind(lowered_, kernel.inputs[i - 1], kernel.inputs[i]))
      arrays.back().elements =
          elements + (static_cast<const std::byte*>(from) - static_cast<const std::byte*>(arrays.back().from)) /
                         int64_t(size_of(dtype));
    else arrays.push_back({from, memory.address(kernel.outputs[i]), elements});
  }
  communicator_->sum(arrays, dtype, stream_);
}

void Exchanges::join_before(size_t k) const {
  if (joins_[k] >= 0) wait_for(joins_[k]);
}

// One is done after those before it.
void Exchanges::wait_for(int exchange) const {
  check(cuStreamWaitEvent(engine_->device->stream(), done_[size_t(exchange)], 0), kWhat);
}

}  // namespace neon::cuda
