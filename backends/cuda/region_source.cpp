// Source of region pooling. Neighbouring threads have neighbouring channels, several at once where that is one access;
// a gradient's thread collects what its element gets from all regions that see it, always in one order.
#include <algorithm>

#include "backends/cuda/code_text.h"
#include "backends/cuda/op_source.h"
#include "backends/graph/ops.h"
#include "backends/graph/regions.h"

extern const char regions_text[];
extern const unsigned long regions_text_size;

namespace neon::cuda {

namespace {

constexpr int kMostPositions = kAccessBytes / int(sizeof(int32_t));  // of one access

class RegionWriter {
 public:
  RegionWriter(const LoweredKernel& kernel, SourceContext& context)
      : kernel_(kernel),
        graph_(context.lowered.graph),
        compute_(graph_.dtype(kernel.outputs[0]) == DType::f64 ? DType::f64 : DType::f32),
        code_(context, compute_) {
    choose_width();
  }

  Source run() {
    const std::string body = kernel_.is(ops::region_max) ? maximum() : gradient();
    return kernel_source(code_, compute_,
                         text("\nconstexpr i64 kFarthestPixel = ", kFarthestPixel, ";",
                              std::string_view(regions_text, regions_text_size)),
                         body, blocks_);
  }

 private:
  const Shape& input(size_t i) const { return graph_.shape(kernel_.inputs[i]); }
  const Shape& output() const { return graph_.shape(kernel_.outputs[0]); }

  // Channels that a thread takes at once.
  void choose_width() {
    width_ = std::min(code_.neighbours({kernel_.inputs[0], kernel_.outputs[0]}), kMostPositions);
    while (output().back() % width_) width_ /= 2;
  }

  // `body` for each block of channels `c` of the result, whose other coordinates have `names`, the last axis first.
  std::string for_each(std::initializer_list<const char*> names, const std::string& body) {
    const int64_t count = output().elements() / width_, channels = output().back() / width_;
    blocks_ = (count + kThreads - 1) / kThreads;
    std::string out =
        text("  const i64 k = i64(blockIdx.x) * kThreads + threadIdx.x;\n  if (k >= ", count,
             ") return;\n  i64 rest = k / ", channels, ";\n  const int c = int(k % ", channels, ") * ", width_, ";\n");
    int axis = output().rank() - 2;
    for (const char* name : names) {
      out += text("  const int ", name, " = int(rest % ", output()[axis], "); rest /= ", output()[axis], ";\n");
      --axis;
    }
    return out + body;
  }
  std::string each() const { return text("#pragma unroll\n  for (int e = 0; e < ", width_, "; ++e) "); }

  // Extents `down` and `across` of region `r` of all, and `missing`.
  std::string extents(Value regions) {
    std::string out;
    for (int i = 0; i < 4; ++i)
      out += text("  const R corner", i, " = ", code_.load(regions, text("r * 4 + ", i)), ";\n");
    const std::string scale = literal(kernel_.attributes.real("scale"));
    return out + text("  const R missing = R(0) * (corner0 + corner1 + corner2 + corner3);\n",
                      "  const Extent down = extent_of<R>(corner1, corner3, ", scale,
                      ", missing), across = extent_of<R>(corner0, corner2, ", scale, ", missing);\n");
  }

  // NaN is larger than any number, of equal ones the first is taken.
  std::string maximum() {
    const Shape& x = input(0);
    const std::string from = text("((r / ", output()[1], " * ", x[1], " + i) * ", x[2], " + j) * ", x[3], " + c");
    return for_each(
        {"q", "p"},
        text("  const i64 r = rest;\n", extents(kernel_.inputs[1]), "  const Bin rows = bin_of(down, p, ", output()[2],
             ", ", x[1], "), columns = bin_of(across, q, ", output()[3], ", ", x[2], ");\n  R best[", width_,
             "];\n  int where[", width_, "];\n  ", each(), "best[e] = missing, where[e] = -1;\n",
             "  for (int i = rows.begin; i < rows.end; ++i)\n  for (int j = columns.begin; j < columns.end; ++j) {\n"
             "  R x[",
             width_, "];\n  ", code_.load_pack(kernel_.inputs[0], from, width_, "x"), ";\n  ", each(),
             "if (where[e] < 0 || (!(x[e] <= best[e]) && best[e] == best[e])) best[e] = x[e], where[e] = i * ", x[2],
             " + j;\n  }\n  ", code_.store_pack(kernel_.outputs[0], text("k * ", width_), width_, "best"),
             ";\n  put_all<int, int, ", width_, ">(", code_.address(kernel_.outputs[1]), ", k * ", width_,
             ", where);\n"));
  }

  // Pixel d of an extent of s pixels is seen by the bins from d * count / s on, to the one before (d + 1) * count / s,
  // rounded up.
  std::string gradient() {
    const Shape& y = input(0);
    auto bins = [](const std::string& name, const char* extent, const char* pixel, int64_t count) {
      return text("  const i64 ", name, "_at = ", pixel, " - ", extent, ".first;\n  if (", name, "_at < 0 || ", name,
                  "_at >= ", extent, ".size) continue;\n  const int ", name, "_begin = int(", name, "_at * ", count,
                  " / ", extent, ".size), ", name, "_end = int(((", name, "_at + 1) * ", count, " + ", extent,
                  ".size - 1) / ", extent, ".size);\n");
    };
    return for_each(
        {"j", "i"},
        text("  R sum[", width_, "] = {};\n  for (i64 r = rest * ", y[1], "; r < (rest + 1) * ", y[1], "; ++r) {\n",
             extents(kernel_.inputs[2]), bins("p", "down", "i", y[2]), bins("q", "across", "j", y[3]),
             "  for (int p = p_begin; p < p_end; ++p)\n  for (int q = q_begin; q < q_end; ++q) {\n  const i64 from = "
             "((r * ",
             y[2], " + p) * ", y[3], " + q) * ", y[4], " + c;\n  R y[", width_, "];\n  int where[", width_, "];\n  ",
             code_.load_pack(kernel_.inputs[0], "from", width_, "y"), ";\n  get_all<int, int, ", width_, ">(",
             code_.address(kernel_.inputs[1]), ", from, where);\n  ", each(), "if (where[e] == i * ", output()[2],
             " + j) sum[e] += y[e];\n  }\n  }\n  ",
             code_.store_pack(kernel_.outputs[0], text("k * ", width_), width_, "sum"), ";\n"));
  }

  const LoweredKernel& kernel_;
  const Graph& graph_;
  const DType compute_;
  CodeText code_;
  int64_t blocks_ = 1;
  int width_ = 1;
};

Source region_source(const LoweredKernel& kernel, SourceContext& context) {
  return RegionWriter(kernel, context).run();
}

const SourceRegistration regions[] = {{ops::region_max, region_source}, {ops::region_max_gradient, region_source}};

}  // namespace

}  // namespace neon::cuda
