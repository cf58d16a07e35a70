#include "backends/cuda/result_folds.h"

#include "backends/cuda/pairs_plan.h"
#include "backends/cuda/tile_convolution_plan.h"
#include "backends/graph/folds.h"

namespace neon::cuda {

namespace {

// A smaller result is read from the cache, and a kernel more takes as long.
constexpr size_t kLeastFolded = 16 << 20;
constexpr int64_t kMostColumns = 64;  // maps of a tile of pairs, for whose sums a thread has registers
constexpr double kWellFilled = 0.8;   // strips that halves take in turn, seen on an H200

}  // namespace

bool folds_result(const LoweredKernel& kernel, const Graph& graph, const FusedKernel& code,
                  const DeviceKernels& kernels) {
  const Value made = kernel.outputs[0];
  if (graph.type(made).bytes() < kLeastFolded || !shifted_sums(code, made)) return false;
  if (const auto pairs = PairTiles::of(kernel, graph, kernels.arch, kernels.processors))
    return pairs->columns <= kMostColumns;
  const auto tiles = TileConvolution::of(kernel, graph, kernels.arch, kernels.processors);
  return tiles && tiles->turns && tiles->filled() >= kWellFilled;
}

}  // namespace neon::cuda
