#include "backends/cuda/tile_filters_plan.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "backends/cuda/code_text.h"
#include "backends/cuda/product_text.h"
#include "backends/cuda/source.h"
#include "backends/cuda/tile_meetings.h"
#include "backends/graph/windows.h"

extern const char slices_text[], tensor_copies_text[], tile_filters_text[];
extern const unsigned long slices_text_size, tensor_copies_text_size, tile_filters_text_size;

namespace neon::cuda {

namespace {

constexpr int kMostSquares = 8, kMostFilterStages = 4, kLeastFilterStages = 2;
constexpr int kMostRunColumns = 192;  // of a product: a thread's registers hold 96 sums

// A run before its halo is known: the plane's pixel that the first place meets.
struct FoundRun {
  int from, first, count;
  int64_t row, column;
};

// Runs of at most `longest` places, by plane and row.
std::vector<FoundRun> runs_of(const std::vector<TileMeeting>& meetings, int planes, int longest) {
  std::vector<FoundRun> out;
  for (int plane = 0; plane < planes; ++plane)
    for (const TileMeeting& m : meetings) {  // a row's places follow each other
      if (m.from != plane) continue;
      FoundRun* const last = out.empty() ? nullptr : &out.back();
      if (last && last->from == plane && last->row == m.row && last->count < longest) ++last->count;
      else out.push_back({plane, m.place, 1, m.row, m.column});
    }
  return out;
}

// Groups of runs that follow each other in a plane, and the halo that is enough for each. False without room.
bool set_groups(TileFilters& c, const std::vector<FoundRun>& runs) {
  FilterTables& t = c.tables;
  if (runs.size() > size_t(kMostRuns)) return false;
  int64_t tall = 0, broad = 0;
  t.groups = 0;
  std::vector<RunGroup> groups;
  for (size_t first = 0; first < runs.size();) {
    size_t last = first;
    int64_t left = std::numeric_limits<int64_t>::max(), right = std::numeric_limits<int64_t>::min();
    for (; last < runs.size() && last - first < size_t(kTeams) && runs[last].from == runs[first].from; ++last) {
      left = std::min(left, runs[last].column);
      right = std::max(right, runs[last].column + (runs[last].count - 1) * t.step_of_pixels);
    }
    const int64_t top = runs[first].row;  // rows ascend
    tall = std::max(tall, runs[last - 1].row - top), broad = std::max(broad, right - left);
    groups.push_back({runs[first].from, int(top), int(left), int(first), int(last - first)});
    first = last;
  }
  if (groups.size() > size_t(kMostGroups)) return false;
  t.groups = int(groups.size());
  std::ranges::copy(groups, t.groups_of);
  t.pitch = int(c.wide * kSquareSide + broad), c.rows = int(c.high * kSquareSide + tall);
  if (t.pitch > kMostOfBox || c.rows > kMostOfBox) return false;
  t.pixels = t.pitch * c.rows;
  for (const RunGroup& g : groups)
    for (int i = g.first; i < g.first + g.count; ++i) {
      const FoundRun& r = runs[size_t(i)];
      t.runs[i] = {int((r.row - g.row) * t.pitch + r.column - g.column), r.first, r.count};
    }
  return true;
}

bool set_stages(TileFilters& c) {
  for (c.stages = kMostFilterStages; c.stages >= kLeastFilterStages; --c.stages)
    if (c.shared_bytes() <= kMostShared) return true;
  return false;
}

// Blocks that make different filters, and shares of the tiles for so many that all processors have work.
void set_tiles(TileFilters& c, int processors) {
  FilterTables& t = c.tables;
  t.across = int(quotient_up(c.given[2], c.wide * kSquareSide));
  t.down = int(quotient_up(c.given[1], c.high * kSquareSide));
  t.tiles = int(t.across * t.down * c.given[0]);
  t.maps = int(c.filters[0]), t.places = int(c.filters[1] * c.filters[2]), t.channels = int(c.filters[3]);
  t.along = int(quotient_up(t.maps, kMapsOfTile));
  const int64_t units = t.groups * t.along * quotient_up(t.channels, c.depth);
  t.slices = int(std::clamp<int64_t>(processors / units, 1, t.tiles));
}

// Cycles that the kernel takes, about: three teams multiply 2048 pairs of numbers in a cycle, 30 bytes come from the
// cache, and memory takes the slices.
double cycles(const TileFilters& c, int processors) {
  const FilterTables& t = c.tables;
  const double squares = c.wide * c.high, columns = double(c.run) * c.depth;
  const double multiplied = squares * 64 * 64 * columns * kTeams / 1800;
  const double brought = double(c.tile_bytes() + t.pixels * c.depth * 2) / 30;
  const double waves = double(quotient_up(c.blocks(), processors));
  return waves * double(quotient_up(t.tiles, t.slices)) * (std::max(multiplied, brought) + 400) +
         double(c.workspace_bytes()) * 2 / (15 * processors);
}

}  // namespace

std::optional<TileFilters> TileFilters::of(const LoweredKernel& kernel, const Graph& graph, int arch, int processors) {
  if (kernel.convolution() != ConvolutionKind::by_filters || kernel.outputs.size() != 1) return {};
  TileFilters c;
  c.dtype = graph.dtype(kernel.inputs[0]);
  c.input = graph.shape(kernel.inputs[0]), c.given = graph.shape(kernel.inputs[1]);
  c.filters = graph.shape(kernel.outputs[0]);
  if (!fits_tiles(kernel, graph, c.input, c.given, c.filters, arch)) return {};
  const Windows windows = windows_of(kernel.attributes, {c.filters[1], c.filters[2]});
  c.planes = planes_of(windows);
  const int64_t common = std::gcd(windows.strides[1], windows.dilation[1]);
  c.tables.step_of_pixels = int(windows.dilation[1] / common);
  c.tables.step_of_places = int(windows.strides[1] / common);
  c.depth = tile_depth(c.input[3]);
  const std::vector<TileMeeting> meetings = meetings_forward(windows);
  double least = std::numeric_limits<double>::infinity();
  TileFilters best;
  for (c.run = 1; c.run * c.depth <= kMostRunColumns; ++c.run) {
    const std::vector<FoundRun> runs = runs_of(meetings, int(c.planes.size()), c.run);
    for (c.wide = 1; c.wide <= kMostSquares; ++c.wide)
      for (c.high = 1; c.wide * c.high <= kMostSquares; ++c.high) {
        if (!set_groups(c, runs) || !set_stages(c)) continue;
        set_tiles(c, processors);
        if (const double took = cycles(c, processors); took < least) least = took, best = c;
      }
  }
  if (least == std::numeric_limits<double>::infinity()) return {};
  return best;
}

int64_t TileFilters::shared_bytes() const {
  const int64_t beyond = int64_t(run) * tables.step_of_pixels * depth * 2;  // what shorter runs read and leave
  return 1024 + stages * (tile_bytes() + halo_bytes()) + 8 * 2 * stages + beyond;
}

int64_t TileFilters::blocks() const {
  return int64_t(tables.groups) * tables.along * tables.slices * quotient_up(tables.channels, depth);
}

double TileFilters::filled() const {
  const int64_t wanted = given[1] * given[2], made = int64_t(tables.across) * wide * tables.down * high;
  return double(wanted) / double(made * kSquareSide * kSquareSide);
}

size_t TileFilters::workspace_bytes() const { return size_t(tables.slices * filters.elements()) * sizeof(float); }

std::string TileFilters::source() const {
  return text(
      source_head(), "typedef ", device_type(dtype), " T;\nconstexpr int kDepth = ", depth, ", kRun = ", run,
      ", kWide = ", wide, ", kHigh = ", high, ", kStages = ", stages, ", kMostPlanes = ", kMostPlanes,
      ", kMostGroups = ", kMostGroups, ", kMostRuns = ", kMostRuns, ";\n",
      multiply_add_text(dtype, run * depth, true, true), std::string_view(tensor_copies_text, tensor_copies_text_size),
      std::string_view(tile_filters_text, tile_filters_text_size), std::string_view(slices_text, slices_text_size));
}

}  // namespace neon::cuda
