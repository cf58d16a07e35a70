#include "tests/backends/op_cases.h"

#include <cmath>
#include <cstdlib>
#include <map>

#include "backends/elementwise/kernels.h"
#include "backends/graph/expression.h"
#include "backends/graph/ops.h"
#include "backends/graph/sign_product.h"
#include "neon/core/random.h"
#include "tests/backends/attention_cases.h"
#include "tests/backends/box_cases.h"
#include "tests/backends/elementwise/formulas.h"
#include "tests/backends/fold_cases.h"
#include "tests/backends/label_cases.h"
#include "tests/backends/recurrent_cases.h"
#include "tests/backends/shape_cases.h"
#include "tests/backends/window_cases.h"

namespace neon::test {

namespace {

using Axes = std::vector<int64_t>;

// Where an operand of a row may lie: the function and its derivatives are smooth nearly everywhere there.
CaseInput range(const std::string& row, char operand, const Shape& shape) {
  auto is_one_of = [&](std::initializer_list<const char*> names) {
    for (const char* name : names)
      if (row == name) return true;
    return false;
  };
  if (operand == 'a') {
    if (is_one_of({"sqrt", "rsqrt", "pow", "log", "log2", "log1p", "safelog", "reciprocal"})) return {shape, 0.2, 3};
    if (row == "select") return {shape, 0, 1, DType::f32, {0, 1, 1, 0, 1}};
  } else if (operand == 'b') {
    if (row == "div") return {shape, 0.4, 2};
    if (row == "clip") return {shape, -1, -0.2};
    if (is_one_of({"leaky_relu", "relu_clip", "hard_sigmoid", "bce_logits", "square_hinge"})) return {shape, 0.05, 0.9};
    if (is_one_of({"elu", "smooth_l1", "shift"})) return {shape, 0.5, 1.5};
  } else if (operand == 'c') {
    if (is_one_of({"clip", "relu_clip", "square_hinge"})) return {shape, 0.3, 1};
  } else if (operand == 'y') {
    return {shape, 0.3, 0.9};
  }
  return {shape};
}

// Patterns in which up to five operands meet: same shape, numbers, broadcasting, nothing at all.
struct Pattern {
  const char* name;
  std::vector<Shape> shapes;  // repeated
  bool big = false;
};
const std::vector<Pattern>& patterns() {
  static const std::vector<Pattern> all = {
      {"matrices", {{3, 5}}},
      {"numbers", {Shape{}}},
      {"one element", {{1, 1}}},
      {"matrix first", {{2, 7}, Shape{}}},
      {"number first", {Shape{}, {2, 7}}},
      {"row and column", {{1, 6}, {4, 1}}},
      {"column and row", {{4, 1}, {6}}},
      {"axes of one anywhere", {{2, 1, 3, 1}, {1, 4, 1, 5}, {2, 4, 3, 5}}},
      {"middle repeated", {{3, 1, 2}, {3, 4, 2}}},
      {"no rows", {{0, 4}, {1, 4}}},
      {"many tiles", {{37, 263}, {263}, {37, 1}}, true},
  };
  return all;
}

std::vector<OpCase> row_cases(const Op& op) {
  const std::string row = op.row->name;
  std::string operands = std::string("abc").substr(0, size_t(op.row->arity));
  if (op.derivative_operand >= 0) operands = derivative_inputs(*op.row, op.derivative_operand);
  std::vector<OpCase> out;
  for (const Pattern& pattern : patterns()) {
    OpCase c{std::string(op.name), pattern.name, {}};
    for (size_t k = 0; k < operands.size(); ++k)
      c.inputs.push_back(range(row, operands[k], pattern.shapes[k % pattern.shapes.size()]));
    Shape shape;
    for (const CaseInput& input : c.inputs) shape = broadcast(shape, input.shape);
    if (shape.elements() == 0) c.fast = "plain";
    c.differentiable = !formulas::straight_through(row);
    out.push_back(c);
  }
  return out;
}

std::vector<OpCase> matmul_cases(const std::string& op, const Shape& batch) {
  std::vector<OpCase> out;
  auto add = [&](int64_t m, int64_t k, int64_t n, bool wide = false) {
    for (int64_t ta : {0, 1})
      for (int64_t tb : {0, 1}) {
        Attributes attributes = {{"transpose_a", ta}, {"transpose_b", tb}};
        if (wide) attributes = attributes.with(kWide, int64_t(1));
        const Shape a = batch.concat(ta ? Shape{k, m} : Shape{m, k}), b = batch.concat(tb ? Shape{n, k} : Shape{k, n});
        const bool empty = m * k * n == 0;
        out.push_back({op,
                       text(a, ta ? "T" : "", " ", b, tb ? "T" : "", wide ? " wide" : ""),
                       {{a}, {b}},
                       attributes,
                       k,
                       empty ? "empty product" : "product"});
      }
  };
  add(3, 5, 4), add(1, 7, 1), add(1, 1, 6), add(5, 1, 3), add(17, 33, 19), add(0, 3, 2), add(2, 0, 3), add(2, 3, 0);
  for (const int64_t k : {0, 33, 513}) add(17, k, 136, true);  // the last is left to a library by a GPU
  return out;
}

// Numbers whose axes lie apart in their stream.
void add_spaced_draws(std::vector<OpCase>& out) {
  const auto add = [&](const Shape& shape, int64_t first, const Axes& lengths, const Axes& strides) {
    const Attributes places = {{"first", first}, {"lengths", lengths}, {"strides", strides}};
    const Attributes attributes = {{"shape", Axes(shape.begin(), shape.end())},
                                   {"seed", int64_t(7)},
                                   {"stream", std::string("s")},
                                   {"first", first},
                                   {"lengths", lengths},
                                   {"strides", strides}};
    out.push_back({"uniform", text(shape, " ", places), {}, attributes, 1, "fused"});
  };
  const int64_t far = int64_t(1) << 40;
  add({3, 4, 6}, 0, {24}, {far}), add({5, 37, 64}, 2 * far, {37 * 64}, {far}), add({15, 13}, 0, {65}, {far});
  add({4, 1, 1}, far, {1}, {far}), add({40, 8}, 1, {16}, {22}), add({2, 3, 5, 7}, 6 * far, {35, 7}, {far, 1 << 20});
  add({3, 2, 33, 64}, 0, {33 * 64, 64}, {far, 1 << 20});
}

std::vector<OpCase> source_cases(const std::string& op) {
  std::vector<OpCase> out;
  for (const Shape& shape : {Shape{7}, Shape{3, 5}, Shape{1, 1}, Shape{2, 1, 3}, Shape{0, 2}, Shape{37, 263}}) {
    const Axes sizes(shape.begin(), shape.end());
    const std::string fast = shape.elements() ? "fused" : "plain";
    if (op == "uniform") {
      out.push_back(
          {op, shape.to_string(), {}, {{"shape", sizes}, {"seed", int64_t(7)}, {"stream", std::string("s")}}, 1, fast});
      continue;
    }
    for (int64_t axis = 0; axis < shape.rank(); ++axis)
      out.push_back({op, text(shape, " axis ", axis), {}, {{"shape", sizes}, {"axis", axis}}, 1, fast});
  }
  if (op == "uniform") add_spaced_draws(out);
  return out;
}

std::vector<OpCase> sign_product_cases() {
  std::vector<OpCase> out;
  auto add = [&](int64_t m, int64_t k, int64_t n) {
    out.push_back({"sign_product", text(m, " by ", n, " rows of ", k), {{{m, k}}, {{n, k}}}, {}, k, "signs"});
    out.back().differentiable = false;
  };
  add(3, 5, 4), add(1, 64, 1), add(17, 65, 33), add(9, 200, 16), add(300, 70, 40), add(70, 2500, 130), add(0, 3, 2),
      add(2, 3, 0);
  add(2, 3, 5);
  out.back().name += " with 0 and NaN";
  out.back().inputs[0].values = {0, -1, NAN, -0.0, 2, -3};
  return out;
}

std::vector<OpCase> keyed_cases() {
  auto make = [](int64_t columns, const std::vector<double>& keys) {
    const CaseInput given{{int64_t(keys.size()) / 2, 2}, 0, 1, DType::i32, keys};
    const Attributes attributes = {{"columns", columns}, {"seed", int64_t(7)}, {"stream", std::string("s")}};
    return OpCase{"keyed_uniform", text(columns, " for each of ", keys.size() / 2), {given}, attributes, 1, "plain"};
  };
  return {make(16, {3, 0, 0, 0, 3, 1}), make(1, {5, 2, 6, 2, 7, 2, 8, 2}), make(3, {1, 4, 2, 4}),
          make(16, {2147483647, 2147483647, 1281166, 89}), make(4, {})};
}

std::vector<OpCase> cast_cases() {
  std::vector<OpCase> out;
  for (DType to : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i32, DType::i64, DType::i8, DType::u8})
    out.push_back({"cast", text("to ", to), {{{3, 5}, -3, 3}}, {{"dtype", int64_t(to)}}, 1, "fused", to == DType::f64});
  for (DType from : {DType::u8, DType::i8, DType::i32, DType::i64})
    out.push_back({"cast", text("from ", from), {{{4, 3}, 0, 100, from}}, {{"dtype", int64_t(DType::f32)}}});
  out.push_back({"cast", "no rows", {{{0, 5}}}, {{"dtype", int64_t(DType::f32)}}, 1, "plain"});
  return out;
}

std::vector<OpCase> histogram_cases() {
  std::vector<OpCase> out;
  auto add = [&](const CaseInput& x, int64_t bins, int64_t offset, std::vector<double> when = {}) {
    OpCase c{"histogram", text(x.shape, " ", bins, " from ", offset), {x}, {{"bins", bins}, {"offset", offset}}};
    if (!when.empty()) c.name += text(" when ", when[0]), c.inputs.push_back({Shape{}, 0, 1, DType::f32, when});
    c.fast = "histogram";
    out.push_back(c);
  };
  add({{70, 900}}, 64, -48), add({{70, 900}}, 3, -1), add({{64}, -70000, 70000}, 32, -16), add({{1}}, 1, 0);
  add({{5, 1, 7}, 0, 255, DType::u8}, 64, -48), add({{40}, -128, 127, DType::i8}, 8, 0), add({{0, 3}}, 5, -2);
  add({{33}}, 64, -48, {1}), add({{33}}, 64, -48, {0}), add({{9}, -1e-40, 1e-40}, 1024, -160);
  return out;
}

std::vector<OpCase> round_cases() {
  std::vector<OpCase> out;
  auto add = [&](const Shape& shape, DType to, int64_t bits) {
    const std::string fast = shape.elements() ? "fused" : "mixed";
    out.push_back({"round_stochastic",
                   text(shape, " to ", bits, " bits of ", to),
                   {{shape}},
                   {{"dtype", int64_t(to)}, {"bits", bits}, {"seed", int64_t(5)}, {"stream", std::string("r")}},
                   1,
                   fast});
  };
  for (DType to : {DType::f32, DType::f16, DType::bf16}) add({5, 7}, to, 1), add({37, 263}, to, most_kept_bits(to));
  add({40}, DType::i8, 0), add({3, 4}, DType::i32, 0), add({9}, DType::u8, 0);
  add({1}, DType::f32, 4), add({0, 2}, DType::f32, 3);
  return out;
}

// Leaves take their attributes from build_case.
std::vector<OpCase> leaf_cases(const std::string& op) {
  if (op == "input") return {{op, "matrix", {{{3, 4}}}, {}, 1, ""}};
  if (op == "scalar") return {{op, "number", {}, {}, 1, "fused"}};
  if (op == "constant") return {{op, "number", {}, {{"value", 0.75}}, 1, "fused"}};
  return {{op, "matrix", {{{3, 4}}}, {}, 1, "fused"}};
}

using Maker = std::vector<OpCase> (*)(const std::string& op);

template <std::vector<OpCase> (*Make)()>
std::vector<OpCase> of_one(const std::string&) {
  return Make();
}

// Who makes the cases of a compound op, by the op's name.
const std::map<std::string_view, Maker>& compound_makers() {
  static const std::map<std::string_view, Maker> all = {
      {ops::batch_matmul, [](const std::string& op) { return matmul_cases(op, {3}); }},
      {ops::batch_norm, [](const std::string&) { return batch_norm_cases(false); }},
      {"batch_norm_grad", [](const std::string&) { return batch_norm_cases(true); }},
      {"group_norm", group_norm_cases},
      {"group_norm_grad", group_norm_cases},
      {"normalize", normalize_cases},
      {"normalize_grad", normalize_cases},
      {"rms_normalize", normalize_cases},
      {"rms_normalize_grad", normalize_cases},
      {ops::softmax, softmax_cases},
      {"softmax_grad", softmax_cases},
      {ops::log_softmax, softmax_cases},
      {"log_softmax_grad", softmax_cases},
      {ops::softmax_cross_entropy, softmax_cases},
      {"softmax_cross_entropy_grad", softmax_cases},
      {"attention", attention_cases},
      {"attention_grad", attention_cases},
      {"rotary", rotary_cases},
      {ops::sign_product, of_one<sign_product_cases>},
      {"recurrent", recurrent_cases},
      {"recurrent_grad", recurrent_cases},
      {"lstm", recurrent_cases},
      {"lstm_grad", recurrent_cases},
      {"gru", recurrent_cases},
      {"gru_grad", recurrent_cases},
  };
  return all;
}

// The same for an op that is neither compound nor a row of the elementwise table.
const std::map<std::string_view, Maker>& makers() {
  static const std::map<std::string_view, Maker> all = {
      {ops::input, leaf_cases},
      {ops::variable, leaf_cases},
      {ops::scalar, leaf_cases},
      {ops::constant, leaf_cases},
      {"iota", source_cases},
      {ops::uniform, source_cases},
      {ops::keyed_uniform, of_one<keyed_cases>},
      {ops::cast, of_one<cast_cases>},
      {"round_stochastic", of_one<round_cases>},
      {ops::sum, reduction_cases},
      {ops::max, reduction_cases},
      {ops::min, reduction_cases},
      {ops::argmax, reduction_cases},
      {ops::histogram, of_one<histogram_cases>},
      {ops::matmul, [](const std::string& op) { return matmul_cases(op, {}); }},
      {ops::convolution, convolution_cases},
      {ops::convolution_data_gradient, convolution_cases},
      {ops::convolution_weight_gradient, convolution_cases},
      {ops::columns, columns_cases},
      {ops::patches, columns_cases},
      {ops::depth_to_space, of_one<depth_to_space_cases>},
      {ops::pool_max, pooling_cases},
      {ops::pool_max_gradient, pooling_cases},
      {ops::pool_avg, pooling_cases},
      {ops::pool_avg_gradient, pooling_cases},
      {ops::region_max, region_cases},
      {ops::region_max_gradient, region_cases},
      {ops::crop, of_one<crop_cases>},
      {ops::resample, of_one<resample_cases>},
      {ops::ctc, ctc_cases},
      {ops::ctc_grad, ctc_cases},
      {ops::edit_distance, of_one<edit_distance_cases>},
      {ops::largest, of_one<largest_cases>},
      {ops::nms, of_one<nms_cases>},
      {ops::gather, of_one<gather_cases>},
      {ops::scatter_add, of_one<scatter_add_cases>},
      {ops::concat, of_one<concat_cases>},
      {ops::slice, of_one<slice_cases>},
      {"split", of_one<split_cases>},
      {ops::transpose, of_one<transpose_cases>},
      {ops::reshape, of_one<reshape_cases>},
      {ops::broadcast, of_one<broadcast_cases>},
      {"scale_gradient", of_one<scale_gradient_cases>},
      {"stop_gradient", of_one<stop_gradient_cases>},
      {ops::exchange, of_one<exchange_cases>},
      {ops::all_gather, rank_row_cases},
      {ops::reduce_scatter, rank_row_cases},
      {ops::all_to_all, rank_row_cases},
  };
  return all;
}

}  // namespace

std::vector<OpCase> cases_of(const Op& op) {
  if (op.is_elementwise()) return row_cases(op);
  for (const auto* table : {&compound_makers(), &makers()})
    if (const auto found = table->find(op.name); found != table->end()) return found->second(std::string(op.name));
  return {};
}

std::vector<OpCase> all_cases() {
  const char* const only = std::getenv("NEON_TEST_OP");
  std::vector<OpCase> out;
  for (const Op* op : all_ops())
    for (OpCase& c : cases_of(*op))
      if (!only || op->name == only) out.push_back(std::move(c));
  if (out.empty()) fail(ErrorKind::failed, "NEON_TEST_OP=", only ? only : "", ": no op of this name has cases");
  return out;
}

DType case_type(const CaseInput& input, DType dtype) {
  if (!is_floating(input.fixed)) return input.fixed;
  return input.arithmetic ? compute_type(dtype) : dtype;
}

Tensor case_data(const OpCase& c, size_t index, DType dtype, DType rounded) {
  const CaseInput& input = c.inputs[index];
  const bool integer = !is_floating(input.fixed);
  Tensor out(DType::f64, input.shape);
  Stream stream(11, c.to_string(), index);
  size_t i = 0;
  for (double& number : out.as<double>()) {
    const double drawn = input.low + (input.high - input.low) * stream.uniform();
    number = input.values.empty() ? drawn : input.values[i++ % input.values.size()];
  }
  return out.converted(integer ? input.fixed : rounded).converted(case_type(input, dtype));
}

std::vector<Value> build_case(Graph& graph, const OpCase& c, DType dtype) {
  std::vector<Value> inputs, outputs;
  auto type_of = [&](const CaseInput& input) { return case_type(input, dtype); };
  if (c.op == "variable") {
    outputs = {graph.variable("in0", dtype, c.inputs[0].shape)};
  } else if (c.op == "scalar") {
    outputs = {graph.scalar("number")};
  } else if (c.op == "constant") {
    outputs = {graph.constant(c.attributes.real("value"), dtype)};
  } else {
    for (size_t i = 0; i < c.inputs.size(); ++i)
      inputs.push_back(graph.input(text("in", i), type_of(c.inputs[i]), c.inputs[i].shape));
    outputs = c.op == "input" ? inputs : graph.add_all(c.op, inputs, c.attributes);
  }
  for (size_t i = 0; i < outputs.size(); ++i) graph.output(text("out", i), outputs[i]);
  return outputs;
}

}  // namespace neon::test
