#include "backends/cuda/step_launches.h"

namespace neon::cuda {

void StepLaunches::run_once() const {
  for (size_t k = 0; k < kernels_.size(); ++k) {
    if (!kernels_.is_once(k)) continue;
    kernels_.launch(k, memory_, record_.row(0), ring_.data());
    kernels_.wait_for(k);
  }
}

// In launches of 16, 8, 4, 2 and 1.
void StepLaunches::send() {
  const Device& device = *engine_->device;
  const int waiting = record_.waiting();
  int sent = 0;
  if (moved_ || device.waits_for_kernels()) {
    record_.send(0, waiting);
    for (; sent < waiting; ++sent) launch_kernels(sent);
    moved_ = false;
  }
  while (sent < waiting) {
    int runs = kRunsOfLaunch;
    while (runs > waiting - sent) runs /= 2;
    const CUgraphExec graph = graph_of(runs);
    record_.send(sent, runs);
    device.check(cuGraphLaunch(graph, device.stream()), "starting a step on the GPU");
    sent += runs;
  }
}

void StepLaunches::launch_kernels(int row) const {
  const CUstream stream = engine_->device->stream();
  if (marks_) marks_->set(0, stream);
  for (size_t k = 0; k < kernels_.size(); ++k) {
    if (!kernels_.is_once(k)) kernels_.launch(k, memory_, record_.row(row), ring_.data());
    if (marks_) kernels_.join(k), marks_->set(k + 1, stream);
    kernels_.wait_for(k);
  }
  kernels_.end_step();
}

CUgraphExec StepLaunches::graph_of(int runs) {
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

void StepLaunches::drop_graphs() {
  for (const auto& [runs, graph] : graphs_)
    if (graph) cuGraphExecDestroy(graph);
  graphs_.clear();
}

}  // namespace neon::cuda
