// Convolutions in tiles: their tables, followed by a loop as the kernel follows them, against sums by the definition;
// and their texts.
#include <catch2/catch.hpp>
#include <set>
#include <span>

#include "backends/cuda/compile.h"
#include "backends/cuda/pairs_plan.h"
#include "backends/cuda/tile_filters_plan.h"
#include "backends/graph/windows.h"
#include "tests/backends/cuda/tile_cases.h"

using namespace neon;
using namespace neon::test;
using cuda::PairTiles;
using cuda::TileConvolution;
using cuda::TileFilters;

namespace {

constexpr int kHopper = 90, kItsProcessors = 132;

struct Planned {
  Graph graph;
  LoweredKernel kernel;
};

Planned kernel_of(const OpCase& c, DType dtype) {
  Planned out;
  std::vector<Value> inputs;
  for (size_t i = 0; i < c.inputs.size(); ++i)
    inputs.push_back(out.graph.input(text("in", i), dtype, c.inputs[i].shape));
  const Value y = out.graph.add(c.op, inputs, c.attributes);
  out.kernel.op = out.graph.producer(y).op;
  out.kernel.attributes = c.attributes;
  out.kernel.inputs = inputs;
  out.kernel.outputs = {y};
  return out;
}

template <typename Plan = TileConvolution>
std::optional<Plan> plan_of(const OpCase& c, DType dtype = DType::f16, int arch = kHopper) {
  const Planned planned = kernel_of(c, dtype);
  return Plan::of(planned.kernel, planned.graph, arch, kItsProcessors);
}

// A small whole number for each element of an array, so that sums are exact.
int number_at(int64_t i, int64_t salt) { return int((i * 2654435761 + salt * 40503) >> 7 & 7) - 3; }

// Pixel of an array's plane; false where it lies beside the array.
bool find_pixel(const Shape& shape, const cuda::Plane& plane, int64_t row, int64_t column, int64_t& y, int64_t& x) {
  y = plane.first_row + row * plane.row_step, x = plane.first_column + column * plane.column_step;
  return row >= 0 && column >= 0 && y < shape[1] && x < shape[2];
}

// One image's results for a channel of every input pixel and a map, as the kernel's tables make them; -1000 where
// nothing does. A second writing is an error.
std::vector<int> by_tables(const TileConvolution& c) {
  const cuda::TileTables& t = c.tables;
  std::vector<int> out(size_t(c.to[1] * c.to[2]), -1000);
  for (int plane = 0; plane < t.planes; ++plane)
    for (int tile = 0; tile < t.across * t.down; ++tile)
      for (int pixel = 0; pixel < c.tile_width() * c.tile_height(); ++pixel) {
        // Rows of a square or of a strip lie a row of the halo apart.
        const int row = pixel / int(c.tile_width()), column = pixel % int(c.tile_width());
        const int first_row = tile / t.across * int(c.tile_height()),
                  first_column = tile % t.across * int(c.tile_width());
        int64_t y, x;
        if (!find_pixel(c.to, c.results[size_t(plane)], first_row + row, first_column + column, y, x)) continue;
        int sum = 0;
        for (int p = t.parts_of[plane]; p < t.parts_of[plane + 1]; ++p) {
          const cuda::TilePart& part = t.parts[p];
          for (int i = part.first; i < part.first + part.places; ++i) {
            const int at = int(t.places[i] >> 16) + row * t.pitch + column, place = int(t.places[i] & 0xFFFF);
            REQUIRE(at < t.pixels);
            int64_t from_y, from_x;
            if (find_pixel(c.from, c.inputs[size_t(part.from)], first_row + part.row + at / t.pitch,
                           first_column + part.column + at % t.pitch, from_y, from_x))
              sum += number_at(from_y * c.from[2] + from_x, 1) * number_at(place, 2);
          }
        }
        int& result = out[size_t(y * c.to[2] + x)];
        REQUIRE(result == -1000);
        result = sum;
      }
  return out;
}

// The same by the definition: output i of an axis sees element i·stride - before + place·dilation.
std::vector<int> by_definition(const TileConvolution& c, const Windows& w) {
  std::vector<int> out(size_t(c.to[1] * c.to[2]), 0);
  const Shape &x = c.gradient ? c.to : c.from, &y = c.gradient ? c.from : c.to;
  for (int64_t p = 0; p < y[1]; ++p)
    for (int64_t q = 0; q < y[2]; ++q)
      for (int64_t r = 0; r < w.size[0]; ++r)
        for (int64_t s = 0; s < w.size[1]; ++s) {
          const int64_t h = p * w.strides[0] - w.before[0] + r * w.dilation[0],
                        v = q * w.strides[1] - w.before[1] + s * w.dilation[1];
          if (h < 0 || v < 0 || h >= x[1] || v >= x[2]) continue;
          const int64_t of_x = h * x[2] + v, of_y = p * y[2] + q;
          out[size_t(c.gradient ? of_x : of_y)] +=
              number_at(c.gradient ? of_y : of_x, 1) * number_at(r * w.size[1] + s, 2);
        }
  return out;
}

// The gradient of one channel of a map's filters, place by place, as the kernel's tables make it.
std::vector<int> by_tables(const TileFilters& c) {
  const cuda::FilterTables& t = c.tables;
  std::vector<int> out(size_t(t.places), -1000);
  for (const cuda::RunGroup& group : std::span(t.groups_of, size_t(t.groups)))
    for (const cuda::PlaceRun& run : std::span(t.runs + group.first, size_t(group.count)))
      for (int member = 0; member < run.count; ++member) {
        int sum = 0;
        for (int tile = 0; tile < t.across * t.down; ++tile)
          for (int pixel = 0; pixel < c.wide * c.high * 64; ++pixel) {
            const int row = pixel / (c.wide * 8), column = pixel % (c.wide * 8);
            const int at = row * t.pitch + column + run.at + member * t.step_of_pixels;
            REQUIRE(at < t.pixels);
            const int first_row = tile / t.across * c.high * 8, first_column = tile % t.across * c.wide * 8;
            const int64_t p = first_row + row, q = first_column + column;
            int64_t y, x;
            if (p < c.given[1] && q < c.given[2] &&
                find_pixel(c.input, c.planes[size_t(group.from)], first_row + group.row + at / t.pitch,
                           first_column + group.column + at % t.pitch, y, x))
              sum += number_at(p * c.given[2] + q, 1) * number_at(y * c.input[2] + x, 2);
          }
        int& result = out[size_t(run.first + member * t.step_of_places)];
        REQUIRE(result == -1000);
        result = sum;
      }
  return out;
}

std::vector<int> by_definition(const TileFilters& c, const Windows& w) {
  std::vector<int> out(size_t(w.size[0] * w.size[1]), 0);
  for (int64_t p = 0; p < c.given[1]; ++p)
    for (int64_t q = 0; q < c.given[2]; ++q)
      for (int64_t place = 0; place < int64_t(out.size()); ++place) {
        const int64_t h = p * w.strides[0] - w.before[0] + place / w.size[1] * w.dilation[0],
                      v = q * w.strides[1] - w.before[1] + place % w.size[1] * w.dilation[1];
        if (h >= 0 && v >= 0 && h < c.input[1] && v < c.input[2])
          out[size_t(place)] += number_at(p * c.given[2] + q, 1) * number_at(h * c.input[2] + v, 2);
      }
  return out;
}

bool is_of_filters(const OpCase& c) { return c.op == "convolution_weight_gradient"; }

}  // namespace

TEST_CASE("tables of filters' gradients in tiles meet each pixel with each number given that saw it") {
  for (const OpCase& c : tile_cases()) {
    if (!is_of_filters(c)) continue;
    INFO(c.to_string());
    const auto plan = plan_of<TileFilters>(c);
    REQUIRE(plan);
    CHECK(by_tables(*plan) == by_definition(*plan, windows_of(c.attributes, {plan->filters[1], plan->filters[2]})));
    CHECK(plan->shared_bytes() <= 227 << 10);
    CHECK(plan->tables.along * 64 >= plan->filters[0]);
    CHECK(plan->run * plan->depth <= 256);  // columns of a product
    CHECK(plan->blocks() % plan->tables.slices == 0);
  }
}

TEST_CASE("tables of convolutions in tiles meet each pixel with each place of the filters that sees it") {
  std::set<std::string> tiles;
  int turning = 0;
  for (const OpCase& c : tile_cases()) {
    if (is_of_filters(c)) continue;
    INFO(c.to_string());
    const auto plan = plan_of(c);
    REQUIRE(plan);
    CHECK(by_tables(*plan) == by_definition(*plan, windows_of(c.attributes, {plan->filters[1], plan->filters[2]})));
    CHECK(plan->shared_bytes() <= 227 << 10);
    CHECK(plan->tables.along * plan->columns >= plan->to[3]);
    CHECK(plan->tables.pieces * plan->depth >= plan->from[3]);
    tiles.insert(text(plan->columns, " ", plan->depth, " ", plan->halos, plan->gradient ? " gradient" : ""));
    turning += plan->turns && plan->tables.tiles > 2 * kItsProcessors;  // halves take more than one tile each
    if (!plan->turns) continue;
    CHECK(plan->stages == plan->filters[1] * plan->filters[2]);  // places that all filters stay in
    CHECK(plan->tables.along * plan->tables.pieces * plan->tables.planes == 1);
    CHECK(plan->stored_rows() == plan->tile_height());
  }
  CHECK(turning >= 2);
  CHECK(tiles.size() >= 8);  // kinds of kernels
}

TEST_CASE("tiles of pairs hold all that their windows see, and cover all results") {
  for (const OpCase& c : pairs_cases()) {
    INFO(c.to_string());
    const auto plan = plan_of<PairTiles>(c);
    REQUIRE(plan);
    CHECK((plan->shared_bytes() + 1024) * plan->of_processor <= 227 << 10);
    CHECK(plan->tables.across * plan->wide * 8 >= plan->results[2]);
    CHECK(plan->tables.down * plan->high * 8 >= plan->results[1]);
    CHECK(plan->tables.along * plan->columns >= plan->results[3]);
    CHECK(plan->tables.tiles == plan->tables.across * plan->tables.down * plan->image[0]);
    CHECK(plan->pitch >= (plan->wide * 8 - 1) * 2 + plan->before % 2 + plan->filters[2]);
    CHECK(plan->pitch * 4 <= 256);  // numbers of a copy
    CHECK(plan->rows == (plan->high * 8 - 1) * plan->row_step + plan->filters[1]);
    CHECK(plan->blocks % plan->tables.along == 0);
    CHECK(plan->blocks <= kItsProcessors * plan->of_processor);
  }
}

TEST_CASE("other convolutions are not made of pairs") {
  const OpCase c = pairs_cases()[0];
  CHECK(!plan_of<PairTiles>(c, DType::f32));
  for (const int arch : {80, 100, 120}) CHECK(!plan_of<PairTiles>(c, DType::f16, arch));
  const auto with = [&](int axis, int64_t size) {
    OpCase out = c;
    out.inputs[0].shape = out.inputs[0].shape.with(axis, size);
    return out;
  };
  CHECK(plan_of<PairTiles>(with(2, 110)));
  CHECK(!plan_of<PairTiles>(with(2, 111)));  // rows that do not begin at 16 bytes
  CHECK(!plan_of<PairTiles>(with(0, 4)));
  for (const std::vector<int64_t>& strides : {std::vector<int64_t>{2, 1}, {2, 4}}) {
    OpCase other = c;
    other.attributes = {{"strides", strides},
                        {"padding", c.attributes.integers("padding")},
                        {"dilation", std::vector<int64_t>{1, 1}},
                        {"groups", int64_t(1)}};
    CHECK(!plan_of<PairTiles>(other));
  }
  OpCase three = c;
  for (CaseInput& input : three.inputs) input.shape = input.shape.with(3, 3);
  CHECK(!plan_of<PairTiles>(three));
}

TEST_CASE("other convolutions are not made in tiles") {
  const OpCase c = tile_cases()[0];
  CHECK(!plan_of(c, DType::f32));
  CHECK(!plan_of(c, DType::f64));
  for (const int arch : {80, 100, 120}) CHECK(!plan_of(c, DType::f16, arch));
  OpCase few = c;
  few.inputs[0].shape = few.inputs[0].shape.with(3, 60), few.inputs[1].shape = few.inputs[1].shape.with(3, 60);
  CHECK(!plan_of(few));  // pixels would not begin at 16 bytes
  OpCase small = c;
  small.inputs[0].shape = small.inputs[0].shape.with(0, 4);
  CHECK(!plan_of(small));
  // A plane of each second column would have none.
  const std::vector<int64_t> ones{1, 1}, twos{2, 2};
  const OpCase narrow{
      "convolution",
      "one column",
      {{{8, 4001, 1, 64}}, {{64, 3, 3, 64}}},
      {{"strides", twos}, {"padding", std::vector<int64_t>(4, 1)}, {"dilation", ones}, {"groups", int64_t(1)}}};
  CHECK(!plan_of(narrow));
  OpCase broad = narrow;
  broad.inputs[0].shape = {8, 4001, 2, 64};
  CHECK(plan_of(broad));
}

TEST_CASE("convolutions in tiles and their gradients compile") {
  std::set<std::string> sources;
  for (const OpCase& c : pairs_cases()) sources.insert(plan_of<PairTiles>(c)->source());
  for (size_t i = 0; i < 15; ++i) {
    const OpCase c = tile_cases()[i];
    if (is_of_filters(c)) {
      sources.insert(plan_of<TileFilters>(c, i % 2 ? DType::f16 : DType::bf16)->source());
      continue;
    }
    auto plan = *plan_of(c, i % 2 ? DType::f16 : DType::bf16);
    if (c.op == "convolution") plan.bias = DType::f32, plan.relu = true;
    sources.insert(plan.source());
  }
  for (const std::string& code : cuda::compile_sources({sources.begin(), sources.end()}, kHopper)) CHECK(!code.empty());
}
