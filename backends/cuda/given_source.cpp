#include "backends/cuda/given_source.h"

#include <numeric>

namespace neon::cuda {

namespace {

using Kind = Instruction::Kind;

// A kernel that copies the images element by element.
Segment as_they_are(Value images, const Shape& shape) {
  Instruction load;
  load.kind = Kind::load;
  load.value = images;
  load.strides = {shape[1] * shape[2] * shape[3], shape[2] * shape[3], shape[3], 1};
  return {.domain = shape, .body = {load}, .stores = {{.reg = 0, .value = images}}};
}

std::string name(int reg) { return text("r", reg); }
bool is_full_load(const Instruction& i) { return i.kind == Kind::load && i.reach != Reach::scalar; }
bool is_full_iota(const Instruction& i) { return i.kind == Kind::iota && i.reach != Reach::scalar; }

}  // namespace

GivenSource::GivenSource(const LoweredKernel& kernel, CodeText& code, DType compute, const std::string& channel)
    : images_(kernel.prologue() ? kernel.prologue()->segments[0]
                                : as_they_are(kernel.inputs[0], code.type(kernel.inputs[0]).shape)),
      code_(code),
      channel_(channel) {
  const int64_t row = images_.domain[2] * images_.domain[3];
  width_ = int(std::gcd(kAccessBytes / int64_t(size_of(compute)), row));
}

// Whether `width` neighbours of a row lie together, where one access reaches them.
bool GivenSource::is_pack(const Instruction& load, int width) const {
  const int64_t channels = images_.domain[3];
  const bool together = channels == 1 ? load.strides[2] == 1 : load.strides[3] == 1 && load.strides[2] == channels;
  return together && load.strides[0] % width == 0 && load.strides[1] % width == 0 && load.first % width == 0 &&
         code_.row_elements(load.value) % width == 0 &&
         int64_t(size_of(code_.type(load.value).dtype)) * width <= kAccessBytes;
}

// Whether it reads a number for each channel.
bool GivenSource::is_of_channel(const Instruction& load) const {
  const auto& s = load.strides;
  return is_full_load(load) && !channel_.empty() && !load.index && s[0] == 0 && s[1] == 0 && s[2] == 0;
}

// The coordinate of number x of row y along an axis of (N,H,W,C).
std::string GivenSource::coordinate(int axis) const {
  if (axis < 2) return axis == 0 ? "image" : "y";
  return text("(x ", axis == 2 ? "/ " : "% ", images_.domain[3], ")");
}

// The place of the element that a load reads for number x of row y.
std::string GivenSource::place(const Instruction& load, size_t reg) const {
  const auto& s = load.strides;
  const std::string image = load.index ? text("row", reg) : text(load.first, " + ", s[0], "ll * image");
  const std::string row = text(image, " + i64(y) * ", s[1]);
  if (s[2] == s[3] * images_.domain[3]) return text(row, " + i64(x) * ", s[3]);
  return text(row, " + i64(", coordinate(2), ") * ", s[2], " + i64(", coordinate(3), ") * ", s[3]);
}

std::string GivenSource::run(int width, bool guarded) {
  std::string once, packs, each;  // of all images, of neighbours, of each number
  for (size_t n = 0; n < images_.body.size(); ++n) {
    const Instruction& i = images_.body[n];
    const bool pack = width > 1 && is_full_load(i) && !is_of_channel(i) && is_pack(i, width);
    std::string value;
    if (is_full_iota(i)) value = text("R(", coordinate(i.axis), ")");
    else if (pack || is_of_channel(i)) value = text("l", n, "[j]");
    else if (!is_full_load(i)) value = code_.scalar_value(i, name);
    else value = text(guarded ? "!inside ? R(0) : " : "", code_.load(i.value, place(i, n)));
    if (is_of_channel(i))
      once += text("  R l", n, "[", width, "];\n#pragma unroll\n  for (int j = 0; j < ", width, "; ++j) l", n,
                   "[j] = ", code_.load(i.value, text(i.first, " + (", channel_, " + j) * ", i.strides[3])), ";\n");
    else if (is_full_load(i) && i.index)
      once += text("  const i64 row", n, " = ", code_.gathered(i.value, i.index, "image", i.strides[0], "0"), ";\n");
    if (pack)
      packs += text("    ", code_.pack_type(i.value, width), " pack", n, ";\n    pack", n, ".words = {};\n    ",
                    guarded ? "if (inside) " : "", "pack", n, " = ", code_.pack(i.value, place(i, n), width),
                    ";\n    R l", n, "[", width, "];\n    unpack<R>(pack", n, ", l", n, ");\n");
    (i.reach == Reach::scalar ? once : each) += text("      const R ", name(int(n)), " = ", value, ";\n");
  }
  return text(once, "  const auto given = [&](int y, int first, ", guarded ? "bool inside, " : "", "R (&out)[", width,
              "]) {\n    int x = first;\n", packs, "#pragma unroll\n    for (int j = 0; j < ", width,
              "; ++j) {\n      x = first + j;\n", each, "      out[j] = ", name(images_.stores[0].reg),
              ";\n    }\n  };\n");
}

}  // namespace neon::cuda
