#include "backends/cuda/pairs_plan.h"

#include <algorithm>
#include <limits>

#include "backends/cuda/code_text.h"
#include "backends/cuda/product_text.h"
#include "backends/cuda/source.h"
#include "backends/graph/windows.h"

extern const char result_sums_text[], pairs_convolution_text[], pairs_filters_text[], slices_text[], squares_text[],
    tensor_copies_text[];
extern const unsigned long result_sums_text_size, pairs_convolution_text_size, pairs_filters_text_size,
    slices_text_size, squares_text_size, tensor_copies_text_size;

namespace neon::cuda {

namespace {

constexpr int64_t kMostSquares = 8, kMapsOfGiven = 64;
constexpr int64_t kMostFilterSums = 112;  // of a thread, for the filters' gradient
constexpr int64_t kMostOfProcessor = 3;   // blocks: more have no registers
constexpr int64_t kHalos = 2, kMostTiles = 4, kLeastTiles = 3;

bool suits(DType dtype, const Shape& x, const Shape& filters, const Shape& y, const Windows& windows, int arch) {
  if (arch != kTileArch || size_of(dtype) != 2 || !is_floating(dtype)) return false;
  if (x.elements() == 0 || y.elements() == 0 || x[3] > kChannelsOfPair || x[2] % 2 || y[3] % 8) return false;
  if (windows.strides[1] != 2 || windows.dilation != std::vector<int64_t>{1, 1}) return false;
  const int64_t numbers = filters[1] * filters[2] * x[3], pairs = (windows.before[1] % 2 + filters[2] + 1) / 2;
  if (filters[2] < 3 || numbers <= 64 || filters[1] * 4 * pairs > kMostFilterSums) return false;
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (x.elements() / x[3] * kChannelsOfPair > kMost || y.elements() > kMost) return false;
  return x[0] >= kLeastImages && 2.0 * double(y.elements() * numbers) >= kLeastWork;
}

}  // namespace

bool pairs_pixels(const Graph& graph, const Node& node, const DeviceKernels& kernels) {
  const TensorType &x = graph.type(node.inputs[0]), &other = graph.type(node.inputs[1]);
  if (x.shape.rank() != 4 || x.dtype != other.dtype || node.attributes.integer("groups") != 1) return false;
  const bool forward = node.op->traits.convolution == ConvolutionKind::forward;
  const std::vector<int64_t> size =
      forward ? std::vector<int64_t>{other.shape[1], other.shape[2]} : node.attributes.integers("sizes");
  const Windows windows = windows_of(node.attributes, size);
  const std::vector<int64_t> outputs = windows.outputs(std::vector<int64_t>{x.shape[1], x.shape[2]});
  const int64_t maps = forward ? other.shape[0] : other.shape[3];
  return suits(x.dtype, x.shape, {maps, size[0], size[1], x.shape[3]}, {x.shape[0], outputs[0], outputs[1], maps},
               windows, kernels.arch);
}

std::optional<PairTiles> PairTiles::of(const LoweredKernel& kernel, const Graph& graph, int arch, int processors) {
  const ConvolutionKind kind = kernel.convolution();
  const bool forward = kind == ConvolutionKind::forward;
  if ((!forward && kind != ConvolutionKind::by_filters) || kernel.addend()) return {};
  if (kernel.outputs.size() != 1 && !kernel.folds()) return {};
  PairTiles c;
  c.gradient = !forward, c.dtype = graph.dtype(kernel.inputs[0]);
  c.image = graph.shape(kernel.inputs[0]);
  c.filters = graph.shape(forward ? kernel.inputs[1] : kernel.outputs[0]);
  c.results = graph.shape(forward ? kernel.outputs[0] : kernel.inputs[1]);
  if (c.image.rank() != 4 || c.image[3] != kChannelsOfPair || kernel.attributes.integer("groups") != 1) return {};
  if (graph.dtype(kernel.inputs[1]) != c.dtype || graph.dtype(kernel.outputs[0]) != c.dtype) return {};
  const Windows windows = windows_of(kernel.attributes, {c.filters[1], c.filters[2]});
  if (!suits(c.dtype, c.image, c.filters, c.results, windows, arch)) return {};
  if (kernel.bias()) c.bias = graph.dtype(kernel.bias());
  c.relu = kernel.relu(), c.sums = kernel.folds() != nullptr;
  c.row_step = windows.strides[0], c.before_rows = windows.before[0], c.before = windows.before[1];
  c.columns = c.gradient ? kMapsOfGiven : c.results[3] <= 32 ? 32 : c.results[3] <= 64 ? 64 : 128;
  double least = std::numeric_limits<double>::infinity();
  PairTiles best;
  for (c.wide = 1; c.wide <= kMostSquares; ++c.wide)
    for (c.high = 1; c.wide * c.high <= kMostSquares; ++c.high) {
      if (!c.set_tile(processors)) continue;
      if (const double took = c.cycles(); took < least) least = took, best = c;
    }
  if (least == std::numeric_limits<double>::infinity()) return {};
  return best;
}

// The halo of a tile, its places in shared memory and the blocks. False without room.
bool PairTiles::set_tile(int processors) {
  pitch = 2 * (wide * kSquareSide - 1 + pairs_of_row()), rows = (high * kSquareSide - 1) * row_step + filters[1];
  if (pitch * kChannelsOfPair > kMostOfBox || rows > kMostOfBox) return false;
  tables.across = int(quotient_up(results[2], wide * kSquareSide));
  tables.down = int(quotient_up(results[1], high * kSquareSide));
  tables.along = int(quotient_up(results[3], columns));
  tables.tiles = int(tables.across * tables.down * results[0]);
  places = gradient ? kMostTiles : kHalos;
  of_processor = gradient ? 2 : columns > 64 ? 2 : kMostOfProcessor;
  const auto fits = [&] { return (shared_bytes() + 1024) * of_processor <= kMostShared; };
  while (gradient && places > kLeastTiles && !fits()) --places;
  while (!gradient && of_processor > 1 && !fits()) --of_processor;
  const int64_t most = std::max<int64_t>(processors * of_processor / tables.along, 1);
  blocks = std::min<int64_t>(most, tables.tiles) * tables.along;
  return fits();
}

// The time of a block, about: bytes that come and go, and some for each tile.
double PairTiles::cycles() const {
  const int64_t halo = pitch * rows * kChannelsOfPair * 2, made = wide * high * 64 * columns * 2;
  const double tiles_of_block = double(quotient_up(tables.tiles, blocks / tables.along));
  return tiles_of_block / double(of_processor) * double(halo + made + 3000);
}

int64_t PairTiles::shared_bytes() const {
  const auto up = [](int64_t bytes, int64_t to) { return (bytes + to - 1) / to * to; };
  const int64_t halo = pitch * rows * kChannelsOfPair * 2, barriers = 8 * 2 * places;
  if (gradient) return 1024 + places * (wide * high * 64 * kMapsOfGiven * 2 + up(halo, 1024)) + barriers;
  const int64_t filter_pairs = up(filters[1] * pairs_of_row(), 2), stored = 64 * std::min<int64_t>(columns, 64);
  return 1024 + 2 * stored * 2 + filter_pairs * columns * 16 + places * up(halo, 128) + barriers +
         (sums ? columns * 4 : 0);
}

size_t PairTiles::workspace_bytes() const {
  if (gradient) return size_t(slices() * filters.elements()) * sizeof(float);
  return sums ? size_t(results[3] * parts()) * kBytesOfPart : 0;
}

std::string PairTiles::source() const {
  const auto flag = [](bool is) { return is ? "true" : "false"; };
  const std::string numbers =
      text("constexpr int kWide = ", wide, ", kHigh = ", high, ", kPitch = ", pitch, ", kHaloRows = ", rows,
           gradient ? ", kStages = " : ", kHalos = ", places, ", kRowStep = ", row_step, ", kFilterRows = ", filters[1],
           ", kTaps = ", filters[2], ", kInFront = ", in_front(), ", kBefore = ", before + in_front(),
           ", kBeforeRows = ", before_rows, ", kAllMaps = ", results[3], ", kBlocks = ", of_processor, ";\n");
  const std::string head = text(source_head(), "typedef ", device_type(dtype), " T;\n",
                                multiply_add_text(dtype, gradient ? 8 * filters[1] : columns, gradient, gradient),
                                std::string_view(tensor_copies_text, tensor_copies_text_size));
  if (gradient)
    return text(head, numbers, std::string_view(pairs_filters_text, pairs_filters_text_size),
                std::string_view(slices_text, slices_text_size));
  return text(head, numbers, "constexpr int kColumns = ", columns, ", kResultRows = ", results[1],
              ", kResultColumns = ", results[2], ";\ntypedef ", device_type(bias.value_or(DType::f32)),
              " Bias;\nconstexpr bool kBias = ", flag(bias.has_value()), ", kRelu = ", flag(relu),
              ", kSums = ", flag(sums), ";\n", pair_text(dtype), std::string_view(squares_text, squares_text_size),
              std::string_view(result_sums_text, result_sums_text_size),
              std::string_view(pairs_convolution_text, pairs_convolution_text_size));
}

}  // namespace neon::cuda
