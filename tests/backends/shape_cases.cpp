#include "tests/backends/shape_cases.h"

#include <numeric>

namespace neon::test {

namespace {

using Axes = std::vector<int64_t>;

CaseInput rows(const std::vector<double>& indices) { return {{int64_t(indices.size())}, 0, 1, DType::i32, indices}; }

CaseInput places(const std::vector<double>& numbers) {
  return {{int64_t(numbers.size()) / 3, 3}, 0, 1, DType::i32, numbers};
}

}  // namespace

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
                  int64_t(at.size()) + 1, "scatter"};
  };
  std::vector<double> many;
  for (int i = 0; i < 700; ++i) many.push_back(i * i % 19 + (i % 3 ? 0 : 20));
  // Rows that a GPU's warps have several of, and indices that fit no list of one time.
  std::vector<double> spread, few;
  for (int i = 0; i < 5000; ++i) spread.push_back(i % 4 ? i * 37 % 9000 : i % 3);
  for (int i = 0; i < 300; ++i) few.push_back(i % 2 ? 4999 - i : i / 10);
  return {make({4}, {1, 1, 0, 1}, 3), make({3, 5}, {2, 0, 2}, 4), make({2, 2, 3}, {1, 1}, 2),
          make({1, 4}, {0}, 1),       make({700, 600}, many, 40), make({5000, 5}, spread, 9000),
          make({300, 70}, few, 5000), make({0, 3}, {}, 2),        make({7, 150}, {300, 0, 5, 300, 5, 5, 299}, 301)};
}

namespace {

OpCase shape_case(const std::string& op, const Shape& shape, Attributes attributes, const std::string& fast) {
  return {op, text(shape, " ", attributes), {{shape}}, std::move(attributes), 1, fast};
}

}  // namespace

std::vector<OpCase> reshape_cases() {
  return {
      shape_case("reshape", {3, 4}, {{"shape", Axes{2, 6}}}, ""),
      shape_case("reshape", {6}, {{"shape", Axes{1, 6, 1}}}, ""),
      shape_case("reshape", {1, 1}, {{"shape", Axes{}}}, ""),
      shape_case("reshape", {0, 3}, {{"shape", Axes{3, 0, 2}}}, ""),
  };
}

std::vector<OpCase> scale_gradient_cases() {
  return {
      shape_case("scale_gradient", {3, 4}, {{"factor", 1.0}}, ""),  // with another it is not the derivative, on purpose
  };
}

std::vector<OpCase> stop_gradient_cases() { return {shape_case("stop_gradient", {3, 4}, {}, "")}; }

// Without other ranks; an output is a copy.
std::vector<OpCase> exchange_cases() {
  return {
      shape_case("exchange", {3, 4}, {}, "mixed"),
      shape_case("exchange", {}, {}, "mixed"),
      shape_case("exchange", {0, 2}, {}, "mixed"),
  };
}

// Without other ranks, whose rows are zeros: of three ranks with uneven shares, of two, and of one.
std::vector<OpCase> rank_row_cases(const std::string& op) {
  std::vector<OpCase> out;
  for (const auto& [rows, rank] :
       {std::pair(Axes{3, 1, 2}, 0), {Axes{3, 1, 2}, 1}, {Axes{3, 1, 2}, 2}, {Axes{2, 2}, 1}, {Axes{4}, 0}}) {
    const int64_t own = rows[size_t(rank)], all = std::accumulate(rows.begin(), rows.end(), int64_t(0));
    const auto ranks = int64_t(rows.size());
    const Attributes attributes{{"rows", rows}, {"rank", int64_t(rank)}};
    if (op == "all_gather") {
      for (const Shape& shape : {Shape{own, 5}, Shape{own}, Shape{own, 2, 3}})
        out.push_back(shape_case(op, shape, attributes, "mixed"));
    } else if (op == "reduce_scatter") {
      for (const Shape& shape : {Shape{all, 5}, Shape{all}, Shape{all, 2, 3}})
        out.push_back(shape_case(op, shape, attributes, "mixed"));
    } else {
      out.push_back(shape_case(op, {all, 5}, attributes.with("back", int64_t(0)), "mixed"));
      out.push_back(shape_case(op, {ranks, own, 5}, attributes.with("back", int64_t(1)), "mixed"));
    }
  }
  return out;
}

std::vector<OpCase> transpose_cases() {
  return {
      shape_case("transpose", {3, 4}, {{"permutation", Axes{1, 0}}}, "copy"),
      shape_case("transpose", {2, 3, 4}, {{"permutation", Axes{1, 2, 0}}}, "copy"),
      shape_case("transpose", {2, 3, 1, 5}, {{"permutation", Axes{3, 0, 2, 1}}}, "copy"),
      shape_case("transpose", {0, 4}, {{"permutation", Axes{1, 0}}}, "plain"),
      shape_case("transpose", {5}, {{"permutation", Axes{0}}}, "copy"),
      shape_case("transpose", {70, 45}, {{"permutation", Axes{1, 0}}}, "copy"),
      shape_case("transpose", {3, 200, 170}, {{"permutation", Axes{0, 2, 1}}}, "copy"),
      shape_case("transpose", {6, 5, 4, 3}, {{"permutation", Axes{2, 3, 0, 1}}}, "copy"),
      // Small matrices, also more than a block of a GPU takes, and as many as do not fill the last; long and narrow
      // ones; runs that stay together; the last axis of neither array beside its neighbour in the other.
      shape_case("transpose", {9, 2, 58}, {{"permutation", Axes{0, 2, 1}}}, "copy"),
      shape_case("transpose", {1003, 7, 3}, {{"permutation", Axes{0, 2, 1}}}, "copy"),
      shape_case("transpose", {2100, 3}, {{"permutation", Axes{1, 0}}}, "copy"),
      shape_case("transpose", {3, 2100}, {{"permutation", Axes{1, 0}}}, "copy"),
      shape_case("transpose", {3, 7, 12, 32}, {{"permutation", Axes{0, 2, 1, 3}}}, "copy"),
      shape_case("transpose", {2, 72, 9, 9}, {{"permutation", Axes{0, 2, 3, 1}}}, "copy"),
      shape_case("transpose", {24, 16, 40}, {{"permutation", Axes{2, 1, 0}}}, "copy"),
      shape_case("transpose", {2, 100, 7, 9, 3}, {{"permutation", Axes{4, 1, 2, 3, 0}}}, "copy"),
      shape_case("transpose", {3, 1, 5, 70, 7}, {{"permutation", Axes{2, 1, 0, 4, 3}}}, "copy"),
  };
}

std::vector<OpCase> slice_cases() {
  const auto part = [](int64_t axis, int64_t first, int64_t count) {
    return Attributes{{"axis", axis}, {"first", first}, {"count", count}};
  };
  return {
      shape_case("slice", {5, 3}, part(0, 1, 3), "fused"),
      shape_case("slice", {5, 3}, part(1, 2, 1), "fused"),
      shape_case("slice", {2, 4, 3}, part(1, 0, 4), "fused"),
      shape_case("slice", {2, 4, 3}, part(1, 1, 2), "fused"),
      shape_case("slice", {300, 70, 5}, part(1, 3, 60), "fused"),
      shape_case("slice", {4}, part(0, 2, 0), "plain"),
  };
}

std::vector<OpCase> split_cases() {
  const auto parts = [](int64_t axis, const Axes& sizes) { return Attributes{{"axis", axis}, {"sizes", sizes}}; };
  return {
      shape_case("split", {5, 3}, parts(0, {1, 3, 1}), "definition"),
      shape_case("split", {5, 3}, parts(1, {2, 1}), "definition"),
      shape_case("split", {2, 4, 3}, parts(1, {1, 1, 1, 1}), "definition"),
      shape_case("split", {2, 4, 3}, parts(2, {3}), "definition"),
      shape_case("split", {300, 70, 5}, parts(1, {60, 0, 10}), "definition"),
  };
}

std::vector<OpCase> broadcast_cases() {
  return {
      shape_case("broadcast", {3}, {{"shape", Axes{2, 3}}}, "fused"),
      shape_case("broadcast", {4, 1}, {{"shape", Axes{4, 5}}}, "fused"),
      shape_case("broadcast", {2, 1, 3, 1}, {{"shape", Axes{2, 4, 3, 5}}}, "fused"),
      shape_case("broadcast", Shape{}, {{"shape", Axes{3, 2}}}, "fused"),
      shape_case("broadcast", {1, 3}, {{"shape", Axes{0, 3}}}, "plain"),
      shape_case("broadcast", {1}, {{"shape", Axes{1, 1}}}, "fused"),
  };
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
                 const std::vector<double>& at, int64_t height, int64_t width, bool nearest = false,
                 int64_t numbers = 4) {
    OpCase c{"resample", name, {data}, {{"height", height}, {"width", width}}};
    if (nearest) c.attributes = c.attributes.with("nearest", int64_t(1));
    c.inputs.push_back({{int64_t(boxes.size()) / numbers, numbers}, 0, 1, DType::f32, boxes});
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
  add("nearest", {{3, 5, 6, 3}}, boxes, {}, 4, 7, true);
  add("nearest, labels looked up", {{5, 4, 6, 1}, 0, 20, DType::i32}, boxes, {4, 1, 1}, 3, 2, true);
  add("nearest, bytes", {{3, 5, 6, 3}, 0, 255, DType::u8}, boxes, {}, 5, 11, true);
  const std::vector<double> leaning = {0.5, 1.25, 3, 2.5, 1.5, -2, -1, 5, -3.75, -4, 6, 0.25};
  add("leaning", {{2, 5, 6, 3}}, leaning, {}, 4, 7, false, 6);
  add("leaning bytes looked up", {{3, 5, 6, 1}, 0, 255, DType::u8}, leaning, {2, 0}, 6, 3, false, 6);
  add("nearest, leaning", {{2, 5, 6, 1}, 0, 20, DType::i32}, leaning, {}, 4, 8, true, 6);
  return out;
}

}  // namespace neon::test
