#include "backends/cuda/code_text.h"

#include <algorithm>
#include <cmath>

#include "backends/elementwise/kernels.h"
#include "neon/core/random.h"

namespace neon::cuda {

std::string fold_name(const Op& op) {
  const Reduction fold = op.traits.reduction;
  return fold == Reduction::sum ? "FoldSum" : fold == Reduction::max ? "FoldMax" : "FoldMin";
}

std::string kernel_signature(const CodeText& code, const std::string& bounds, const char* pointer) {
  std::string parameters;
  for (size_t i = 0; i < code.arrays().size(); ++i) parameters += text("void* ", pointer, " p", i, ", ");
  return text("extern \"C\" __global__ void __launch_bounds__(", bounds, ") kernel(", parameters,
              "State* const state, const u64* const record, double* const ring, R* const partials, u32* const ticket)");
}

Source kernel_source(const CodeText& code, DType compute, const std::string& declarations, const std::string& body,
                     int64_t blocks, const std::string& bounds) {
  Source out;
  out.arrays = code.arrays();
  out.blocks = std::max<int64_t>(blocks, 1);
  out.text = text(source_head(), code.declarations(), declarations, "\ntypedef ", device_type(compute), " R;\n",
                  kernel_signature(code, bounds, "const"),
                  " {\n  (void)state, (void)record, (void)ring, (void)partials, (void)ticket;\n", body, "}\n");
  return out;
}

std::vector<Value> operands(const LoweredKernel& kernel) {
  std::vector<Value> out = kernel.inputs;
  out.insert(out.end(), kernel.outputs.begin(), kernel.outputs.end());
  return out;
}

std::string CodeText::address(Value value) {
  const Value storage = context_.lowered.storage[size_t(value.id)];
  NEON_ASSERT(storage);
  auto found = std::ranges::find(arrays_, storage);
  if (found == arrays_.end()) found = arrays_.insert(arrays_.end(), storage);
  return text("p", found - arrays_.begin());
}

int64_t CodeText::row_elements(Value value) const {
  if (context_.sequences.empty()) return 0;  // also before memory is planned
  const Value storage = context_.lowered.storage[size_t(value.id)];
  if (!context_.sequences.count(storage.id)) return 0;
  const Shape& shape = context_.lowered.graph.shape(storage);
  return shape.elements() / std::max<int64_t>(shape[0], 1);
}

int CodeText::neighbours(const std::vector<Value>& values) const {
  size_t widest = 1;
  for (Value value : values) {
    widest = std::max(widest, size_of(type(value).dtype));
    if (row_elements(value)) return 1;
  }
  return int(kAccessBytes / widest);
}

std::string CodeText::first_row(Value value) const {
  const int64_t elements = row_elements(value);
  if (elements) return text("i64(record[", kRecordFirst, "]) * ", elements, " + ");
  // A value that is not read by strides lies together.
  const Placement& placement = context_.lowered.placements[size_t(value.id)];
  NEON_ASSERT(placement.lies_together(type(value).shape.elements()));
  return placement.first ? text(placement.first, "ll + ") : "";
}

std::string CodeText::placed(Value value, const std::string& index) const {
  const Placement& placement = context_.lowered.placements[size_t(value.id)];
  if (!placement) return index;
  if (placement.lies_together(type(value).shape.elements())) return text(placement.first, "ll + ", index);
  // A division by a constant of 32 bits is a product.
  const char* narrow = type(placement.whole).shape.elements() < (int64_t(1) << 31) ? "u32" : "i64";
  const std::string element = text(narrow, "(", index, ")");
  return text("i64(", element, " / ", placement.row, " * ", placement.stride, " + ", element, " % ", placement.row,
              " + ", placement.first, ")");
}

std::string CodeText::load(Value value, const std::string& index) {
  return text("get<R, ", device_type(type(value).dtype), ">(", address(value), ", ", first_row(value), index, ")");
}

std::string CodeText::integer(Value value, const std::string& index) {
  const std::string array = address(value);
  return text("i64(static_cast<const int*>(", array, ")[", first_row(value), index, "])");
}

std::string CodeText::looked_up(Value indices, const std::string& place, int64_t limit) {
  const std::string array = address(indices);
  return text("looked_up(", array, ", ", first_row(indices), place, ", ", std::min<int64_t>(limit, INT32_MAX),
              ", state)");
}

std::string CodeText::gathered(Value value, Value indices, const std::string& place, int64_t stride,
                               const std::string& rest) {
  return text(looked_up(indices, place, type(value).shape[0]), " * ", stride, "ll + ", rest);
}

std::string CodeText::load_pack(Value value, const std::string& index, int width, const std::string& out) {
  return text("get_all<R, ", device_type(type(value).dtype), ", ", width, ">(", address(value), ", ", first_row(value),
              index, ", ", out, ")");
}

std::string CodeText::pack_type(Value value, int width) const {
  return text("Pack<", device_type(type(value).dtype), ", ", width, ">");
}

std::string CodeText::element(Value value, const std::string& index) {
  return text("(static_cast<const ", device_type(type(value).dtype), "*>(", address(value), ") + (", first_row(value),
              index, "))");
}

std::string CodeText::pack(Value value, const std::string& index, int width) {
  return text("pack_at<", device_type(type(value).dtype), ", ", width, ">(", address(value), ", ", first_row(value),
              index, ")");
}

std::string CodeText::store_pack(Value value, const std::string& index, int width, const std::string& from) {
  return text("put_all<", device_type(type(value).dtype), ", R, ", width, ">(", address(value), ", ",
              placed(value, index), ", ", from, ")");
}

std::string CodeText::store_packed(Value value, const std::string& index, const std::string& pack) {
  return text("put_pack(", address(value), ", ", placed(value, index), ", ", pack, ")");
}

std::string CodeText::store(Value value, const std::string& index, const std::string& number, const char* indent) {
  const std::string written = text("put<", device_type(type(value).dtype), ", R>(", address(value), ", ",
                                   placed(value, index), ", ", number, ")");
  const auto recorded = context_.recorded.find(value.id);
  if (recorded == context_.recorded.end()) return text(indent, written, ";\n");
  std::string out =
      text(indent, "{\n", indent, "  const double written = number_of(", written, ");\n", indent, "  ring[record[",
           kRecordRing, "] * ", context_.ring_width, " + ", recorded->second, " + ", index, "] = written;\n");
  if (value == context_.finite)
    out +=
        text(indent, "  if (written == 0 && !state->stopped) state->stopped = u32(record[", kRecordRing, "]) + 1;\n");
  return out + indent + "}\n";
}

std::string literal(double value) {
  if (std::isnan(value)) return "R(neon_math::kNaN64)";
  if (std::isinf(value)) return value > 0 ? "R(neon_math::kInfinity64)" : "R(-neon_math::kInfinity64)";
  std::string digits = number(value);
  if (digits.find_first_of(".e") == digits.npos) digits += ".0";
  return text("R(", digits, ")");
}

std::string_view CodeText::declarations() const { return coarse_ ? elementwise::coarse_source() : ""; }

std::string CodeText::call(const Instruction& i, RegisterName input) {
  const elementwise::Row& row = *i.op->row;
  const int operand = i.op->derivative_operand;
  const bool coarse = compute_ == DType::f32 && is_floating(i.dtype) && size_of(i.dtype) == 2 &&
                      elementwise::has_coarse(operand < 0 ? row.expression : row.derivatives[operand]);
  coarse_ = coarse_ || coarse;
  const std::string function = text("neon_math::", coarse ? "coarse::" : "", row.name);
  std::string arguments[5] = {"R(0)", "R(0)", "R(0)", "R(0)", "R(0)"};  // g, a, b, c, y
  const std::string operands =
      operand < 0 ? std::string("abc").substr(0, size_t(row.arity)) : derivative_inputs(row, operand);
  for (size_t k = 0; k < operands.size(); ++k)
    arguments[std::string_view("gabcy").find(operands[k])] = input(i.inputs[k]);
  if (operand < 0) return text(function, "_value<R>(", arguments[1], ", ", arguments[2], ", ", arguments[3], ")");
  return text(function, "_by_", "abc"[operand], "<R>(", arguments[0], ", ", arguments[1], ", ", arguments[2], ", ",
              arguments[3], ", ", arguments[4], ")");
}

namespace {

// The place in the stream of an element, whose number is the variable `element`.
std::string drawn_place(const Instruction& i, const std::string& element) {
  const DrawPlaces& places = i.places;
  std::string out = places.first ? text("u64(", places.first, ") + ") : "", rest = element;
  for (size_t n = 0; n < places.lengths.size(); ++n) {
    out += text("u64(", rest, " / ", places.lengths[n], ") * ", places.strides[n], "ull + ");
    rest += text(" % ", places.lengths[n]);
  }
  return text(out, "u64(", rest, ")");
}

}  // namespace

std::string CodeText::uniform(const Instruction& i, const std::string& element) const {
  return text("R(uniform(", i.seed, "ull, ", hash_name(i.name), "ull, record[", kRecordStep, "], ",
              drawn_place(i, element), "))");
}

std::string CodeText::uniform_pack(const Instruction& i, const std::string& element, const std::string& out) const {
  return text("uniform_all(", i.seed, "ull, ", hash_name(i.name), "ull, record[", kRecordStep, "], ",
              drawn_place(i, element), ", ", out, ")");
}

std::string CodeText::scalar_value(const Instruction& i, RegisterName input) {
  switch (i.kind) {
    case Instruction::Kind::constant: return literal(i.number);
    case Instruction::Kind::record:
      return text("R(__longlong_as_double(i64(record[",
                  kRecordScalars + context_.scalars.emplace(i.name, int(context_.scalars.size())).first->second,
                  "])))");
    case Instruction::Kind::load:
      return load(i.value, i.index ? gathered(i.value, i.index, "0", i.strides[0], "0") : text(i.first));
    case Instruction::Kind::uniform: return uniform(i, "0");
    case Instruction::Kind::iota: return "R(0)";
    default: return call(i, input);
  }
}

void replace_word(std::string& in, const std::string& word, const std::string& by) {
  in.replace(in.find(word), word.size(), by);
}

}  // namespace neon::cuda
