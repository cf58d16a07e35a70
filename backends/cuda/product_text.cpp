#include "backends/cuda/product_text.h"

#include "backends/cuda/source.h"

namespace neon::cuda {

namespace {

// Text of numbered things with commas in between.
template <typename Each>
std::string listed(int64_t count, Each&& each) {
  std::string out;
  for (int64_t i = 0; i < count; ++i) out += text(i ? ", " : "", each(i));
  return out;
}

}  // namespace

std::string pair_text(DType dtype) {
  return text("__device__ __forceinline__ u32 pair_of(float x, float y) { return word_of<", device_type(dtype),
              ">(x, y); }\n");
}

std::string multiply_add_text(DType dtype, int64_t columns, bool a_turned, bool b_turned) {
  const int64_t sums = columns / 2;
  const char* const name = device_type(dtype);
  return text("__device__ __forceinline__ void multiply_add(float (&sums)[", sums, "], u64 a, u64 b, int add) {\n",
              "  asm volatile(\"{\\n.reg .pred p;\\nsetp.ne.b32 p, %", sums + 2,
              ", 0;\\n\"\n    \"wgmma.mma_async.sync.aligned.m64n", columns, "k16.f32.", name, ".", name, " {",
              listed(sums, [](int64_t i) { return text("%", i); }), "}, %", sums, ", %", sums + 1, ", p, 1, 1, ",
              int(a_turned), ", ", int(b_turned),
              ";\\n}\\n\"\n    : ", listed(sums, [](int64_t i) { return text("\"+f\"(sums[", i, "])"); }),
              " : \"l\"(a), \"l\"(b), \"r\"(add));\n}\n");
}

std::string multiply_add_tf32_text(int64_t columns) {
  const int64_t sums = columns / 2;
  const auto operand = [](int64_t n) { return text("%", n); };
  return text("__device__ __forceinline__ void multiply_add(float (&sums)[", sums,
              "], u32 a0, u32 a1, u32 a2, u32 a3, u64 b, int add) {\n",
              "  asm volatile(\"{\\n.reg .pred p;\\nsetp.ne.b32 p, %", sums + 5,
              ", 0;\\n\"\n    \"wgmma.mma_async.sync.aligned.m64n", columns, "k8.f32.tf32.tf32 {",
              listed(sums, operand), "}, {", listed(4, [&](int64_t i) { return operand(sums + i); }), "}, %", sums + 4,
              ", p, 1, 1;\\n}\\n\"\n    : ", listed(sums, [](int64_t i) { return text("\"+f\"(sums[", i, "])"); }),
              " : ", listed(4, [](int64_t i) { return text("\"r\"(a", i, ")"); }), ", \"l\"(b), \"r\"(add));\n}\n");
}

}  // namespace neon::cuda
