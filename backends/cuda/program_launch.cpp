// How runs of a program are sent off: as graphs of several, or kernel by kernel.
#include <bit>

#include "backends/cuda/batch_ring.h"
#include "backends/cuda/marks.h"
#include "backends/cuda/program.h"
#include "backends/graph/op.h"

namespace neon::cuda {

namespace {

constexpr size_t kMostExpression = 120;  // bytes of a fused kernel's in a message

}  // namespace

void CudaProgram::run(uint64_t step) {
  engine_->take_turn(this);
  // Whoever wrote variables had the runs before sent off.
  news_ = seen_.take(variables_, !lowered_.graph.assignments().empty()) || news_;
  queue_.push_back(runs_ % kDepth);
  queue_.push_back(step);
  queue_.push_back(uint64_t(first_));
  for (double value : scalar_values_) queue_.push_back(std::bit_cast<uint64_t>(value));
  ++runs_;
  if (++queued_ == (batches_ || marks_ ? 1 : kRunsOfLaunch)) flush();
}

void CudaProgram::time_kernels(bool on) {
  flush();
  drop_graphs();
  engine_->device->make_current();
  marks_ = on ? std::make_unique<Marks>(kernels_.size() + 1) : nullptr;
}

std::vector<double> CudaProgram::kernel_milliseconds() const {
  if (!marks_) return {};
  synchronize();
  return marks_->between();
}

// Sends the queued runs off, in launches of 16, 8, 4, 2 and 1. Where arrays have moved it is kernel by kernel:
// recording a graph pays when it is launched again.
void CudaProgram::flush() {
  if (queued_ == 0) return;
  engine_->early_launches.end();
  const Device& device = *engine_->device;
  device.make_current();
  const size_t row_bytes = (kRecordScalars + scalars_.size()) * 8;
  engine_->device->set_running(name_);
  if (scratch_moves_ != engine_->scratch.moves()) follow_scratch();
  if (batches_) batches_->before_run();
  if (news_) launch_once();
  int sent = 0;
  if (moved_ || engine_->device->waits_for_kernels()) {
    records_.upload(queue_.data(), size_t(queued_) * row_bytes);
    for (; sent < queued_; ++sent) launch_kernels(sent);
    moved_ = false;
  }
  while (sent < queued_) {
    int runs = kRunsOfLaunch;
    while (runs > queued_ - sent) runs /= 2;
    const CUgraphExec graph = graph_of(runs);
    records_.upload(reinterpret_cast<const std::byte*>(queue_.data()) + size_t(sent) * row_bytes,
                    size_t(runs) * row_bytes);
    device.check(cuGraphLaunch(graph, device.stream()), "starting a step on the GPU");
    sent += runs;
  }
  if (batches_) batches_->after_run();
  queued_ = 0;
  queue_.clear();
}

// Queued runs cannot run later: the values that they read may have gone by then.
void CudaProgram::follow_scratch() {
  drop_graphs();
  try {
    find_values();
  } catch (...) {
    queued_ = 0;
    queue_.clear();
    throw;
  }
}

void* CudaProgram::address(Value value) const {
  const Value storage = lowered_.storage[size_t(value.id)];
  void* at = slots_[size_t(storage.id)];
  if (!at) fail(ErrorKind::failed, "input ", leaf_name(lowered_.graph, storage), " of a program is not bound");
  const int64_t first = lowered_.placements[size_t(value.id)].first;
  return static_cast<std::byte*>(at) + size_t(first) * size_of(lowered_.graph.dtype(value));
}

void* CudaProgram::record(int row) const {
  return static_cast<std::byte*>(records_.data()) + size_t(row) * (kRecordScalars + scalars_.size()) * 8;
}

void CudaProgram::launch_kernels(int row) {
  if (marks_) marks_->set(0, engine_->device->stream());
  for (size_t k = 0; k < kernels_.size(); ++k) {
    if (!lowered_.kernels[k].is_once()) launch(k, record(row));
    if (marks_) marks_->set(k + 1, engine_->device->stream());
    wait_for(k);
  }
}

// Makes the kept values of variables that others have written, before the runs that read these values.
void CudaProgram::launch_once() {
  for (size_t k = 0; k < kernels_.size(); ++k) {
    if (!lowered_.kernels[k].is_once()) continue;
    launch(k, record(0));
    wait_for(k);
  }
  news_ = false;
}

// Where every kernel is waited for, which names the one that fails.
void CudaProgram::wait_for(size_t kernel) const {
  if (!engine_->device->waits_for_kernels()) return;
  if (const CUresult result = cuStreamSynchronize(engine_->device->stream()); result != CUDA_SUCCESS)
    check(result, describe(kernel));
}

void CudaProgram::launch(size_t k, void* record) {
  const Kernel& kernel = kernels_[k];
  if (kernel.library) {
    const auto& a = kernel.arrays;
    kernel.library->launch(address(a[0]), address(a[1]), a[2] ? address(a[2]) : nullptr, address(a[3]),
                           kernel.workspace);
    return;
  }
  std::byte* state = static_cast<std::byte*>(ring_.data());
  void *ring = state + kRingOffset, *ticket = partials_.data(),
       *partials = static_cast<std::byte*>(partials_.data()) + ticket_bytes_;
  std::vector<void*> values;
  for (Value value : kernel.arrays) values.push_back(address(value));
  for (void* shared : {static_cast<void*>(state), record, ring, partials, ticket}) values.push_back(shared);
  std::vector<void*> parameters;
  for (void*& value : values) parameters.push_back(&value);
  const CUresult result = cuLaunchKernel(kernel.function, unsigned(kernel.blocks), 1, 1, kThreads, 1, 1, 0,
                                         engine_->device->stream(), parameters.data(), nullptr);
  if (result != CUDA_SUCCESS) engine_->device->check(result, "starting " + describe(k));
}

// "kernel 3 of the training step, matmul + relu in layer Affine_0"
std::string CudaProgram::describe(size_t k) const {
  const LoweredKernel& kernel = lowered_.kernels[k];
  std::string op = summary(kernel);
  if (const FusedKernel* code = kernel.fused ? kernel.fused.get() : kernel.prologue())
    op += " " + code->to_string(lowered_.graph).substr(0, kMostExpression);
  return text("kernel ", k, " of ", name_, ", ", op, kernel.scope.empty() ? "" : " in layer " + kernel.scope);
}

CUgraphExec CudaProgram::graph_of(int runs) {
  CUgraphExec& made = graphs_[runs];
  if (made) return made;
  const CUstream stream = engine_->device->stream();
  CUgraph graph = nullptr;
  check(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED), "recording a step");
  try {
    for (int row = 0; row < runs; ++row) launch_kernels(row);
  } catch (...) {
    cuStreamEndCapture(stream, &graph);
    if (graph) cuGraphDestroy(graph);
    graphs_.erase(runs);
    throw;
  }
  check(cuStreamEndCapture(stream, &graph), "recording a step");
  const CUresult result = cuGraphInstantiate(&made, graph, 0);
  cuGraphDestroy(graph);
  check(result, "preparing a step");
  return made;
}

void CudaProgram::drop_graphs() {
  for (const auto& [runs, graph] : graphs_)
    if (graph) cuGraphExecDestroy(graph);
  graphs_.clear();
}

}  // namespace neon::cuda
