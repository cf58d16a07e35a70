// A convolution of images, or its gradient by the input, by the kernel of tile_convolution.cuh: which tiles its blocks
// make, and which pixels each place of the filters meets.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "backends/cuda/tile_meetings.h"

namespace neon::cuda {

// Places of the filters that read one plane of the input and make one plane of results.
struct TilePart {
  int from, to, row, column, first, places;
};

// The kernel's first argument. Whoever launches it fills in what describes the arrays, as CUtensorMap.
struct TileTables {
  struct alignas(64) Map {
    std::array<std::byte, 128> bytes;
  };
  Map inputs[kMostPlanes], results[kMostPlanes], filters;
  int pitch, pixels;
  int across, down, along, planes, pieces, tiles;
  int parts_of[kMostPlanes + 1];
  TilePart parts[kMostPlanes];
  unsigned places[kMostPlaces];
};

constexpr size_t kBytesOfPart = 16;  // of the sums of a map's results, see result_sums.cuh

constexpr int kStripRows = 4;  // strips are multiples of it

struct TileConvolution {
  // None where fits_tiles() says no, or halos do not fit.
  static std::optional<TileConvolution> of(const LoweredKernel& kernel, const Graph& graph, int arch, int processors);

  int64_t halo_bytes() const { return (int64_t(tables.pixels) * depth * 2 + 1023) / 1024 * 1024; }
  int64_t shared_bytes() const;
  int blocks(int processors) const { return std::min(tables.tiles, processors); }
  // Parts of each map's sums: of each half of a block.
  int64_t parts(int processors) const { return 2 * blocks(processors); }
  int64_t tile_width() const { return wide * kSquareSide; }
  int64_t tile_height() const { return high * (strip > 0 ? strip : kSquareSide); }
  // Rows of pixels that are stored at once.
  int64_t stored_rows() const { return strip == 0 ? kSquareSide : turns ? strip : kStripRows; }
  std::string source() const;
  // The share of the products that make a result, others being beside the images.
  double filled() const;

  DType dtype = DType::f16;
  std::optional<DType> bias;
  bool relu = false, gradient = false;
  bool sums = false;        // the results are summed up, too, and their squares; halves then take turns
  Shape from, to, filters;  // (N,H,W,C), (N,P,Q,K), or both the other way round; (K,R,S,C)
  std::vector<Plane> inputs, results;
  int depth = 64, columns = 64;  // channels of a halo, maps of a tile
  int wide = 1, high = 1;        // squares of a tile, or strips
  int strip = 0;                 // pixels that a strip is high; 0: tiles are of squares
  int halos = 2, stages = 3;     // places in shared memory
  bool turns = false;            // halves of a block take strips in turn, and all filters stay in shared memory
  int rows = 0;                  // of a halo
  TileTables tables{};
};

}  // namespace neon::cuda
