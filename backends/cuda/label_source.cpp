// Source of ctc, ctc_grad and edit_distance: a block a sample, whose sums lie in the space for partial results.
#include "backends/cuda/op_writer.h"
#include "backends/graph/ops.h"

extern const char labels_text[];
extern const unsigned long labels_text_size;

namespace neon::cuda {

namespace {

class LabelWriter : public OpWriter {
 public:
  using OpWriter::OpWriter;
  Source run() {
    blocks_ = input()[0];
    std::string body = "  const i64 n = blockIdx.x;\n";
    body += kernel_.is(ops::edit_distance) ? distance() : kernel_.is(ops::ctc_grad) ? gradient() : cost();
    Source out = source(body, text("\n", std::string_view(labels_text, labels_text_size)));
    out.partial_bytes = size_t(blocks_ * doubles_) * sizeof(double);
    return out;
  }

 private:
  // A function that reads element i of row n of a value.
  std::string reader(const char* name, const char* type, size_t value, int64_t row) {
    const std::string index = text("n * ", row, " + i");
    const std::string read = std::string_view(type) == "int" ? code_.integer(kernel_.inputs[value], index)
                                                             : code_.load(kernel_.inputs[value], index);
    return text("  const auto ", name, " = [&](i64 i) -> ", type, " { return ", read, "; };\n");
  }

  // `paths`, and `memory` for so many steps of theirs.
  std::string paths(int64_t steps) {
    const Shape &z = input(), &labels = input(1);
    doubles_ = steps * (2 * labels[1] + 1);
    return text(reader("z", "double", 0, z[1] * z[2]), reader("label", "int", 1, labels[1]),
                "  const auto paths = paths_of(z, label, ", code_.integer(kernel_.inputs[2], "n"), ", ", z[1], ", ",
                z[2], ", ", labels[1], ", ", kernel_.attributes.integer("blank"),
                ");\n  double* const memory = reinterpret_cast<double*>(partials) + n * ", doubles_, ";\n");
  }

  std::string cost() {
    return text(paths(2), "  const double cost = cost_of_paths(paths, memory);\n  if (threadIdx.x == 0) {\n",
                put("n", "cost"), "  }\n");
  }

  std::string gradient() {
    const std::string begin = paths(2 + input()[1]);
    return text(begin, "  const auto store = [&](i64 i, double x) {\n",
                put(text("n * ", input()[1] * input()[2], " + i"), "x"), "  };\n  gradient_of_paths(paths, ",
                input()[1], ", ", code_.load(kernel_.inputs[3], "n"), ", memory, store);\n");
  }

  std::string distance() {
    const int64_t m = input()[1], count = input(1)[1];
    doubles_ = 4 * m + count + 3;
    return text(reader("a", "int", 0, m), reader("b", "int", 1, count), "  const double distance = distance_of(a, ", m,
                ", b, ", count, ", reinterpret_cast<double*>(partials) + n * ", doubles_,
                ");\n  if (threadIdx.x == 0) {\n", put("n", "distance"), "  }\n");
  }

  int64_t doubles_ = 0;  // of the memory of a block
};

const SourceRegistration label_sources[] = {{ops::ctc, source_by<LabelWriter>},
                                            {ops::ctc_grad, source_by<LabelWriter>},
                                            {ops::edit_distance, source_by<LabelWriter>}};

}  // namespace

}  // namespace neon::cuda
