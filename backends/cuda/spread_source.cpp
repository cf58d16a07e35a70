#include "backends/cuda/spread_source.h"

#include "backends/elementwise/kernels.h"
#include "backends/graph/ops.h"
#include "backends/graph/windows.h"

namespace neon::cuda {

namespace {

Windows windows_of(const Spread& spread) { return windows_of(spread.pooling, spread.pooling.integers("window")); }

// Lines that take `numbers` through the derivative of an activation.
std::string derivative(CodeText& code, const Instruction& load, int width) {
  const auto& [pooling, op, gate] = *load.spread;
  const char *in = "          ", *type = device_type(code.type(load.value).dtype);
  if (op->row->name == std::string_view("relu") && op->derivative_operand == 0)
    return text(in, "through_relu<R>(numbers, ", code.pack(gate, "at", width), ");\n");
  Instruction call;
  call.op = op;
  call.inputs = {0, 1};
  return text(in, "R given[", width, "], gate[", width, "];\n", in, "unpack<R>(numbers, given);\n", in,
              code.load_pack(gate, "at", width, "gate"), ";\n#pragma unroll\n", in, "for (int s = 0; s < ", width,
              "; ++s) given[s] = ", code.call(call, [](int i) { return std::string(i ? "gate[s]" : "given[s]"); }),
              ";\n", in, "numbers = packed<", type, ">(given);\n");
}

}  // namespace

bool spreads_packs(const CodeText& code, const Instruction& load, const Shape& domain, int width) {
  const Windows windows = windows_of(*load.spread);
  const auto fits = [&](Value value) { return int(size_of(code.type(value).dtype)) * width <= kAccessBytes; };
  return load.reach == Reach::full && domain.back() % width == 0 && windows.size.back() == 1 &&
         windows.strides.back() == 1 && windows.before.back() == 0 && fits(load.value) && fits(load.index);
}

// Window o and place w along each axis, `at` of the window in its array, and `place` in the window; -1 in the gaps
// between windows and behind the last.
std::string spread_pack(CodeText& code, const Instruction& load, const Shape& domain, int width,
                        const std::function<std::string(int)>& coordinate) {
  const Windows windows = windows_of(*load.spread);
  const Shape& small = code.type(load.value).shape;
  const char* in = "          ";
  std::string out = "[&] {\n", at = text(small.elements() < (int64_t(1) << 31) ? "u32(" : "i64(", coordinate(0), ")"),
              place = "0", there = "true";
  for (int axis = 1; axis < domain.rank(); ++axis) {
    const size_t a = size_t(axis) - 1;
    const int64_t size = windows.size[a], stride = windows.strides[a], before = windows.before[a];
    const std::string x = domain[axis] > 1 ? coordinate(axis) : "0";
    if (stride == 1 && before == 0 && domain[axis] == small[axis]) {
      at = text("(", at, " * ", small[axis], " + ", x, ")");
      continue;
    }
    out += text(in, "const int x", a, " = int(", x, ") + ", before, ", o", a, " = x", a, " / ", stride, ", w", a,
                " = x", a, " % ", stride, ";\n");
    at = text("(", at, " * ", small[axis], " + o", a, ")");
    place = text("(", place, " * ", size, " + w", a, ")");
    if (size < stride) there += text(" && w", a, " < ", size);
    if (domain[axis] + before > small[axis] * stride) there += text(" && o", a, " < ", small[axis]);
  }
  const char* narrow = small.elements() < (int64_t(1) << 31) ? "u32" : "i64";
  out +=
      text(in, "const bool there = ", there, ";\n", in, "const ", narrow, " at = there ? ", narrow, "(", at, ") : 0;\n",
           in, code.pack_type(load.value, width), " numbers = ", code.pack(load.value, "at", width), ";\n");
  if (load.spread->derivative) out += derivative(code, load, width);
  return text(out, in, "keep_placed(numbers, ", code.pack(load.index, "at", width), ", there ? ", place, " : -1);\n",
              in, "return numbers;\n        }()");
}

}  // namespace neon::cuda
