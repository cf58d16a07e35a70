// Source of patches and depth_to_space.
#include <algorithm>

#include "backends/cuda/given_source.h"
#include "backends/cuda/op_source.h"
#include "backends/graph/ops.h"
#include "backends/graph/windows.h"

extern const char patches_text[], patches_tile_text[];
extern const unsigned long patches_text_size, patches_tile_text_size;

namespace neon::cuda {

namespace {

constexpr const char* kSeenThere =
    "seen[y * kStepY * kSeenColumns + x * kStepX * kC + (down[e] * kSeenColumns + across[e])]";
// Where not even one window finds room.
const char* const kSeeNumber = R"(
  const auto seen = [&](int y, int x) {
    R number[1] = {};
    if (u32(y) < u32(kH) && u32(x) < u32(kRow)) given(y, x, number);
    return number[0];
  };
)";
constexpr const char* kSeenAlone = "seen(top + y * kStepY + down[e], left + x * kStepX * kC + across[e])";
constexpr int64_t kMostOutputs = 512, kTileBytes = 24 << 10;

// Outputs (rows, columns) of one image that a block takes, and what their windows see, in rows and numbers of a row.
struct Tile {
  int64_t rows = 1, columns = 1, seen_rows = 0, seen_columns = 0;
};

// Whole rows, as many as may be, or the even part of one; what is seen in groups of numbers.
Tile tile_of(const Windows& windows, const Shape& y, int64_t channels, int64_t group, int64_t element_bytes) {
  const auto sized = [&](int64_t rows, int64_t columns) {
    const int64_t numbers = ((columns - 1) * windows.strides[1] + windows.extent(1)) * channels;
    return Tile{rows, columns, (rows - 1) * windows.strides[0] + windows.extent(0),
                quotient_up(std::max<int64_t>(numbers, 1) + group - 1, group) * group};
  };
  const auto fits = [&](const Tile& t) {
    return t.rows * t.columns <= kMostOutputs && t.seen_rows * t.seen_columns * element_bytes <= kTileBytes;
  };
  Tile out = sized(1, y[2]);
  for (int64_t parts = 2; !fits(out) && out.columns > 1; ++parts) out = sized(1, (y[2] + parts - 1) / parts);
  while (out.columns == y[2] && out.rows < y[1] && fits(sized(out.rows + 1, y[2]))) out = sized(out.rows + 1, y[2]);
  return fits(out) ? out : Tile{1, std::min(y[2], kMostOutputs)};
}

// As many neighbouring channels as an access takes.
int64_t width_of(const TensorType& y) {
  int64_t width = kAccessBytes / int64_t(size_of(y.dtype));
  while (y.shape.back() % width) width /= 2;
  return width;
}

Source patches(const LoweredKernel& kernel, const Graph& graph, CodeText& code, DType compute) {
  GivenSource given(kernel, code, compute);
  const Shape &x = given.shape(), &y = graph.shape(kernel.outputs[0]);
  const Windows windows = windows_of(kernel.attributes, kernel.attributes.integers("sizes"));
  const int64_t channels = std::max<int64_t>(x[3], 1), width = width_of(graph.type(kernel.outputs[0]));
  const Tile tile = tile_of(windows, y, channels, given.width(), int64_t(size_of(compute)));
  const int64_t down = (y[1] + tile.rows - 1) / tile.rows, across = (y[2] + tile.columns - 1) / tile.columns;
  std::string numbers;
  const auto number = [&](const char* name, int64_t value) {
    numbers += text("  constexpr int ", name, " = ", value, ";\n");
  };
  number("kWidth", width), number("kChannels", y[3]), number("kH", x[1]), number("kC", channels);
  number("kRow", x[2] * x[3]), number("kP", y[1]), number("kQ", y[2]), number("kS", windows.size[1]);
  number("kSeen", windows.size[0] * windows.size[1] * x[3]), number("kRows", tile.rows);
  number("kColumns", tile.columns), number("kTilesY", down), number("kTilesX", across);
  number("kGroup", given.width()), number("kSeenRows", tile.seen_rows), number("kSeenColumns", tile.seen_columns);
  number("kStepY", windows.strides[0]), number("kStepX", windows.strides[1]);
  number("kBeforeY", windows.before[0]), number("kBeforeX", windows.before[1]);
  number("kDilationY", windows.dilation[0]), number("kDilationX", windows.dilation[1]);
  std::string body(patches_text, patches_text_size);
  replace_word(body, "GIVEN", given.run(tile.seen_rows ? given.width() : 1));
  replace_word(body, "SEE", tile.seen_rows ? std::string(patches_tile_text, patches_tile_text_size) : kSeeNumber);
  replace_word(body, "NUMBER", tile.seen_rows ? kSeenThere : kSeenAlone);
  replace_word(body, "STORE",
               code.store_packed(kernel.outputs[0], "((image * kP + p + y) * kQ + q + x) * kChannels + pack * kWidth",
                                 text("packed<", device_type(graph.dtype(kernel.outputs[0])), ">(out)")));
  return kernel_source(code, compute, "", numbers + body, y[0] * down * across);
}

// A thread takes an element.
Source to_space(const LoweredKernel& kernel, const Graph& graph, CodeText& code, DType compute) {
  const Shape &y = graph.shape(kernel.inputs[0]), &x = graph.shape(kernel.outputs[0]);
  const auto& blocks = kernel.attributes.integers("blocks");
  const char* index = x.elements() < (int64_t(1) << 32) ? "u32" : "i64";
  const auto coordinate = [](const char* name, int64_t size) {
    return text("  const int ", name, " = int(rest % ", size, "); rest /= ", size, ";\n");
  };
  const std::string place =
      text("((i64(rest) * ", y[1], " + y / ", blocks[0], ") * ", y[2], " + x / ", blocks[1], ") * ", y[3], " + (y % ",
           blocks[0], " * ", blocks[1], " + x % ", blocks[1], ") * ", x[3], " + c");
  const std::string body =
      text("  const i64 k = i64(blockIdx.x) * kThreads + threadIdx.x;\n  if (k >= ", x.elements(), ") return;\n  ",
           index, " rest = ", index, "(k);\n", coordinate("c", x[3]), coordinate("x", x[2]), coordinate("y", x[1])) +
      code.store(kernel.outputs[0], "k", code.load(kernel.inputs[0], place), "  ");
  return kernel_source(code, compute, "", body, (x.elements() + kThreads - 1) / kThreads);
}

Source depth_source(const LoweredKernel& kernel, SourceContext& context) {
  const Graph& graph = context.lowered.graph;
  const DType compute = graph.dtype(kernel.outputs[0]) == DType::f64 ? DType::f64 : DType::f32;
  CodeText code(context, compute);
  return (kernel.is(ops::patches) ? patches : to_space)(kernel, graph, code, compute);
}

const SourceRegistration depth[] = {{ops::patches, depth_source}, {ops::depth_to_space, depth_source}};

}  // namespace

}  // namespace neon::cuda
