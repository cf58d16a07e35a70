// Source of scatter_add.
#include <algorithm>

#include "backends/cuda/op_writer.h"
#include "backends/graph/ops.h"

namespace neon::cuda {

namespace {

class ScatterWriter : public OpWriter {
 public:
  using OpWriter::OpWriter;
  Source run() { return source(scatter_add()); }

 private:
  // A block for each row of the result: it looks for the indices that name the row, some at a time, and adds up their
  // values in the order in which they stand.
  std::string scatter_add() {
    const int64_t rows = output()[0], width = output().elements() / std::max<int64_t>(rows, 1), count = input(1)[0];
    blocks_ = rows;
    const std::string index = code_.integer(kernel_.inputs[1], "i");
    return text(
        "  __shared__ bool hit[kThreads];\n  const i64 row = blockIdx.x;\n  for (i64 c0 = 0; c0 < ", width,
        "; c0 += kThreads) {\n    const i64 c = c0 + threadIdx.x;\n    R sum = 0;\n    for (i64 first = 0; first < ",
        count,
        "; first += kThreads) {\n      const i64 i = first + threadIdx.x;\n      __syncthreads();\n      bool here = "
        "false;\n      if (i < ",
        count, ") {\n        const i64 named = ", index,
        ";\n        here = named == row;\n        if (blockIdx.x == 0 && c0 == 0 && (named < 0 || named >= ", rows,
        ")) ", code_.looked_up(kernel_.inputs[1], "i", rows),
        ";\n      }\n      hit[threadIdx.x] = here;\n      if (!__syncthreads_or(here)) continue;\n      if (c < ",
        width, ")\n        for (int j = 0; j < kThreads && first + j < ", count,
        "; ++j)\n          if (hit[j]) sum += ", code_.load(kernel_.inputs[0], text("(first + j) * ", width, "ll + c")),
        ";\n    }\n    if (c < ", width, ") {\n", put(text("row * ", width, "ll + c"), "sum"), "    }\n  }\n");
  }
};

const SourceRegistration scatter_add(ops::scatter_add, source_by<ScatterWriter>);

}  // namespace

}  // namespace neon::cuda
