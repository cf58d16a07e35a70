#include "backends/cuda/pixel_code.h"

#include <algorithm>

namespace neon::cuda {

namespace {

using Kind = Instruction::Kind;

bool is_pixel_load(const Instruction& i) { return i.kind == Kind::load && i.reach != Reach::scalar; }

bool is_channel_load(const Instruction& i) {
  return is_pixel_load(i) &&
         std::ranges::all_of(i.strides.begin(), i.strides.end() - 1, [](int64_t s) { return s == 0; });
}

bool reads_own_place(const Instruction& load, const Shape& shape) {
  int64_t stride = 1;
  for (int axis = shape.rank(); axis-- > 0; stride *= shape[axis])
    if (shape[axis] > 1 && load.strides[size_t(axis)] != stride) return false;
  return load.first == 0;
}

std::string register_name(int reg) { return text("r", reg); }

}  // namespace

std::set<Value> PixelCode::arrays_of(const FusedKernel& code) {
  if (code.segments.size() != 1 || code.compute != DType::f32) return {};
  const Segment& segment = code.segments[0];
  std::set<Value> out;
  for (const Instruction& i : segment.body) {
    if (i.index || i.spread || i.kind == Kind::total) return {};
    if (i.reach != Reach::scalar && (i.kind == Kind::iota || i.kind == Kind::uniform)) return {};
    if (!is_pixel_load(i) || is_channel_load(i)) continue;
    if (!reads_own_place(i, segment.domain)) return {};
    out.insert(i.value);
  }
  return out;
}

std::set<Value> PixelCode::channels_of(const FusedKernel& code) {
  std::set<Value> out;
  for (const Instruction& i : code.segments[0].body)
    if (is_channel_load(i)) out.insert(i.value);
  return out;
}

PixelCode::PixelCode(const FusedKernel& code, CodeText& text, const char* name)
    : segment_(code.segments[0]), text_(text), name_(name) {}

std::string PixelCode::once(int width) const {
  std::string out;
  for (size_t n = 0; n < segment_.body.size(); ++n) {
    const Instruction& i = segment_.body[n];
    if (!is_channel_load(i)) continue;
    const std::string place = text(i.first, " + (c + j) * ", i.strides.back());
    out += text("  R ", name_, n, "[", width, "];\n#pragma unroll\n  for (int j = 0; j < ", width, "; ++j) ", name_, n,
                "[j] = ", text_.load(i.value, place), ";\n");
  }
  return out;
}

std::string PixelCode::each(const std::function<std::string(Value)>& array) const {
  std::string out;
  for (size_t n = 0; n < segment_.body.size(); ++n) {
    const Instruction& i = segment_.body[n];
    if (i.kind == Kind::reduce) continue;
    const std::string value = is_channel_load(i) ? text(name_, n, "[j]")
                              : is_pixel_load(i) ? array(i.value) + "[j]"
                                                 : text_.scalar_value(i, register_name);
    out += text("      const R ", register_name(int(n)), " = ", value, ";\n");
  }
  return out;
}

}  // namespace neon::cuda
