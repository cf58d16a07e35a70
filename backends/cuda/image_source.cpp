// Source of crop and resample: a thread for each element of the batch.
#include "backends/cuda/code_text.h"
#include "backends/cuda/op_source.h"
#include "backends/graph/images.h"
#include "backends/graph/ops.h"

namespace neon::cuda {

namespace {

class ImageWriter {
 public:
  ImageWriter(const LoweredKernel& kernel, SourceContext& context)
      : kernel_(kernel),
        data_(context.lowered.graph.shape(kernel.inputs[0])),
        batch_(context.lowered.graph.shape(kernel.outputs[0])),
        compute_(context.lowered.graph.dtype(kernel.outputs[0]) == DType::f64 ? DType::f64 : DType::f32),
        code_(context, compute_) {}

  Source run() {
    const int64_t count = batch_.elements();
    std::string body = text("  const i64 k = i64(blockIdx.x) * kThreads + threadIdx.x;\n  if (k >= ", count,
                            ") return;\n  i64 rest = k;\n");
    const char* names[] = {"", "i", "j", "c"};
    for (int axis = 3; axis > 0; --axis)
      body += text("  const int ", names[axis], " = int(rest % ", batch_[axis], "); rest /= ", batch_[axis], ";\n");
    const std::string image = kernel_.inputs.size() > 2 ? code_.looked_up(kernel_.inputs[2], "rest", data_[0]) : "rest";
    body += text("  const i64 n = rest, image = ", image, ";\n");
    body += kernel_.is(ops::crop) ? crop() : takes_nearest(kernel_.attributes) ? nearest() : resample();
    return kernel_source(code_, compute_, "", body, (count + kThreads - 1) / kThreads);
  }

 private:
  std::string element(const std::string& row, const std::string& column) const {
    return text("((image * ", data_[1], " + ", row, ") * ", data_[2], " + ", column, ") * ", data_[3], " + c");
  }

  // As inside() of backends/graph/images.h, for the variable `at`.
  std::string moved_inside(const std::string& at, int64_t size) const {
    const auto border = Border(kernel_.attributes.integer("border"));
    if (border == Border::zero) return text("  const bool has_", at, " = ", at, " >= 0 && ", at, " < ", size, ";\n");
    std::string out = text("  constexpr bool has_", at, " = true;\n");
    if (border == Border::edge || size == 1)
      return out + text("  ", at, " = ", at, " < 0 ? 0 : ", at, " >= ", size, " ? ", size - 1, " : ", at, ";\n");
    const int64_t period = 2 * (size - 1);
    return out + text("  ", at, " = (", at, " % ", period, " + ", period, ") % ", period, ";\n  if (", at, " >= ", size,
                      ") ", at, " = ", period, " - ", at, ";\n");
  }

  // Moved as it lies, whatever its type.
  std::string crop() {
    auto place = [&](int which) { return code_.integer(kernel_.inputs[1], text("n * 3 + ", which)); };
    const std::string type = device_type(code_.type(kernel_.outputs[0]).dtype);
    NEON_ASSERT(!code_.row_elements(kernel_.inputs[0]));  // a set lies whole on the device
    const std::string from = code_.address(kernel_.inputs[0]), to = code_.address(kernel_.outputs[0]);
    return text("  i64 row = ", place(0), " + i, column = ", place(1), " + (", place(2), " ? ", batch_[2] - 1,
                " - j : j);\n", moved_inside("row", data_[1]), moved_inside("column", data_[2]), "  static_cast<", type,
                "*>(", to, ")[k] = has_row && has_column ? static_cast<const ", type, "*>(", from, ")[",
                element("row", "column"), "] : ", type, "{};\n");
  }

  // Names NAME, the place between pixels' middles that output number `output` of `count` has along an axis: the rows
  // are the first axis, `which` 0.
  std::string place(const std::string& name, int which, const std::string& output, int64_t count, int64_t size) {
    const int64_t numbers = code_.type(kernel_.inputs[1]).shape[1];
    const auto of_box = [&](int k) { return code_.load(kernel_.inputs[1], text("n * ", numbers, " + ", k)); };
    std::string leaning;
    if (numbers == kLeaningBox)
      leaning = text(" + (R(", which == 0 ? "j" : "i", ") + R(0.5)) * ", of_box(which + 4), " / R(",
                     which == 0 ? batch_[2] : batch_[1], ")");
    return text("  R ", name, " = ", of_box(which), " + (R(", output, ") + R(0.5)) * ", of_box(which + 2), " / R(",
                count, ")", leaning, " - R(0.5);\n  ", name, " = ", name, " > R(0) ? ", name, " : R(0);\n  ", name,
                " = ", name, " < R(", size - 1, ") ? ", name, " : R(", size - 1, ");\n");
  }

  // Names NAME0 and NAME1 of two neighbours as well, and NAME_share of the second.
  std::string taps(const std::string& name, int which, const std::string& output, int64_t count, int64_t size) {
    return text(place(name, which, output, count, size), "  const int ", name, "0 = int(", name, "), ", name,
                "1 = ", name, "0 + 1 < ", size, " ? ", name, "0 + 1 : ", size - 1, ";\n  const R ", name,
                "_share = ", name, " - R(", name, "0);\n");
  }

  // The pixel that a place lies in, moved whatever its type.
  std::string nearest() {
    const std::string type = device_type(code_.type(kernel_.outputs[0]).dtype);
    NEON_ASSERT(!code_.row_elements(kernel_.inputs[0]));  // a set lies whole on the device
    const std::string from = code_.address(kernel_.inputs[0]), to = code_.address(kernel_.outputs[0]);
    return text(place("row", 0, "i", batch_[1], data_[1]), place("column", 1, "j", batch_[2], data_[2]),
                "  const i64 row0 = i64(row + R(0.5)), column0 = i64(column + R(0.5));\n  static_cast<", type, "*>(",
                to, ")[k] = static_cast<const ", type, "*>(", from, ")[", element("row0", "column0"), "];\n");
  }

  std::string resample() {
    auto pixel = [&](int row, int column) {
      return code_.load(kernel_.inputs[0], element(text("row", row), text("column", column)));
    };
    auto mix = [](const std::string& share, const std::string& a, const std::string& b) {
      return text("((R(1) - ", share, ") * ", a, " + ", share, " * ", b, ")");
    };
    const std::string above = mix("column_share", pixel(0, 0), pixel(0, 1));
    const std::string below = mix("column_share", pixel(1, 0), pixel(1, 1));
    return text(taps("row", 0, "i", batch_[1], data_[1]), taps("column", 1, "j", batch_[2], data_[2]),
                code_.store(kernel_.outputs[0], "k", mix("row_share", above, below), "  "));
  }

  const LoweredKernel& kernel_;
  const Shape &data_, &batch_;
  const DType compute_;
  CodeText code_;
};

Source image_source(const LoweredKernel& kernel, SourceContext& context) { return ImageWriter(kernel, context).run(); }

const SourceRegistration images[] = {{ops::crop, image_source}, {ops::resample, image_source}};

}  // namespace

}  // namespace neon::cuda
