#include "tests/backends/op_cases.h"

#include "backends/elementwise/kernels.h"
#include "backends/graph/expression.h"
#include "neon/core/random.h"
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
    OpCase c{op.name, pattern.name, {}};
    for (size_t k = 0; k < operands.size(); ++k)
      c.inputs.push_back(range(row, operands[k], pattern.shapes[k % pattern.shapes.size()]));
    Shape shape;
    for (const CaseInput& input : c.inputs) shape = broadcast(shape, input.shape);
    if (shape.elements() == 0) c.fast = "plain";
    c.differentiable = row != "sign_ste";
    out.push_back(c);
  }
  return out;
}

OpCase reduction(const std::string& op, const Shape& shape, const Axes& axes, const std::string& fast = "fused") {
  int64_t length = 1;
  for (int64_t axis : axes) length *= shape[int(axis)];
  return {op, text(shape, " over ", Shape(axes)), {{shape}}, {{"axes", axes}}, length, fast};
}

std::vector<OpCase> reduction_cases(const std::string& op) {
  std::vector<OpCase> out;
  auto add = [&](const Shape& shape, const Axes& axes, const std::string& fast = "fused") {
    out.push_back(reduction(op, shape, axes, fast));
  };
  add({5}, {0});
  add({1}, {0});
  add({7, 3}, {0});
  add({7, 3}, {1});
  add({7, 3}, {0, 1});
  add({5, 1}, {1});
  add({1, 5}, {0});
  add({1, 1}, {0});
  add({1, 6}, {1});
  add({3, 4, 5}, {1, 2});
  add({3, 4, 5}, {0, 1});
  add({3, 4, 1, 5}, {2, 3});
  // In the middle, also of columns longer than a tile, and wider.
  for (const Shape& shape :
       {Shape{3, 4, 5}, Shape{37, 3, 2}, Shape{2, 3, 700}, Shape{3, 700, 5}, Shape{2, 1100, 600}, Shape{3, 700, 1}})
    add(shape, {1});
  add({3, 4, 2, 5}, {1, 2});
  add({3, 2, 4, 5}, {2});
  add({2, 3, 4, 5}, {0, 2, 3}, "plain");  // as batch norm of feature maps
  add({2, 3, 4, 5}, {0, 1, 2, 3});
  add({130, 70}, {0});
  add({130, 70}, {1});
  add({130, 70}, {0, 1});
  add({4, 3000}, {1});
  add({3000, 4}, {0});
  add({7, 11, 13, 5}, {0, 1, 2});  // as batch norm of images
  add({600, 700}, {0});            // more columns than a tile has
  add({3, 4}, {}, "plain");        // over nothing
  add({0, 4}, {0}, "plain");
  add({0, 4}, {1}, "plain");
  add({3, 0}, {0, 1}, "plain");
  return out;
}

// Of matrices, or of a batch of them.
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
                       empty ? "empty matmul" : "product"});
      }
  };
  add(3, 5, 4), add(1, 7, 1), add(1, 1, 6), add(5, 1, 3), add(17, 33, 19), add(0, 3, 2), add(2, 0, 3), add(2, 3, 0);
  for (const int64_t k : {0, 33, 513}) add(17, k, 136, true);  // the last is left to a library by a GPU
  return out;
}

Attributes batch_norm_attributes(const Axes& axes) { return {{"axes", axes}, {"epsilon", 1e-3}}; }

std::vector<OpCase> batch_norm_cases(bool gradient) {
  std::vector<OpCase> out;
  auto add = [&](const Shape& shape, const Axes& axes, const std::string& fast) {
    Shape statistic = shape;
    int64_t count = 1;
    for (int64_t axis : axes) count *= shape[int(axis)], statistic = statistic.with(int(axis), 1);
    OpCase c{gradient ? "batch_norm_grad" : "batch_norm",
             shape.to_string(),
             {{shape}, {statistic, 0.5, 1.5}},
             batch_norm_attributes(axes),
             count,
             fast};
    if (gradient) {
      c.inputs.push_back({statistic, -0.1, 0.1});
      c.inputs.push_back({statistic, 0.5, 1.5});
      c.inputs.push_back({shape});
    } else {
      c.inputs.push_back({statistic});
    }
    out.push_back(c);
  };
  add({9, 5}, {0}, "fused");
  add({33, 1}, {0}, "fused");
  add({2, 20}, {0}, "fused");
  add({1, 4}, {0}, "fused");
  add({4, 3, 2, 5}, {0, 2, 3}, "mixed");
  add({40, 7, 6, 5}, {0, 1, 2}, "fused");
  add({600, 9}, {0}, "fused");
  add({1024, 3}, {0}, "fused");
  add({5, 15, 16, 3}, {0, 1, 2}, "fused");
  add({3, 4, 5}, {1}, "fused");
  add({3, 600, 5}, {1}, "fused");
  add({4, 3, 2, 5}, {1, 2}, "fused");
  return out;
}

std::vector<OpCase> softmax_cases(const std::string& op) {
  std::vector<OpCase> out;
  auto add = [&](const Shape& shape) {
    const Shape cost = shape.with(shape.rank() - 1, 1);
    OpCase c{op, shape.to_string(), {{shape}}, {}, shape.back()};
    if (op == "softmax_grad") c.inputs.push_back({shape});
    if (op.starts_with("softmax_cross_entropy")) c.inputs.push_back({shape, 0, 1});
    if (op == "softmax_cross_entropy_grad") c.inputs.push_back({cost});
    if (shape.elements() == 0) c.fast = "plain";
    out.push_back(c);
  };
  add({6}), add({4, 10}), add({1, 3}), add({5, 1}), add({1, 1}), add({2, 3, 4}), add({0, 3}), add({130, 70});
  return out;
}

CaseInput rows(const std::vector<double>& indices) { return {{int64_t(indices.size())}, 0, 1, DType::i32, indices}; }

std::vector<OpCase> gather_cases() {
  auto make = [](const Shape& data, const std::vector<double>& at, const std::string& fast = "fused") {
    return OpCase{"gather", text(at.size(), " rows of ", data), {{data}, rows(at)}, {}, 1, fast};
  };
  std::vector<OpCase> out = {make({5}, {4, 0, 4}),
                             make({5, 3}, {1, 1, 4, 0}),
                             make({4, 1}, {3, 2, 1, 0, 3}),
                             make({4, 6}, {2}),
                             make({4, 1}, {3}),
                             make({3, 2, 5}, {2, 0}),
                             make({3, 2, 1, 4}, {1}),
                             make({3, 2}, {}, "plain"),
                             make({3, 0}, {1, 2}, "plain"),
                             make({20, 300}, {19, 3, 3, 0, 7, 18, 1})};
  OpCase bytes = make({5, 3}, {4, 0, 2});
  bytes.name = "bytes";
  bytes.inputs[0] = {{5, 3}, 0, 255, DType::u8};
  out.push_back(bytes);
  return out;
}

std::vector<OpCase> scatter_add_cases() {
  auto make = [](const Shape& values, const std::vector<double>& at, int64_t count) {
    return OpCase{"scatter_add",          text(values, " to ", count, " rows"),
                  {{values}, rows(at)},   {{"rows", count}},
                  int64_t(at.size()) + 1, "plain"};
  };
  return {make({4}, {1, 1, 0, 1}, 3), make({3, 5}, {2, 0, 2}, 4), make({2, 2, 3}, {1, 1}, 2), make({1, 4}, {0}, 1),
          make({0, 3}, {}, 2)};
}

std::vector<OpCase> shape_cases(const std::string& op) {
  std::vector<OpCase> out;
  auto add = [&](const Shape& shape, Attributes attributes, const std::string& fast) {
    out.push_back({op, text(shape, " ", attributes), {{shape}}, std::move(attributes), 1, fast});
  };
  if (op == "reshape") {
    add({3, 4}, {{"shape", Axes{2, 6}}}, "");
    add({6}, {{"shape", Axes{1, 6, 1}}}, "");
    add({1, 1}, {{"shape", Axes{}}}, "");
    add({0, 3}, {{"shape", Axes{3, 0, 2}}}, "");
  } else if (op == "scale_gradient") {
    add({3, 4}, {{"factor", 1.0}}, "");  // with another it is not the derivative, on purpose
  } else if (op == "transpose") {
    add({3, 4}, {{"permutation", Axes{1, 0}}}, "copy");
    add({2, 3, 4}, {{"permutation", Axes{1, 2, 0}}}, "copy");
    add({2, 3, 1, 5}, {{"permutation", Axes{3, 0, 2, 1}}}, "copy");
    add({0, 4}, {{"permutation", Axes{1, 0}}}, "plain");
    add({5}, {{"permutation", Axes{0}}}, "copy");
    add({70, 45}, {{"permutation", Axes{1, 0}}}, "copy");
    add({3, 200, 170}, {{"permutation", Axes{0, 2, 1}}}, "copy");
    add({6, 5, 4, 3}, {{"permutation", Axes{2, 3, 0, 1}}}, "copy");
  } else if (op == "slice") {
    auto part = [](int64_t axis, int64_t first, int64_t count) {
      return Attributes{{"axis", axis}, {"first", first}, {"count", count}};
    };
    add({5, 3}, part(0, 1, 3), "fused");
    add({5, 3}, part(1, 2, 1), "fused");
    add({2, 4, 3}, part(1, 0, 4), "fused");
    add({2, 4, 3}, part(1, 1, 2), "fused");
    add({300, 70, 5}, part(1, 3, 60), "fused");
    add({4}, part(0, 2, 0), "plain");
  } else if (op == "broadcast") {
    add({3}, {{"shape", Axes{2, 3}}}, "fused");
    add({4, 1}, {{"shape", Axes{4, 5}}}, "fused");
    add({2, 1, 3, 1}, {{"shape", Axes{2, 4, 3, 5}}}, "fused");
    add(Shape{}, {{"shape", Axes{3, 2}}}, "fused");
    add({1, 3}, {{"shape", Axes{0, 3}}}, "plain");
    add({1}, {{"shape", Axes{1, 1}}}, "fused");
  }
  return out;
}

std::vector<OpCase> concat_cases() {
  auto make = [](const std::vector<Shape>& shapes, int64_t axis) {
    OpCase c{"concat", text(shapes.size(), " of ", shapes[0], " along ", axis), {}, {{"axis", axis}}, 1, "copy"};
    for (const Shape& shape : shapes) c.inputs.push_back({shape});
    return c;
  };
  return {make({{2, 3}, {1, 3}, {4, 3}}, 0), make({{2, 3}, {2, 1}}, 1), make({{2, 1, 3}, {2, 5, 3}}, 1),
          make({{3}, {0}, {2}}, 0),          make({{4, 2}}, 1),         make({{300, 40}, {300, 30}}, 1)};
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

CaseInput places(const std::vector<double>& numbers) {
  return {{int64_t(numbers.size()) / 3, 3}, 0, 1, DType::i32, numbers};
}

std::vector<OpCase> crop_cases() {
  std::vector<OpCase> out;
  auto add = [&](const std::string& name, const CaseInput& data, const CaseInput& place, const std::vector<double>& at,
                 int64_t height, int64_t width, int64_t border) {
    OpCase c{"crop", name, {data, place}, {{"height", height}, {"width", width}, {"border", border}}, 1, "crop"};
    if (!at.empty()) c.inputs.push_back(rows(at));
    out.push_back(c);
  };
  const CaseInput bytes{{4, 5, 6, 3}, 0, 255, DType::u8};
  const std::vector<double> here = {-2, 1, 0, 2, -3, 1, 0, 0, 1, 9, -9, 0};
  for (int64_t border : {0, 1, 2}) {
    add(text("bytes, border ", border), bytes, places(here), {}, 5, 6, border);
    add(text("numbers looked up, border ", border), {{7, 3, 4, 2}}, places(here), {6, 0, 0, 3}, 6, 3, border);
  }
  add("one pixel", {{2, 1, 1, 1}}, places({0, 0, 0, 0, 0, 1}), {1, 0}, 1, 1, 0);
  add("many", {{9, 32, 32, 3}, 0, 255, DType::u8}, places({-4, 3, 1, 4, -4, 0, 0, 2, 1}), {8, 0, 4}, 32, 32, 0);
  return out;
}

std::vector<OpCase> resample_cases() {
  std::vector<OpCase> out;
  auto add = [&](const std::string& name, const CaseInput& data, const std::vector<double>& boxes,
                 const std::vector<double>& at, int64_t height, int64_t width) {
    OpCase c{"resample", name, {data}, {{"height", height}, {"width", width}}};
    c.inputs.push_back({{int64_t(boxes.size()) / 4, 4}, 0, 1, DType::f32, boxes});
    if (!at.empty()) c.inputs.push_back(rows(at));
    c.length = 1000;  // the rounding of a coordinate counts as often as numbers differ from one pixel to the next
    c.fast = "resample";
    out.push_back(c);
  };
  const std::vector<double> boxes = {0.5, 1.25, 3, 2.5, -1, 0, 7, 9, 2, 2, 0.5, 0.5};
  add("numbers", {{3, 5, 6, 3}}, boxes, {}, 4, 7);
  add("numbers looked up", {{5, 4, 6, 2}}, boxes, {4, 1, 1}, 3, 2);
  add("bytes", {{3, 5, 6, 3}, 0, 255, DType::u8}, boxes, {}, 6, 6);
  add("one pixel", {{3, 1, 1, 2}}, boxes, {}, 2, 3);
  return out;
}

// Leaves take their attributes from build_case.
std::vector<OpCase> leaf_cases(const std::string& op) {
  if (op == "input") return {{op, "matrix", {{{3, 4}}}, {}, 1, ""}};
  if (op == "scalar") return {{op, "number", {}, {}, 1, "fused"}};
  if (op == "constant") return {{op, "number", {}, {{"value", 0.75}}, 1, "fused"}};
  return {{op, "matrix", {{{3, 4}}}, {}, 1, "fused"}};
}

}  // namespace

std::vector<OpCase> cases_of(const Op& op) {
  const std::string& name = op.name;
  if (op.is_elementwise()) return row_cases(op);
  if (name == "sum" || name == "max" || name == "min" || name == "argmax") return reduction_cases(name);
  if (name == "matmul") return matmul_cases(name, {});
  if (name == "batch_matmul") return matmul_cases(name, {3});
  if (name == "batch_norm") return batch_norm_cases(false);
  if (name == "batch_norm_grad") return batch_norm_cases(true);
  if (name.starts_with("softmax")) return softmax_cases(name);
  if (name.starts_with("convolution")) return convolution_cases(name);
  if (name == "columns" || name == "patches") return columns_cases(name);
  if (name == "depth_to_space") return depth_to_space_cases();
  if (name.starts_with("pool_")) return pooling_cases(name);
  if (name.starts_with("region_max")) return region_cases(name);
  if (name == "gather") return gather_cases();
  if (name == "scatter_add") return scatter_add_cases();
  if (name == "crop") return crop_cases();
  if (name == "resample") return resample_cases();
  if (name == "concat") return concat_cases();
  if (name == "iota" || name == "uniform") return source_cases(name);
  if (name == "keyed_uniform") return keyed_cases();
  if (name == "cast") return cast_cases();
  if (name == "histogram") return histogram_cases();
  if (name == "round_stochastic") return round_cases();
  if (name == "input" || name == "variable" || name == "scalar" || name == "constant") return leaf_cases(name);
  return shape_cases(name);
}

std::vector<OpCase> all_cases() {
  std::vector<OpCase> out;
  for (const Op* op : all_ops())
    for (OpCase& c : cases_of(*op)) out.push_back(std::move(c));
  return out;
}

Tensor case_data(const OpCase& c, size_t index, DType dtype, DType rounded) {
  const CaseInput& input = c.inputs[index];
  const bool integer = !is_floating(input.fixed);
  Tensor out(integer ? input.fixed : dtype, input.shape), number(integer ? input.fixed : rounded, {1});
  Stream stream(11, c.to_string(), index);
  for (int64_t i = 0; i < out.elements(); ++i) {
    const double drawn = input.low + (input.high - input.low) * stream.uniform();
    number.set(0, input.values.empty() ? drawn : input.values[size_t(i) % input.values.size()]);
    out.set(i, number.at(0));
  }
  return out;
}

std::vector<Value> build_case(Graph& graph, const OpCase& c, DType dtype) {
  std::vector<Value> inputs, outputs;
  auto type_of = [&](const CaseInput& input) { return is_floating(input.fixed) ? dtype : input.fixed; };
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
