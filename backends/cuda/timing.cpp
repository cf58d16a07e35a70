#include "backends/cuda/timing.h"

#include <algorithm>
#include <cmath>

#include "neon/core/random.h"
#include "neon/core/tensor.h"

namespace neon::cuda {

namespace {

constexpr int kWarmRuns = 2, kTimedRuns = 8;
// A candidate of which one run, started by the host, takes that much longer than a run of the best is not run again.
constexpr float kHopeless = 1.5f, kStartMilliseconds = 0.03f;

// A pair of marks in the device's stream.
class Stopwatch {
 public:
  explicit Stopwatch(const Device& device) : device_(device) {
    check(cuEventCreate(&begin_, CU_EVENT_DEFAULT), "timing");
    check(cuEventCreate(&end_, CU_EVENT_DEFAULT), "timing");
  }
  ~Stopwatch() {
    cuEventDestroy(begin_);
    cuEventDestroy(end_);
  }
  void start() { check(cuEventRecord(begin_, device_.stream()), "timing"); }
  float milliseconds() {
    check(cuEventRecord(end_, device_.stream()), "timing");
    check(cuEventSynchronize(end_), "timing");
    float took = 0;
    check(cuEventElapsedTime(&took, begin_, end_), "timing");
    return took;
  }

 private:
  const Device& device_;
  CUevent begin_ = nullptr, end_ = nullptr;
};

// Runs in a graph, as those of a step are: of small kernels the clock would else see the host that starts them, which
// libraries need more or less of.
class Recording {
 public:
  Recording(const Device& device, int runs, const std::function<void()>& run) : device_(device) {
    check(cuStreamBeginCapture(device.stream(), CU_STREAM_CAPTURE_MODE_RELAXED), "timing");
    CUgraph graph = nullptr;
    try {
      for (int k = 0; k < runs; ++k) run();
    } catch (...) {
      cuStreamEndCapture(device.stream(), &graph);
      if (graph) cuGraphDestroy(graph);
      throw;
    }
    check(cuStreamEndCapture(device.stream(), &graph), "timing");
    const CUresult result = cuGraphInstantiate(&made_, graph, 0);
    cuGraphDestroy(graph);
    check(result, "timing");
  }
  ~Recording() { cuGraphExecDestroy(made_); }
  Recording(const Recording&) = delete;
  void launch() const { check(cuGraphLaunch(made_, device_.stream()), "timing"); }

 private:
  const Device& device_;
  CUgraphExec made_ = nullptr;
};

}  // namespace

namespace {

Memory repeated(const std::shared_ptr<Device>& device, const TensorType& type, const Tensor& some) {
  Memory out(device, type.bytes(), "timing");
  size_t made = std::min(some.bytes(), out.bytes());
  out.upload(some.data(), made);
  for (size_t more; (more = std::min(made, out.bytes() - made)) > 0; made += more)
    check(cuMemcpyDtoDAsync(out.address() + made, out.address(), more, device->stream()), "timing");
  return out;
}

}  // namespace

Memory varied(const std::shared_ptr<Device>& device, const TensorType& type) {
  Tensor some(type.dtype, {1 << 16});
  Stream stream(1, "timing");
  for (int64_t i = 0; i < some.elements(); ++i) some.set(i, stream.uniform() - 0.5);
  return repeated(device, type, some);
}

Memory broken(const std::shared_ptr<Device>& device, const TensorType& type) {
  Tensor some(type.dtype, {1 << 16});
  for (int64_t i = 0; i < some.elements(); ++i) some.set(i, std::nan(""));
  return repeated(device, type, some);
}

bool is_broken(const Memory& result, DType dtype) {
  Tensor first(dtype, {1});
  result.download(first.data(), first.bytes());
  return std::isnan(first.at(0));
}

size_t fastest_of(const Device& device, size_t count, const std::function<void(size_t)>& run) {
  Stopwatch watch(device);
  size_t fastest = 0;
  float best = 0;
  for (size_t i = 0; i < count; ++i) {
    for (int k = 0; k < kWarmRuns; ++k) run(i);
    watch.start();
    run(i);
    if (const float once = watch.milliseconds(); i > 0 && once > kHopeless * best + kStartMilliseconds) continue;
    const Recording runs(device, kTimedRuns, [&] { run(i); });
    runs.launch();
    watch.start();
    runs.launch();
    const float took = watch.milliseconds() / kTimedRuns;
    if (i == 0 || took < best) best = took, fastest = i;
  }
  return fastest;
}

}  // namespace neon::cuda
