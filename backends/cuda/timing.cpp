#include "backends/cuda/timing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>

#include "neon/core/random.h"
#include "neon/core/tensor.h"

namespace neon::cuda {

namespace {

// Runs of a candidate that are timed: that many, fewer where they would take longer. Of large batches the runs are most
// of what choosing costs.
constexpr int kTimedRuns = 8;
constexpr float kTimedMilliseconds = 4;
// A candidate of which one run, started by the host, takes that much longer than a run of the best is not run again;
// the first one may also load the kernel (15 ms, seen of cuDNN's).
constexpr float kHopeless = 1.5f, kStartMilliseconds = 0.03f, kLoadMilliseconds = 20;

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

// Milliseconds of one of several runs, of which one took `once`.
float in_a_row(const Device& device, Stopwatch& watch, float once, const std::function<void()>& run) {
  const int runs = int(std::clamp(kTimedMilliseconds / once, 1.0f, float(kTimedRuns)));
  const Recording recording(device, runs, run);
  recording.launch();
  watch.start();
  recording.launch();
  return watch.milliseconds() / float(runs);
}

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
  static std::mutex mutex;
  static std::map<DType, Tensor> made;  // drawing them takes longer than many a kernel's timing
  const std::lock_guard lock(mutex);
  const auto [some, added] = made.try_emplace(type.dtype, type.dtype, Shape{1 << 16});
  Stream stream(1, "timing");
  for (int64_t i = 0; added && i < some->second.elements(); ++i) some->second.set(i, stream.uniform() - 0.5);
  return repeated(device, type, some->second);
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
  const auto once = [&](size_t i) {
    watch.start();
    run(i);
    return watch.milliseconds();
  };
  size_t fastest = 0;
  float best = 0;
  for (size_t i = 0; i < count; ++i) {
    const float most = i == 0 ? std::numeric_limits<float>::infinity() : kHopeless * best;
    if (once(i) > most + kLoadMilliseconds) continue;
    float took = once(i);
    if (took > most + kStartMilliseconds) took = once(i);  // the host, which compiles meanwhile, may have been held up
    if (took > most + kStartMilliseconds) continue;
    if (took < kTimedMilliseconds) took = in_a_row(device, watch, took, [&] { run(i); });
    if (i == 0 || took < best) best = took, fastest = i;
  }
  return fastest;
}

}  // namespace neon::cuda
