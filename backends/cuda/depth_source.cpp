#include "backends/cuda/depth_source.h"

#include "backends/cuda/code_text.h"

namespace neon::cuda {

namespace {

class DepthWriter {
 public:
  DepthWriter(const LoweredKernel& kernel, SourceContext& context)
      : kernel_(kernel),
        x_(context.lowered.graph.shape(kernel.op == "space_to_depth" ? kernel.inputs[0] : kernel.outputs[0])),
        y_(context.lowered.graph.shape(kernel.op == "space_to_depth" ? kernel.outputs[0] : kernel.inputs[0])),
        blocks_(kernel.attributes.integers("blocks")),
        padding_(kernel.attributes.integers("padding")),
        dtype_(context.lowered.graph.dtype(kernel.outputs[0])),
        code_(context, compute()) {}

  Source run() {
    const std::string body = kernel_.op == "space_to_depth" ? to_depth() : to_space();
    return kernel_source(code_, compute(), "", body, count_blocks_);
  }

 private:
  DType compute() const { return dtype_ == DType::f64 ? DType::f64 : DType::f32; }

  std::string for_each(int64_t count) {
    count_blocks_ = (count + kThreads - 1) / kThreads;
    return text("  const i64 k = i64(blockIdx.x) * kThreads + threadIdx.x;\n  if (k >= ", count,
                ") return;\n  u32 rest = u32(k);\n");
  }
  static std::string coordinate(const char* name, int64_t size) {
    return text("  const int ", name, " = int(rest % ", size, "); rest /= ", size, ";\n");
  }

  // A thread takes neighbouring channels, as wide as an access goes.
  std::string to_depth() {
    int width = int(16 / size_of(dtype_));
    while (y_[3] % width) width /= 2;
    const int64_t used = blocks_[0] * blocks_[1] * x_[3];
    std::string body = for_each(y_.elements() / width) + coordinate("c", y_[3] / width) + coordinate("q", y_[2]) +
                       coordinate("p", y_[1]);
    body += text("  const int n = int(rest);\n  R out[", width, "];\n#pragma unroll\n  for (int e = 0; e < ", width,
                 "; ++e) {\n    const int at = c * ", width, " + e, i = at / ", blocks_[1] * x_[3], ", j = at / ",
                 x_[3], " % ", blocks_[1], ";\n    const int y = p * ", blocks_[0], " + i - ", padding_[0],
                 ", x = q * ", blocks_[1], " + j - ", padding_[2], ";\n    out[e] = at < ", used, " && y >= 0 && y < ",
                 x_[1], " && x >= 0 && x < ", x_[2], " ? ",
                 code_.load(kernel_.inputs[0],
                            text("((i64(n) * ", x_[1], " + y) * ", x_[2], " + x) * ", x_[3], " + at % ", x_[3])),
                 " : R(0);\n  }\n  ", code_.store_pack(kernel_.outputs[0], text("k * ", width), width, "out"), ";\n");
    return body;
  }

  std::string to_space() {
    return for_each(x_.elements()) + coordinate("c", x_[3]) + coordinate("x", x_[2]) + coordinate("y", x_[1]) +
           text("  const int n = int(rest), row = y + ", padding_[0], ", column = x + ", padding_[2], ", p = row / ",
                blocks_[0], ", q = column / ", blocks_[1], ";\n  const R number = p < ", y_[1], " && q < ", y_[2],
                " ? ",
                code_.load(kernel_.inputs[0],
                           text("((i64(n) * ", y_[1], " + p) * ", y_[2], " + q) * ", y_[3], " + (row % ", blocks_[0],
                                " * ", blocks_[1], " + column % ", blocks_[1], ") * ", x_[3], " + c")),
                " : R(0);\n") +
           code_.store(kernel_.outputs[0], "k", "number", "  ");
  }

  const LoweredKernel& kernel_;
  const Shape &x_, &y_;
  const std::vector<int64_t>&blocks_, &padding_;
  const DType dtype_;
  CodeText code_;
  int64_t count_blocks_ = 1;
};

}  // namespace

bool is_depth_op(const std::string& op) { return op == "space_to_depth" || op == "depth_to_space"; }

Source depth_source(const LoweredKernel& kernel, SourceContext& context) { return DepthWriter(kernel, context).run(); }

}  // namespace neon::cuda
