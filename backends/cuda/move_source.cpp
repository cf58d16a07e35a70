// Source of slice and concat: elements go elsewhere, several at once where runs allow it.
#include <algorithm>

#include "backends/cuda/op_writer.h"
#include "backends/graph/ops.h"

namespace neon::cuda {

namespace {

class MoveWriter : public OpWriter {
 public:
  using OpWriter::OpWriter;
  Source run() { return source(kernel_.is(ops::slice) ? slice() : concat()); }

 private:
  // How many neighbours go in one access when every one of `runs` is copied in one piece.
  int width_of(const std::vector<int64_t>& runs) const {
    size_t widest = size_of(graph_.dtype(kernel_.outputs[0]));
    for (Value value : kernel_.inputs)
      if (code_.row_elements(value)) return 1;
    int width = int(kAccessBytes / widest);
    for (int64_t run : runs)
      while (run % width) width /= 2;
    return width;
  }
  // Unsigned arithmetic of 32 bits where the index fits: a division of 64 takes longer than the access.
  std::string index_type() const { return output().elements() < (int64_t(1) << 31) ? "u32" : "i64"; }
  std::string copy(const std::string& to, Value from, const std::string& place, int width) {
    return text("  R x[", width, "];\n  ", code_.load_pack(from, place, width, "x"), ";\n  ",
                code_.store_pack(kernel_.outputs[0], to, width, "x"), ";\n");
  }

  // Runs of all that follows the axis.
  std::string slice() {
    const int axis = int(kernel_.attributes.integer("axis"));
    const int64_t inner = dense_strides(input())[size_t(axis)], to = output()[axis] * inner,
                  from = input()[axis] * inner;
    const int64_t first = kernel_.attributes.integer("first") * inner;
    const int width = width_of({to, from, first});
    return for_each(
        output().elements() / width,
        text("  const ", index_type(), " e = ", index_type(), "(k) * ", width, ", run = e / ", to, ";\n",
             copy("e", kernel_.inputs[0], text(first, "ll + i64(run) * ", from, " + (e - run * ", to, ")"), width)));
  }

  std::string concat() {
    const int axis = int(kernel_.attributes.integer("axis"));
    const int64_t inner = dense_strides(output())[size_t(axis)], all = output()[axis] * inner;
    std::vector<int64_t> runs;
    for (size_t i = 0; i < kernel_.inputs.size(); ++i) runs.push_back(input(i)[axis] * inner);
    const int width = width_of(runs);
    std::string body = text("  const ", index_type(), " e = ", index_type(), "(k) * ", width, ", run = e / ", all,
                            ", at = e - run * ", all, ";\n");
    int64_t first = 0;
    for (size_t i = 0; i < kernel_.inputs.size(); ++i) {
      if (runs[i] == 0) continue;
      body += text("  if (at >= ", first, " && at < ", first + runs[i], ") {\n",
                   copy("e", kernel_.inputs[i], text("i64(run) * ", runs[i], " + (at - ", first, ")"), width), "  }\n");
      first += runs[i];
    }
    return for_each(output().elements() / width, body);
  }
};

const SourceRegistration moves[] = {{ops::slice, source_by<MoveWriter>}, {ops::concat, source_by<MoveWriter>}};

}  // namespace

}  // namespace neon::cuda
