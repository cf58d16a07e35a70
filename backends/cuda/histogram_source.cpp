// Source of histogram.
#include <algorithm>

#include "backends/cuda/op_writer.h"
#include "backends/graph/histogram.h"
#include "backends/graph/ops.h"

namespace neon::cuda {

namespace {

constexpr int64_t kMostHistogramBlocks = 512;

class HistogramWriter : public OpWriter {
 public:
  using OpWriter::OpWriter;
  Source run() {
    const std::string body = histogram();
    Source out = source(body, tables_);
    out.partial_bytes = partial_bytes_;
    return out;
  }

 private:
  // Each warp counts in a table of its own in shared memory, each block in one for the last block, which adds them up.
  std::string histogram() {
    const int64_t bins = kernel_.attributes.integer("bins"), count = input().elements();
    const auto entries = histogram_entries(bins, kernel_.attributes.integer("offset"));
    tables_ = text("\n__device__ const u32 kMantissa[] = {");
    for (const auto& entry : entries) tables_ += text(entry.mantissa, ",");
    tables_ += "};\n__device__ const u16 kBins[][2] = {";
    for (const auto& entry : entries) tables_ += text("{", entry.bins[0], ",", entry.bins[1], "},");
    tables_ += "};";
    blocks_ = std::clamp<int64_t>(count / (16 * kThreads), 1, kMostHistogramBlocks);
    partial_bytes_ = size_t(blocks_ * bins) * sizeof(uint32_t);
    const std::string each_bin = text("for (int b = threadIdx.x; b < ", bins, "; b += kThreads) ");
    std::string when;
    if (kernel_.inputs.size() > 1)
      when = text("  if (", code_.load(kernel_.inputs[1], "0"), " == 0) {\n    if (blockIdx.x == 0) ", each_bin, "{\n",
                  put("b", "R(0)"), "    }\n    return;\n  }\n");
    return text(
        when, "  __shared__ u32 counts[kThreads / 32][", bins + 1,
        "];\n  for (int i = threadIdx.x; i < kThreads / 32 * ", bins + 1, "; i += kThreads) counts[i / ", bins + 1,
        "][i % ", bins + 1, "] = 0;\n  __syncthreads();\n  for (i64 i = i64(blockIdx.x) * kThreads + threadIdx.x; i < ",
        count, "; i += ", blocks_ * kThreads, ") {\n    const float size = fabsf(float(",
        code_.load(kernel_.inputs[0], "i"),
        "));\n    const bool lifted = size < 0x1p-126f;\n    const u32 bits = __float_as_uint(lifted ? size * 0x1p",
        kHistogramLift, "f : size);\n    const u32 at = (bits >> 23) + (lifted ? 0 : ", kHistogramLift,
        ");\n    atomicAdd(&counts[threadIdx.x / 32][kBins[at][(bits & 0x7fffff) >= kMantissa[at]]], 1u);\n  }\n  "
        "__syncthreads();\n  u32* const all = reinterpret_cast<u32*>(partials);\n  ",
        each_bin,
        "{\n    u32 sum = 0;\n    for (int w = 0; w < kThreads / 32; ++w) sum += counts[w][b];\n    all[blockIdx.x "
        "* ",
        bins, " + b] = sum;\n  }\n  if (!is_last_of(ticket, gridDim.x)) return;\n  ", each_bin,
        "{\n    u32 sum = 0;\n    for (int block = 0; block < ", blocks_, "; ++block) sum += __ldcg(all + block * ",
        bins, " + b);\n", put("b", "R(sum)"), "  }\n");
  }

  size_t partial_bytes_ = 0;
  std::string tables_;  // of constants, before the kernel
};

const SourceRegistration histogram(ops::histogram, source_by<HistogramWriter>);

}  // namespace

}  // namespace neon::cuda
