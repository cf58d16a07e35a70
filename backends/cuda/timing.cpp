#include "backends/cuda/timing.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <mutex>

#include "backends/cuda/fastest.h"
#include "neon/core/random.h"
#include "neon/core/tensor.h"

namespace neon::cuda {

namespace {

constexpr int kTimedRuns = 8;  // fewer where they would take longer than kLongMilliseconds

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
  RunTime time(const std::function<void()>& start) {
    const auto before = std::chrono::steady_clock::now();
    check(cuEventRecord(begin_, device_.stream()), "timing");
    start();
    check(cuEventRecord(end_, device_.stream()), "timing");
    const std::chrono::duration<float, std::milli> starting = std::chrono::steady_clock::now() - before;
    check(cuEventSynchronize(end_), "timing");
    float between = 0;
    check(cuEventElapsedTime(&between, begin_, end_), "timing");
    return {between, starting.count()};
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
  const int runs = int(std::clamp(kLongMilliseconds / once, 1.0f, float(kTimedRuns)));
  const Recording recording(device, runs, run);
  recording.launch();
  return watch.time([&] { recording.launch(); }).between / float(runs);
}

// Drawn once: that takes longer than timing many a kernel.
const Tensor& uniform_numbers(DType dtype) {
  static std::mutex mutex;
  static std::map<DType, Tensor> made;
  const std::lock_guard lock(mutex);
  const auto [entry, added] = made.try_emplace(dtype, dtype, Shape{1 << 16});
  if (added) {
    Stream stream(1, "timing");
    for (int64_t i = 0; i < entry->second.elements(); ++i) entry->second.set(i, stream.uniform() - 0.5);
  }
  return entry->second;
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
  return repeated(device, type, uniform_numbers(type.dtype));
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
  return fastest(
      count, [&](size_t i) { return watch.time([&] { run(i); }); },
      [&](size_t i, float once) { return in_a_row(device, watch, once, [&] { run(i); }); });
}

}  // namespace neon::cuda
