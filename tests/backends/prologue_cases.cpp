#include "tests/backends/prologue_cases.h"

#include "backends/graph/expression.h"
#include "backends/graph/windows.h"

namespace neon::test {

namespace {

using Sizes = std::vector<int64_t>;
using Change = std::function<Expr(Expr)>;  // of the images (N,H,W,C)

// Images, or N rows of a data set of them, changed and then seen by 8 filters.
struct Images {
  Shape x;  // (N,H,W,C)
  Sizes filters = {3, 3}, strides = {1, 1}, dilation = {1, 1};
  Change change = [](Expr x) { return x * 0.5; };
  DType pixels = DType::u8;
  int64_t rows = 5;  // of the data set; 0: none
  bool keeps_images = false, writes_mean = false;

  void operator()(Graph& graph, DType dtype) const {
    const int64_t images = rows ? rows : x[0];
    Value data = graph.input("x", pixels, {images, x[1], x[2], x[3]});
    if (rows) data = gather(graph, data, graph.input("indices", DType::i32, {x[0]}));
    const Expr changed = change({graph, cast(graph, data, dtype)});
    if (writes_mean) {
      const Expr mean(graph, graph.variable("mean", dtype, {x[3]}));
      graph.assign(mean, mean * 0.5);
    }
    const Value w = graph.variable("w", dtype, {8, filters[0], filters[1], x[3]});
    const Windows windows{filters, strides, {1, 0}, {0, 1}, dilation};
    graph.output("y", convolution(graph, changed, w, windows, 1));
    if (keeps_images) graph.output("images", changed);
  }
};

// By a number of each channel, or of each place along another axis, chosen by comparing where it is.
Change by_place(int axis) {
  return [axis](Expr x) {
    const Expr at(x.graph(), cast(x.graph(), iota(x.graph(), x.shape(), axis), x.dtype()));
    return apply("select", apply("equal", at, at.constant(1)), x * 0.5 - 3.0, x + at * 0.25);
  };
}

Change less_mean(const Shape& shape) {
  return [shape](Expr x) { return (x - Expr(x.graph(), x.graph().variable("mean", x.dtype(), shape))) * 0.5; };
}

}  // namespace

std::vector<PrologueCase> prologue_cases() {
  const Shape few = {3, 9, 8, 3};
  const Change sample = [](Expr x) {
    const Value factors = x.graph().input("factors", DType::i8, {x.shape()[0], 1, 1, 1});
    return x * Expr(x.graph(), cast(x.graph(), factors, x.dtype()));
  };
  const Change largest = [](Expr x) { return x - max(x, {1, 2, 3}); };
  return {
      {"rows of a data set", Images{few}},
      {"blocks of a stride, less a mean of each channel",
       Images{.x = {3, 19, 17, 3}, .filters = {6, 5}, .strides = {3, 2}, .change = less_mean({3})}},
      {"less a mean image", Images{.x = few, .change = less_mean({9, 8, 3})}},
      {"less a mean of each pixel", Images{.x = few, .change = less_mean({9, 8, 1})}},
      {"less a mean of each row and channel", Images{.x = few, .change = less_mean({9, 1, 3})}},
      {"a factor of each sample", Images{.x = few, .change = sample}},
      {"by channel", Images{.x = few, .change = by_place(3)}},
      {"by column", Images{.x = few, .change = by_place(2)}},
      {"by row, of blocks of a stride",
       Images{.x = {3, 19, 17, 3}, .filters = {6, 5}, .strides = {3, 2}, .change = by_place(1)}},
      {"by image, of tiles", Images{.x = {2, 70, 130, 3}, .change = by_place(0)}},
      {"one channel, one row of one", Images{.x = {1, 9, 8, 1}, .rows = 1}},
      {"no data set", Images{.x = few, .pixels = DType::i8, .rows = 0}},
      {"numbers that have a gradient", Images{.x = few, .pixels = DType::f32, .rows = 0}},
      {"windows that no block has room for", Images{.x = {2, 100, 95, 1}, .filters = {2, 2}, .dilation = {90, 90}}},
      {"tiles of images", Images{.x = {2, 70, 130, 3}, .change = less_mean({3})}},
      {"a fold of the images", Images{.x = few, .change = largest}, false},
      {"images that somebody else reads", Images{.x = few, .keeps_images = true}, false},
      {"a mean that is written meanwhile", Images{.x = few, .change = less_mean({3}), .writes_mean = true}, false},
  };
}

}  // namespace neon::test
