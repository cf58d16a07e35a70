// Source of largest and nms: a block a row, whose open boxes are marked in the space for partial results.
#include "backends/cuda/op_writer.h"
#include "backends/graph/ops.h"

extern const char boxes_text[];
extern const unsigned long boxes_text_size;

namespace neon::cuda {

namespace {

class BoxWriter : public OpWriter {
 public:
  using OpWriter::OpWriter;
  Source run() {
    const std::string body = "  const i64 n = blockIdx.x;\n" + (kernel_.is(ops::nms) ? choice() : selection());
    Source out = source(body, text("\n", std::string_view(boxes_text, boxes_text_size)));
    out.partial_bytes = size_t(marks_) * sizeof(double);
    return out;
  }

 private:
  std::string number(size_t value, const std::string& index) {
    return text("double(", code_.load(kernel_.inputs[value], index), ")");
  }

  std::string selection() {
    const int64_t count = input()[1];
    blocks_ = input()[0];
    return text("  const auto x = [&](int i) { return ", number(0, text("n * ", count, " + i")),
                "; };\n  const auto store = [&](int i, double taken) {\n", put(text("n * ", count, " + i"), "taken"),
                "  };\n  store_largest(x, ", count, ", ", number(1, "n"), ", store);\n");
  }

  std::string choice() {
    const Shape& scores = input(1);
    const Attributes& by = kernel_.attributes;
    const int64_t count = scores[2], most = output()[2];
    blocks_ = scores[0] * scores[1];
    marks_ = blocks_ * count;
    std::string box = text("  const auto box = [&](int i) {\n  const i64 at = (n / ", scores[1], " * ", count,
                           " + i) * 4;\n  return Corners{");
    for (int k = 0; k < 4; ++k) box += text(k ? ", " : "", number(0, text("at + ", k)));
    return text(box, "};\n  };\n  const auto score = [&](int i) { return ", number(1, text("n * ", count, " + i")),
                "; };\n  const auto store = [&](int k, int i) {\n", put(text("n * ", most, " + k"), "i"),
                "  };\n  choose_boxes(box, score, ", count, ", ", most, ", ", by.integer("candidates"), ", ",
                exact(by.real("least")), ", ", by.integer("pixels") ? "1.0" : "0.0", ", ", exact(by.real("overlap")),
                ", reinterpret_cast<double*>(partials) + n * ", count, ", store);\n");
  }

  // A number as C++ reads it to the bit.
  static std::string exact(double number) {
    char out[64];
    std::snprintf(out, sizeof out, "%.17e", number);
    return out;
  }

  int64_t marks_ = 0;
};

const SourceRegistration box_sources[] = {{ops::largest, source_by<BoxWriter>}, {ops::nms, source_by<BoxWriter>}};

}  // namespace

}  // namespace neon::cuda
