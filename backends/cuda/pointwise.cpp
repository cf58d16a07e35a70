// With a row for every pixel, P = N H W, and filters w (K,C):
//   convolution                    y (P,K) = x (P,C) · wᵀ
//   convolution_data_gradient      x (P,C) = y (P,K) · w
//   convolution_weight_gradient    w (K,C) = yᵀ · x, of the operands x and y
// Two kernels are made of these, of what is_turnable() and of what fits tiles, and the faster is kept, where the clock
// may choose. Otherwise cuDNN's is left out where it was the slower wherever both were timed.
#include "backends/cuda/pointwise.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <optional>

#include "backends/cuda/convolution.h"
#include "backends/cuda/convolution_case.h"
#include "backends/cuda/disk_cache.h"
#include "backends/cuda/pairs.h"
#include "backends/cuda/product.h"
#include "backends/cuda/tile_convolution.h"
#include "backends/cuda/tile_filters.h"
#include "backends/cuda/timing.h"
#include "backends/cuda/turned.h"
#include "backends/cuda/turned_convolution.h"

namespace neon::cuda {

namespace {

// Empty if the kernel is no product of pixels, or one that cuBLASLt does not take.
std::optional<ProductCase> product_of_pixels(const LoweredKernel& kernel, const Lowered& lowered) {
  const Graph& graph = lowered.graph;
  if (!is_pointwise(kernel, graph) || !is_of_one_type(kernel, graph)) return {};
  auto rows = [&](Value value, bool transposed) {
    const Shape& shape = graph.shape(value);
    const int64_t columns = shape.back();
    return Matrix{shape.elements() / columns, columns, columns, transposed};
  };
  const bool forward = kernel.convolution() == ConvolutionKind::forward,
             of_filters = kernel.convolution() == ConvolutionKind::by_filters;
  ProductCase out{.dtype = graph.dtype(kernel.outputs[0]),
                  .result = graph.dtype(kernel.outputs[0]),
                  .a = rows(kernel.inputs[of_filters], of_filters),
                  .b = rows(kernel.inputs[!of_filters], forward),
                  .c = rows(kernel.outputs[0], false),
                  .bias = bool(kernel.bias()),
                  .addend = bool(kernel.addend()),
                  .relu = kernel.relu(),
                  .swapped = of_filters};
  // Filters (K,1,1,C) have a row for each map.
  const Placement& placement = lowered.placements[size_t(kernel.outputs[0].id)];
  if (placement.lies_together(graph.shape(kernel.outputs[0]).elements())) return out;
  if (placement.row != out.c.columns) return {};
  out.c.stride = placement.stride;
  return out;
}

// Operations from which on the rival is taken without the clock: of less, launches are most of the time.
constexpr double kSurely = 1e8;
// Pixels of an image up to which a gradient of data by 3x3 filters is turned around without the clock.
constexpr int64_t kFewPixels = 16 * 16;

// Whether cuDNN's rival is faster than the first plan of its heuristics, seen in exact f32 with cuDNN 9.19 on an H200.
// In GoogLeNet, AlexNet, VGG-A and OverFeat the clock gave all convolutions of single pixels to cuBLASLt but one, which
// did them in half the time; and it turned 14 of 15 gradients of data by 3x3 filters on up to 14x14 pixels, the largest
// four times as fast, but none by 5x5 filters on 14x14 nor any on 24x24 pixels and more.
bool is_surely_faster(const LoweredKernel& kernel, const Graph& graph, const LibraryOptions& options, bool is_product) {
  const ConvolutionCase of(kernel, graph, options, 0);
  const int64_t most = std::max({of.a.shape.elements(), of.b.shape.elements(), of.c.shape.elements()});
  if (!of.is_exact() || most > std::numeric_limits<int32_t>::max() || of.arithmetic() < kSurely) return false;
  const Shape &w = of.filters().shape, &x = of.c.shape;
  return is_product || (w.rank() == 4 && w[1] == 3 && w[2] == 3 && x[1] * x[2] <= kFewPixels);
}

// Which of two does the kernel first, by the clock.
size_t faster_of(OperandsKernel* const (&both)[2], const LoweredKernel& kernel, const Graph& graph,
                 const std::shared_ptr<Device>& device) {
  auto array = [&](Value value) { return value ? varied(device, graph.type(value)) : Memory(); };
  const Memory a = array(kernel.inputs[0]), b = array(kernel.inputs[1]), bias = array(kernel.bias()),
               addend = array(kernel.addend()), c = array(kernel.outputs[0]),
               workspace(device, std::max(both[0]->workspace_bytes(), both[1]->workspace_bytes()), "timing");
  return fastest_of(*device, 2, [&](size_t i) {
    both[i]->launch({a.data(), b.data(), bias.data(), addend.data(), c.data()}, workspace.data());
  });
}

// Without the clock, where tiles have so many places of the filters to multiply and are filled to this share.
constexpr int64_t kManyPlaces = 25;
constexpr double kWellFilled = 0.75;

std::optional<TileConvolution> tiles_of(const LoweredKernel& kernel, const Graph& graph, const Device& device) {
  return TileConvolution::of(kernel, graph, device.arch(), device.processors());
}
std::optional<TileFilters> tiles_of_filters(const LoweredKernel& kernel, const Graph& graph, const Device& device) {
  return TileFilters::of(kernel, graph, device.arch(), device.processors());
}
std::optional<PairTiles> pairs_of(const LoweredKernel& kernel, const Graph& graph, const Device& device) {
  return PairTiles::of(kernel, graph, device.arch(), device.processors());
}

// The library whose kernel may be faster than cuDNN's own, by its name: if the clock may choose, or if it surely is. ""
// if no library is.
std::string rival_of(const LoweredKernel& kernel, const Lowered& lowered, const Device& device,
                     const LibraryOptions& options) {
  const bool is_product = bool(product_of_pixels(kernel, lowered));
  const auto in_tiles = [&](const auto& tiles) {
    const bool surely = tiles.filters[1] * tiles.filters[2] >= kManyPlaces && tiles.filled() >= kWellFilled;
    return options.timed || surely ? kTiles : "";
  };
  if (kernel.folds()) return kTiles;                           // which alone folds
  if (pairs_of(kernel, lowered.graph, device)) return kTiles;  // channels were filled up for these
  if (const auto tiles = tiles_of(kernel, lowered.graph, device)) return in_tiles(*tiles);
  if (const auto tiles = tiles_of_filters(kernel, lowered.graph, device)) return in_tiles(*tiles);
  const bool is_turned = !is_product && !options.tf32 && is_turnable(kernel, lowered.graph);
  if (!is_product && !is_turned) return "";
  if (!options.timed && !is_surely_faster(kernel, lowered.graph, options, is_product)) return "";
  return is_product ? "cublaslt" : kTurned;
}

std::unique_ptr<OperandsKernel> make_rival(const LoweredKernel& kernel, const Lowered& lowered,
                                           const std::shared_ptr<Device>& device, const LibraryOptions& options) {
  if (const auto product = product_of_pixels(kernel, lowered)) return make_product(*product, device, options);
  if (const auto tiles = pairs_of(kernel, lowered.graph, *device)) return make_pairs(*tiles, device, options.cold);
  if (const auto tiles = tiles_of(kernel, lowered.graph, *device))
    return make_tile_convolution(*tiles, device, options.cold);
  if (const auto tiles = tiles_of_filters(kernel, lowered.graph, *device))
    return make_tile_filters(*tiles, device, options.cold);
  return make_turned_convolution(kernel, lowered.graph, device, options);
}

// Which library did it faster, once that is known.
class Choice {
 public:
  Choice(const LoweredKernel& kernel, const Graph& graph, const Device& device, const LibraryOptions& options)
      : cache_("library", text(device.name(), " cudnn ", convolution_version(), " cublaslt ", product_version())),
        key_(text(kernel.name(), " ", graph.type(kernel.inputs[0]), " ", graph.type(kernel.inputs[1]), " ",
                  kernel.attributes, kernel.bias() ? " bias" : "", kernel.addend() ? " addend" : "",
                  kernel.relu() ? " relu" : "", options.tf32 ? " tf32" : "")) {
    cache_.read(key_, known);
  }
  void write(const std::string& library) const { cache_.write(key_, library); }
  std::string known;

 private:
  DiskCache cache_;
  std::string key_;
};

// The faster of cuDNN's own kernel, which may be null, and of its rival, by the clock or by what is known of it. Where
// there is no room to find out it is cuDNN's, which is then not remembered.
std::unique_ptr<OperandsKernel> make_faster(const LoweredKernel& kernel, const Lowered& lowered,
                                            const std::string& rival, const std::shared_ptr<Device>& device,
                                            const LibraryOptions& options) {
  const Choice choice(kernel, lowered.graph, *device, options);
  if (choice.known == rival)
    if (auto made = make_rival(kernel, lowered, device, options)) return made;
  auto best = make_convolution(kernel, lowered.graph, device, options);
  if (best && choice.known == best->library()) return best;
  try {
    auto other = make_rival(kernel, lowered, device, options);
    if (other && (!best || faster_of({best.get(), other.get()}, kernel, lowered.graph, device) == 1)) {
      choice.write(rival);
      return other;
    }
  } catch (const Error& problem) {
    if (!best || problem.kind() != ErrorKind::memory) throw;
    return best;
  }
  if (best) choice.write(best->library());
  return best;
}

}  // namespace

void prepare_convolutions(const std::vector<const LoweredKernel*>& kernels, const Lowered& lowered,
                          const Device& device, const LibraryOptions& options) {
  Graph graph = lowered.graph;  // and the convolutions that gradients may be
  std::deque<LoweredKernel> turned;
  std::vector<const LoweredKernel*> asked;
  for (const LoweredKernel* kernel : kernels) {
    const Value result = kernel->outputs[0];
    if (kernel->folds() || !lowered.placements[size_t(result.id)].lies_together(graph.shape(result).elements()))
      continue;
    const std::string rival = rival_of(*kernel, lowered, device, options),
                      known = rival.empty()   ? "cudnn"
                              : options.timed ? Choice(*kernel, graph, device, options).known
                                              : rival;
    if (known != rival) asked.push_back(kernel);
    if (rival == kTurned && (known.empty() || known == rival))
      asked.push_back(&turned.emplace_back(turned_forward(*kernel, lowered.graph, graph)));
  }
  if (!asked.empty()) plan_convolutions(asked, graph, device, options);
}

std::unique_ptr<OperandsKernel> make_convolution_or_product(const LoweredKernel& kernel, const Lowered& lowered,
                                                            std::shared_ptr<Device> device,
                                                            const LibraryOptions& options) {
  const Value result = kernel.outputs[0];
  std::unique_ptr<OperandsKernel> out;
  if (lowered.placements[size_t(result.id)].lies_together(lowered.graph.shape(result).elements())) {
    const std::string rival = rival_of(kernel, lowered, *device, options);
    if (kernel.folds()) return make_rival(kernel, lowered, device, options);
    if (!rival.empty() && options.timed) return make_faster(kernel, lowered, rival, device, options);
    if (!rival.empty()) out = make_rival(kernel, lowered, device, options);
    if (!out) out = make_convolution(kernel, lowered.graph, device, options);
  }
  if (out) return out;
  const auto product = product_of_pixels(kernel, lowered);
  return product ? make_product(*product, device, options) : nullptr;
}

}  // namespace neon::cuda
