#include "backends/cuda/tile_convolution_plan.h"

#include <algorithm>
#include <limits>

#include "backends/cuda/code_text.h"
#include "backends/cuda/product_text.h"
#include "backends/cuda/source.h"
#include "backends/graph/windows.h"
#include "neon/core/text.h"

extern const char result_sums_text[], squares_text[], tensor_copies_text[], tile_convolution_text[];
extern const unsigned long result_sums_text_size, squares_text_size, tensor_copies_text_size,
    tile_convolution_text_size;

namespace neon::cuda {

namespace {

constexpr int kMostFilterPlaces = 8, kLeastFilterPlaces = 3;
// Sums of a thread: more would not fit its registers.
constexpr int kMostSumsOfTile = 128;
constexpr int kMostStrip = 32;  // rows of 8 pixels: a product has 256 columns at most

// Parts, places and the halo's size for tiles of c.wide by c.high squares or strips. False where the tables or a copy
// have no room, or where nothing makes some plane of results.
bool set_parts(TileConvolution& c, const std::vector<TileMeeting>& meetings) {
  TileTables& t = c.tables;
  int64_t tall = 0, broad = 0;
  int parts = 0, places = 0;
  std::vector<std::pair<const TileMeeting*, int>> in_order;
  t.planes = int(c.results.size());
  for (int to = 0; to < t.planes; ++to) {
    t.parts_of[to] = parts;
    for (int from = 0; from < int(c.inputs.size()); ++from) {
      int64_t top = kMostOfBox, bottom = -kMostOfBox, left = top, right = bottom;
      const int before = places;
      for (const TileMeeting& m : meetings) {
        if (m.from != from || m.to != to) continue;
        top = std::min(top, m.row), bottom = std::max(bottom, m.row);
        left = std::min(left, m.column), right = std::max(right, m.column);
        in_order.emplace_back(&m, parts), ++places;
      }
      if (places == before) continue;
      if (parts == kMostPlanes || places > kMostPlaces) return false;
      tall = std::max(tall, bottom - top), broad = std::max(broad, right - left);
      t.parts[parts++] = {from, to, int(top), int(left), before, places - before};
    }
    if (t.parts_of[to] == parts) return false;
  }
  t.parts_of[t.planes] = parts;
  t.pitch = int(c.tile_width() + broad), c.rows = int(c.tile_height() + tall);
  if (t.pitch > kMostOfBox || c.rows > kMostOfBox) return false;
  t.pixels = t.pitch * c.rows;
  for (size_t i = 0; i < in_order.size(); ++i) {
    const auto& [m, part] = in_order[i];
    const int64_t at = (m->row - t.parts[part].row) * t.pitch + m->column - t.parts[part].column;
    t.places[i] = unsigned(at) << 16 | unsigned(m->place);
  }
  return true;
}

// Pixels of the largest plane of an array (N,H,W,C).
std::pair<int64_t, int64_t> size_of_plane(const Shape& shape, const std::vector<Plane>& planes) {
  return {quotient_up(shape[1], planes[0].row_step), quotient_up(shape[2], planes[0].column_step)};
}

void set_tiles(TileConvolution& c) {
  TileTables& t = c.tables;
  const auto [height, width] = size_of_plane(c.to, c.results);
  t.across = int(quotient_up(width, c.tile_width())), t.down = int(quotient_up(height, c.tile_height()));
  t.along = int(quotient_up(c.to[3], c.columns)), t.pieces = int(quotient_up(c.from[3], c.depth));
  t.tiles = int(t.across * t.down * t.along * t.planes * c.to[0]);
}

// Places in shared memory: two for halos where that leaves enough for filters, which all need one for halves to take
// turns.
bool set_places(TileConvolution& c) {
  const TileTables& t = c.tables;
  if (c.turns) {
    c.halos = 2, c.stages = t.parts[0].places;
    const bool once = t.along == 1 && t.pieces == 1 && t.planes == 1 && t.parts_of[1] == 1;
    return once && c.shared_bytes() <= kMostShared;
  }
  for (c.halos = 2; c.halos > 0; --c.halos)
    for (c.stages = kMostFilterPlaces; c.stages >= kLeastFilterPlaces; --c.stages)
      if (c.shared_bytes() <= kMostShared) return true;
  return false;
}

// Cycles that the kernel takes, about, as seen on an H200: a block multiplies 1800 pairs of numbers in a cycle, and
// fewer with 64 or 32 columns that are no strip, where shared memory is the bound; it brings 30 bytes from the cache,
// and ends a tile with some stores. Halves that take turns do that while the other multiplies.
double cycles(const TileConvolution& c, int processors) {
  const TileTables& t = c.tables;
  const double squares = double(c.tile_width() * c.tile_height()) / 64, depth = double(t.pieces) * c.depth;
  const double places = double(c.filters[1] * c.filters[2]) / t.planes, parts = double(t.parts_of[t.planes]) / t.planes;
  const double rate = c.columns < 64 ? 900 : c.columns > 64 || c.strip > 0 ? 1800 : 1300;
  const double multiplied = squares * 64 * c.columns * places * depth / rate;
  const double brought = (t.pixels * parts + (c.turns ? 0 : c.columns * places)) * depth * 2 / 30;
  const double ended = 1500 + squares * c.columns * 4;
  const double with_one_halo = c.halos == 1 ? 1000 * parts * t.pieces : 0;
  const double busy = std::max(multiplied, brought), tiles = double(quotient_up(t.tiles, processors));
  if (c.turns) return tiles * (std::max(busy, (busy + ended) / 2) + with_one_halo) + ended;
  return tiles * (busy + ended + with_one_halo);
}

// The fastest tile.
bool choose_tile(TileConvolution& c, const std::vector<TileMeeting>& meetings, int processors) {
  double least = std::numeric_limits<double>::infinity();
  TileConvolution best;
  c.depth = tile_depth(c.from[3]);
  c.columns = c.to[3] <= 32 ? 32 : c.to[3] <= 64 ? 64 : 128;
  const int most = 2 * std::min(4, kMostSumsOfTile / (c.columns / 2));  // squares of two halves of the block
  const auto try_tile = [&] {
    if ((c.sums && !c.turns) || !set_parts(c, meetings)) return;
    set_tiles(c);
    if (!set_places(c)) return;
    if (const double took = cycles(c, processors); took < least) least = took, best = c;
  };
  for (c.wide = 1; c.wide <= most; ++c.wide)
    for (c.high = 1; c.wide * c.high <= most; ++c.high)
      if (c.wide * c.high > 1) try_tile();
  if (c.columns == 64)
    for (c.strip = kStripRows; c.strip <= kMostStrip; c.strip += kStripRows) {
      c.turns = false;
      for (c.wide = 1; c.wide <= 2; ++c.wide) c.high = 3 - c.wide, try_tile();
      c.turns = true, c.wide = c.high = 1, try_tile();
    }
  if (least == std::numeric_limits<double>::infinity()) return false;
  c = best;
  return true;
}

}  // namespace

std::optional<TileConvolution> TileConvolution::of(const LoweredKernel& kernel, const Graph& graph, int arch,
                                                   int processors) {
  const ConvolutionKind kind = kernel.convolution();
  if (kind != ConvolutionKind::forward && kind != ConvolutionKind::by_input) return {};
  TileConvolution c;
  c.gradient = kind == ConvolutionKind::by_input;
  c.from = graph.shape(kernel.inputs[0]), c.filters = graph.shape(kernel.inputs[1]);
  c.to = graph.shape(kernel.outputs[0]);
  if (!fits_tiles(kernel, graph, c.gradient ? c.to : c.from, c.gradient ? c.from : c.to, c.filters, arch)) return {};
  const Windows windows = windows_of(kernel.attributes, {c.filters[1], c.filters[2]});
  c.dtype = graph.dtype(kernel.inputs[0]);
  if (kernel.bias()) c.bias = graph.dtype(kernel.bias());
  c.relu = kernel.relu(), c.sums = kernel.folds() != nullptr;
  c.inputs = c.results = {{0, 0, 1, 1}};
  (c.gradient ? c.results : c.inputs) = planes_of(windows);
  if (!choose_tile(c, c.gradient ? meetings_of_gradient(windows) : meetings_forward(windows), processors)) return {};
  return c;
}

double TileConvolution::filled() const {
  const auto [height, width] = size_of_plane(to, results);
  const int64_t pixels = tables.across * tile_width() * tables.down * tile_height(), maps = tables.along * columns;
  const int64_t wanted = height * width * to[3], made = pixels * maps;
  return double(wanted) / double(made);
}

int64_t TileConvolution::shared_bytes() const {
  const int64_t boxes = strip > stored_rows() ? 2 : 1;
  const int64_t stored = 2 * boxes * kSquareSide * stored_rows() * std::min(columns, 64) * 2,
                barriers = 8 * 2 * (halos + stages + 1);
  return 1024 + halos * halo_bytes() + int64_t(stages) * depth * columns * 2 + stored + barriers;
}

std::string TileConvolution::source() const {
  const char* const type = device_type(dtype);
  const auto flag = [](bool is) { return is ? "true" : "false"; };
  return text(
      source_head(), "typedef ", type, " T;\ntypedef ", device_type(bias.value_or(DType::f32)),
      " Bias;\nconstexpr int kDepth = ", depth, ", kColumns = ", columns, ", kWide = ", wide, ", kHigh = ", high,
      ", kStrip = ", strip, ", kStripRows = ", stored_rows(), ", kHalos = ", halos, ", kStages = ", stages,
      ", kAllMaps = ", to[3], ", kResultRows = ", to[1], ", kResultColumns = ", to[2], ", kMostPlanes = ", kMostPlanes,
      ", kMostPlaces = ", kMostPlaces, ";\nconstexpr bool kTurned = ", flag(gradient), ", kTurns = ", flag(turns),
      ", kBias = ", flag(bias.has_value()), ", kRelu = ", flag(relu), ", kSums = ", flag(sums), ";\n", pair_text(dtype),
      multiply_add_text(dtype, strip > 0 ? strip * kSquareSide : columns, strip > 0 && gradient,
                        strip == 0 && gradient),
      std::string_view(tensor_copies_text, tensor_copies_text_size), std::string_view(squares_text, squares_text_size),
      std::string_view(result_sums_text, result_sums_text_size),
      std::string_view(tile_convolution_text, tile_convolution_text_size));
}

}  // namespace neon::cuda
