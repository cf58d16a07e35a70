// Which pixels the places of a convolution's filters meet, plane by plane.
#pragma once
#include <vector>

#include "backends/graph/lower.h"
#include "backends/graph/windows.h"

namespace neon::cuda {

constexpr int kMostPlanes = 4, kMostPlaces = 128;
constexpr int kSquareSide = 8;  // of a square of pixels, 64 rows of a product
constexpr int64_t kLeastImages = 8;
constexpr double kLeastWork = 1e9;  // operations; of less, launches are most of the time
constexpr int kTileArch = 90;       // whose instructions the kernels' are
constexpr int64_t kMostShared = int64_t(227) << 10, kMostOfBox = 256;  // bytes of a block; of a copy along an axis

// Every step-th row and column of an array (N,H,W,C), from the first ones on.
struct Plane {
  int64_t first_row, first_column, row_step, column_step;
};

// A place of the filters: the plane that it reads, the plane that it makes, the pixels between them.
struct TileMeeting {
  int from, to;
  int64_t row, column;
  int place;
};

// By places in order. Windows that step make planes of the input, for the gradient by the input planes of results.
std::vector<TileMeeting> meetings_forward(const Windows& windows);
std::vector<TileMeeting> meetings_of_gradient(const Windows& windows);
std::vector<Plane> planes_of(const Windows& windows);

// Channels that a copy takes along.
int tile_depth(int64_t channels);

// Whether a convolution of x (N,H,W,C) and filters (K,R,S,C) to y (N,P,Q,K), or a gradient of one, may be made in
// tiles: in f16 or bf16, without groups and addend, with several places, channels that are a multiple of 8, few planes
// that all have pixels, some work, on compute capability 9.0.
bool fits_tiles(const LoweredKernel& kernel, const Graph& graph, const Shape& x, const Shape& y, const Shape& filters,
                int arch);

}  // namespace neon::cuda
