// The gradient of a convolution's filters by the kernel of tile_filters.cuh: tiles, and products of runs of places.
#pragma once
#include "backends/cuda/tile_convolution_plan.h"

namespace neon::cuda {

constexpr int kMostRuns = 128, kMostGroups = 64, kTeams = 3, kMapsOfTile = 64;

// Places of the filters that lie a step apart in a row and read one plane: the halo's pixel of the first, its number,
// how many.
struct PlaceRun {
  int at, first, count;
};
// Runs that read one halo, one a team of the block.
struct RunGroup {
  int from, row, column, first, count;
};

// The kernel's first argument. Whoever launches it fills in what describes the arrays.
struct FilterTables {
  TileTables::Map inputs[kMostPlanes], given;
  int pitch, pixels, step_of_pixels, step_of_places;
  int across, down, tiles, slices;
  int groups, along, maps, places, channels;
  RunGroup groups_of[kMostGroups];
  PlaceRun runs[kMostRuns];
};

struct TileFilters {
  // None where fits_tiles() says no, or tiles and halos do not fit.
  static std::optional<TileFilters> of(const LoweredKernel& kernel, const Graph& graph, int arch, int processors);

  int64_t tile_bytes() const { return int64_t(wide) * high * kSquareSide * kSquareSide * kMapsOfTile * 2; }
  int64_t halo_bytes() const { return (int64_t(tables.pixels) * depth * 2 + 1023) / 1024 * 1024; }
  int64_t shared_bytes() const;
  int64_t blocks() const;
  // Bytes of the slices, each of which has sums of f32 for all filters.
  size_t workspace_bytes() const;
  // The share of the products of pixels that are the given gradient's.
  double filled() const;
  std::string source() const;

  DType dtype = DType::f16;
  Shape input, given, filters;  // (N,H,W,C), (N,P,Q,K), (K,R,S,C)
  std::vector<Plane> planes;    // of the input
  int depth = 64, run = 1;      // channels and places of a product
  int wide = 1, high = 1;       // squares of a tile
  int stages = 2, rows = 0;     // tiles in shared memory; rows of a halo
  FilterTables tables{};
};

}  // namespace neon::cuda
