// A convolution of few channels whose filters step by two along a row, or its gradient by the filters, by the kernels
// of pairs_convolution.cuh and pairs_filters.cuh: which tiles their blocks make.
#pragma once
#include <optional>
#include <string>

#include "backends/cuda/tile_convolution_plan.h"
#include "backends/graph/passes.h"

namespace neon::cuda {

// The kernels' first argument. Whoever launches them fills in what describes the arrays.
struct PairTables {
  TileTables::Map image, results;  // the results, or the gradient given for them
  int across, down, along, tiles;
};

struct PairTiles {
  // None where pairs_pixels() says no, where channels are other than four, or something is added to the results.
  static std::optional<PairTiles> of(const LoweredKernel& kernel, const Graph& graph, int arch, int processors);

  int64_t shared_bytes() const;
  // Bytes of the gradient's slices, each of which has sums of f32 for all filters; of the parts of a convolution's
  // sums.
  size_t workspace_bytes() const;
  int64_t slices() const { return blocks / tables.along; }
  // Parts of each map's sums, one a block.
  int64_t parts() const { return blocks / tables.along; }
  std::string source() const;

  DType dtype = DType::f16;
  std::optional<DType> bias;
  bool relu = false, gradient = false;
  bool sums = false;                                  // the results are summed up, too, and their squares
  Shape image, results, filters;                      // (N,H,W,4), (N,P,Q,K), (K,R,S,4)
  int64_t row_step = 1, before_rows = 0, before = 0;  // of the windows; pixels of padding
  int64_t columns = 64;                               // maps of a tile
  int64_t wide = 1, high = 1;                         // squares of a tile
  int64_t pitch = 0, rows = 0;                        // pixels and rows of a halo
  int64_t places = 2, blocks = 0;                     // for halos in shared memory; of the launch
  int64_t of_processor = 1;                           // blocks that run at once
  PairTables tables{};

 private:
  bool set_tile(int processors);
  double cycles() const;
  // Places of the filters that are 0, for windows that begin at odd pixels.
  int64_t in_front() const { return before % 2; }
  int64_t pairs_of_row() const { return (in_front() + filters[2] + 1) / 2; }
};

// The hook of lowering, DeviceKernels::pairs_pixels: windows of an image of at most four channels step by two along a
// row of even length, are at least three wide and of more than 64 numbers; 16 bits, some work, compute capability 9.0.
bool pairs_pixels(const Graph& graph, const Node& node, const DeviceKernels& kernels);

}  // namespace neon::cuda
