#include "backends/cuda/early_launch.h"

#include <algorithm>
#include <exception>
#include <set>

#include "neon/core/threads.h"

namespace neon::cuda {

namespace {

// Seen on an H100: GoogLeNet's 0.36 s of launches take 0.19 with 4 threads beside other work, and as long with 8.
constexpr size_t kMostThreads = 4, kLeastLaunches = 2;  // of a thread

void record(const std::vector<EarlyLaunch>& launches, CUstream stream) {
  if (cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED) != CUDA_SUCCESS) return;
  try {
    for (const EarlyLaunch& l : launches) l.kernel->run(l.arrays, l.workspace);
  } catch (const std::exception&) {
  }
  CUgraph graph = nullptr;
  cuStreamEndCapture(stream, &graph);
  if (graph) cuGraphDestroy(graph);
}

}  // namespace

void EarlyLaunches::begin(std::vector<EarlyLaunch> launches) {
  end();
  std::set<const void*> seen;
  std::erase_if(launches, [&](const EarlyLaunch& l) {
    const std::vector<const void*> plans = l.kernel->plans();
    if (std::ranges::any_of(plans, [&](const void* plan) { return seen.count(plan) > 0; })) return true;
    seen.insert(plans.begin(), plans.end());
    return false;
  });
  const size_t count = std::min({launches.size() / kLeastLaunches, size_t(available_threads()), kMostThreads});
  std::vector<std::vector<EarlyLaunch>> shares(count);
  for (size_t i = 0; count && i < launches.size(); ++i) shares[i % count].push_back(launches[i]);
  try {
    for (size_t i = 0; i < count; ++i) {
      if (i == streams_.size()) {
        CUstream made = nullptr;
        check(cuStreamCreate(&made, CU_STREAM_NON_BLOCKING), "making a stream");
        streams_.push_back(made);
      }
      threads_.emplace_back([share = shares[i], device = device_, stream = streams_[i]] {
        device->use();
        const OwnStream own(stream);
        record(share, stream);
      });
    }
  } catch (const std::exception&) {  // no thread or stream more, nor is one needed
  }
}

}  // namespace neon::cuda
