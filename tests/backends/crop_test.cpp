// Crops and resampled boxes against NumPy's, and what is wrong with their inputs.
#include <catch2/catch.hpp>
#include <cmath>

#include "backends/graph/images.h"
#include "tests/support/golden.h"

using namespace neon;
using namespace neon_test;

namespace {

struct Run {
  Tensor y;
  std::string implementation;
};

// The samples are cut from the data at once, or from those that were looked up before.
Run run(const std::string& op, const Tensor& data, const Tensor& place, const Tensor& indices, ImageArea area,
        Border border, const ProgramOptions& options, bool at_once) {
  Graph graph;
  Value from = graph.input("data", data.dtype(), data.shape()),
        at = graph.input("indices", DType::i32, indices.shape());
  const Value where = graph.input("place", place.dtype(), place.shape());
  if (!at_once) from = gather(graph, from, at), at = {};
  const Sampling sampling = op == "nearest" ? Sampling::nearest : Sampling::linear;
  graph.output("y", op == "crop" ? crop(graph, from, where, at, area, border)
                                 : resample(graph, from, where, at, area, sampling));
  Variables variables;
  const auto program = compile_for_cpu(graph, variables, options);
  program->bind("data", data.data());
  program->bind("indices", indices.data());
  program->bind("place", place.data());
  program->run(0);
  return {program->output("y").clone(), options.plain ? "" : program->implementations().back()};
}

std::string trouble(const std::string& op, const TensorType& data, const TensorType& place, const TensorType& indices,
                    int64_t border = 0, int64_t height = 2) {
  Graph graph;
  std::vector<Value> inputs{graph.input("data", data.dtype, data.shape), graph.input("place", place.dtype, place.shape),
                            graph.input("indices", indices.dtype, indices.shape)};
  try {
    graph.add(op, inputs, {{"height", height}, {"width", int64_t(2)}, {"border", border}});
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("crops and boxes are NumPy's") {
  for (const Setting& c : golden("backends/golden/crops.json").items) {
    const std::string op = at(c, "op").value;
    const ImageArea area{int64_t(number_of(at(c, "height"))), int64_t(number_of(at(c, "width")))};
    const auto border = Border(int64_t(number_of(at(c, "border"))));
    const Tensor indices = tensor_of(at(c, "indices"), DType::i32);
    for (const Arithmetic& arithmetic : arithmetics())
      for (const DType dtype : {DType::u8, arithmetic.dtype, DType::i32})
        for (bool at_once : {true, false}) {
          if (dtype == DType::i32 && op == "resample") continue;
          INFO(op << " of " << std::string(neon::name_of(dtype)) << ", " << arithmetic.name << ", at once " << at_once);
          const DType places = op == "crop" ? DType::i32 : DType::f32;
          const Run done = run(op, tensor_of(at(c, "data"), dtype), tensor_of(at(c, "place"), places), indices, area,
                               border, arithmetic.options, at_once);
          if (!arithmetic.options.plain) CHECK(done.implementation == (op == "crop" ? op : "resample"));
          if (op != "resample") CHECK(done.y.dtype() == dtype);
          if (op != "resample") check_close(done.y, at(c, "y"), 0);
          else check_close(done.y, at(c, "y"), 64);
        }
  }
}

TEST_CASE("a box that ends with its image takes nothing of the next one") {
  for (const Arithmetic& arithmetic : arithmetics()) {
    INFO(arithmetic.name);
    Tensor data(arithmetic.dtype, {2, 3, 4, 1}), box(DType::f32, {1, 4}), indices(DType::i32, {1});
    for (int64_t i = 0; i < data.elements(); ++i) data.set(i, i < 12 ? 1 : NAN);
    box.set(2, 3), box.set(3, 4);
    const Tensor y = run("resample", data, box, indices, {3, 4}, Border::zero, arithmetic.options, true).y;
    for (int64_t i = 0; i < y.elements(); ++i) CHECK(y.at(i) == 1);
  }
}

TEST_CASE("a sample that is not there is an error with its number") {
  for (const Arithmetic& arithmetic : arithmetics())
    for (int32_t wrong : {-1, 3}) {
      Tensor data(DType::u8, {3, 2, 2, 1}), place(DType::i32, {2, 3}), indices(DType::i32, {2});
      indices.set(1, wrong);
      CHECK_THROWS_WITH(run("crop", data, place, indices, {2, 2}, Border::zero, arithmetic.options, true),
                        text("index ", wrong, " at place 1 is not in [0, 3)"));
    }
}

TEST_CASE("what no images can be cut from is refused") {
  const TensorType images{DType::u8, {5, 4, 4, 3}}, place{DType::i32, {2, 3}}, box{DType::f32, {2, 4}},
      indices{DType::i32, {2}};
  CHECK(trouble("crop", images, place, indices) == "none");
  CHECK(trouble("crop", {DType::u8, {5, 48}}, place, indices) ==
        "crop takes images (n,H,W,C) and a place (N,3) for each sample, got u8 (5, 48) and i32 (2, 3)");
  CHECK(trouble("crop", images, {DType::f32, {2, 3}}, indices) == "crop takes places of i32, got f32 (2, 3)");
  CHECK(trouble("crop", images, place, {DType::i32, {3}}) ==
        "crop of 2 samples takes as many i32 indices, got i32 (3)");
  CHECK(trouble("crop", images, place, indices, 3) == "crop has no border 3");
  CHECK(trouble("crop", images, place, indices, 0, 0) ==
        "crop of u8 (5, 4, 4, 3) to 0 x 2: images have at least one pixel");
  CHECK(trouble("resample", images, place, indices) == "resample takes floating boxes, got i32 (2, 3)");
  CHECK(trouble("resample", images, box, indices) == "none");
  Graph graph;
  const Value data = graph.input("data", DType::u8, {5, 4, 4, 3});
  CHECK_THROWS_WITH(crop(graph, data, graph.input("place", DType::i32, {2, 3}), {}, {2, 2}, Border::zero),
                    "crop takes a place for each of the images u8 (5, 4, 4, 3), got i32 (2, 3)");
}
