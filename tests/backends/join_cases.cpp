#include "tests/backends/join_cases.h"

#include "backends/graph/op.h"
#include "backends/graph/windows.h"
#include "neon/core/random.h"

namespace neon::test {

namespace {

using Sizes = std::vector<int64_t>;

const Shape kSmall = {1, 4, 4, 8}, kLarge = {2, 16, 16, 8};

// Layers of a small net over an image x.
struct NetOfBranches {
  NetOfBranches(Graph& graph, DType dtype, const Shape& image) : graph(graph), dtype(dtype), x(input("x", image)) {}

  Expr product(Expr from, int64_t maps, int64_t size, int64_t groups = 1) {
    const Shape filters{maps, size, size, from.shape().back() / groups};
    return {graph, convolution(graph, from, variable(filters), windows(size), groups)};
  }
  static Windows windows(int64_t size) {
    const int64_t side = size / 2;
    return {{size, size}, {1, 1}, {side, side}, {side, side}, {1, 1}};
  }
  // With bias and relu.
  Expr layer(Expr from, int64_t maps, int64_t size = 1) {
    return apply("relu", product(from, maps, size) + variable({maps}));
  }
  Expr transposed(Expr from, int64_t maps) { return data_gradient(from, variable({from.shape().back(), 1, 1, maps})); }
  Expr data_gradient(Expr y, Expr w) {
    const Shape& shape = y.shape();
    return {graph, deconvolution(graph, y, w, windows(w.shape()[1]), 1, {shape[1], shape[2]})};
  }
  Expr weight_gradient(Expr from, Expr y) {
    const Attributes attributes = {{"strides", Sizes{1, 1}},
                                   {"padding", Sizes{0, 0, 0, 0}},
                                   {"dilation", Sizes{1, 1}},
                                   {"groups", int64_t(1)},
                                   {"sizes", Sizes{1, 1}}};
    return {graph, graph.add("convolution_weight_gradient", {from, y}, attributes)};
  }
  Expr input(const std::string& name, const Shape& shape) { return {graph, graph.input(name, dtype, shape)}; }
  Expr variable(const Shape& shape) { return {graph, graph.variable(text("w", made++), dtype, shape)}; }
  Expr largest(Expr from) {
    const Attributes attributes = {
        {"window", Sizes{3, 3, 1}}, {"strides", Sizes{1, 1, 1}}, {"padding", Sizes{1, 1, 1, 1, 0, 0}}};
    return {graph, graph.add_all("pool_max", {from}, attributes)[0]};
  }
  Expr mean_of_four(Expr from) {
    const Attributes attributes = {{"window", Sizes{2, 2, 1}},
                                   {"strides", Sizes{1, 1, 1}},
                                   {"padding", Sizes{0, 1, 0, 1, 0, 0}},
                                   {"count_padding", int64_t(1)}};
    return {graph, graph.add("pool_avg", {from}, attributes)};
  }
  Expr joined(const std::vector<Expr>& parts, int64_t axis = 3) {
    return {graph, graph.add("concat", {parts.begin(), parts.end()}, {{"axis", axis}})};
  }
  Expr part(Expr from, int64_t axis, int64_t first, int64_t count) {
    return {graph, graph.add("slice", {from}, {{"axis", axis}, {"first", first}, {"count", count}})};
  }
  // A last layer, and the gradients of its sum.
  void end(Expr y) { output("y", product(y, 8, 1)); }
  void output(const std::string& name, Expr y) { graph.output(name, y); }

  Graph& graph;
  DType dtype;
  Expr x;
  int made = 0;
};

using Build = void (*)(NetOfBranches&);

std::function<void(Graph&, DType)> over(const Shape& image, Build build) {
  return [=](Graph& graph, DType dtype) {
    NetOfBranches net(graph, dtype, image);
    build(net);
  };
}

// A convolution beside its distance from one of its pixels, which is found by a view of it.
template <int kPixel>
void beside_one_pixel(NetOfBranches& n) {
  const Expr y = n.product(n.x, 16, 3);
  const Expr pixels(n.graph, reshape(n.graph, y, {y.shape().elements() / 16, 1, 1, 16}));
  const Expr away = abs(y - n.part(pixels, 0, kPixel, 1));
  n.output("z", n.product(n.joined({n.layer(n.x, 8), y, away}), 8, 1));
}

JoinCase joined(const char* name, Build build, int copied = 0, int copied_narrow = -1) {
  return {name, over(kSmall, build), copied, copied_narrow < 0 ? copied : copied_narrow};
}

SiblingCase siblings(const char* name, int data, int weights, Build build) {
  return {name, over(kLarge, build), data, weights};
}

}  // namespace

std::vector<JoinCase> join_cases() {
  return {
      joined("branches of convolutions",
             [](NetOfBranches& n) {
               const Expr first = n.joined({n.layer(n.x, 16), n.layer(n.layer(n.x, 8), 24, 3), n.layer(n.x, 8, 3)});
               n.end(n.joined({n.layer(first, 8), n.layer(n.largest(first), 16)}));
             }),
      joined("pooling",
             [](NetOfBranches& n) {
               n.end(n.joined({n.largest(n.layer(n.x, 16)), n.mean_of_four(n.x), n.transposed(n.x, 8)}));
             }),
      joined("the first pixel of a part", beside_one_pixel<0>),
      joined("the second pixel of a part, of which a view is read", beside_one_pixel<1>, 1),
      joined("relu after pooling",
             [](NetOfBranches& n) {
               n.end(n.joined({n.layer(n.x, 8), apply("relu", n.largest(n.product(n.x, 8, 1)))}));
             }),
      joined("fused kernels",
             [](NetOfBranches& n) {
               const Expr a = n.product(n.x, 8, 3), b = n.product(n.x, 16, 1);
               n.end(n.joined({abs(a - sum(a, {3})), abs(b) * 0.5 + sum(b, {0, 1, 2})}));
             }),
      joined("one kernel makes both",
             [](NetOfBranches& n) {
               n.end(n.joined({n.x * 0.5, n.x + n.x}));
             }),
      joined("numbers that repeat",
             [](NetOfBranches& n) {
               const Expr zero(n.graph, n.graph.constant(0, n.dtype));
               n.end(n.joined({n.layer(n.x, 8), Expr(n.graph, broadcast_to(n.graph, zero, {1, 4, 4, 8}))}));
             }),
      joined(
          "an odd number of channels",
          [](NetOfBranches& n) {
            n.end(n.joined({n.layer(n.x, 3), n.layer(n.x, 5, 3)}));
          },
          1),
      joined(
          "four channels",
          [](NetOfBranches& n) {
            n.end(n.joined({n.layer(n.x, 4), n.layer(n.x, 12)}));
          },
          0, 1),
      joined(
          "the same twice",
          [](NetOfBranches& n) {
            const Expr a = n.layer(n.x, 8);
            n.end(n.joined({a, n.layer(n.x, 8), a}));
          },
          1),
      joined(
          "the same in two",
          [](NetOfBranches& n) {
            const Expr a = n.layer(n.x, 8);
            n.end(n.joined({a, n.layer(n.x, 8)}) + n.joined({n.layer(n.x, 8, 3), a}));
          },
          2),
      joined("one in another",
             [](NetOfBranches& n) {
               const Expr inner = n.joined({n.layer(n.x, 8), n.layer(n.x, 16)});
               n.end(n.joined({n.layer(n.x, 8, 3), inner, n.layer(n.x, 8)}));
             }),
      joined("one in another in a third",
             [](NetOfBranches& n) {
               const Expr inner = n.joined({n.layer(n.x, 8), n.layer(n.x, 16)});
               n.end(n.joined({n.joined({inner, n.layer(n.x, 8, 3)}), n.layer(n.x, 8)}));
             }),
      joined(
          "one in another along another axis",
          [](NetOfBranches& n) {
            const Expr a = n.joined({n.layer(n.x, 8), n.layer(n.x, 8)});
            n.end(n.joined({a, n.joined({n.layer(n.x, 8), n.layer(n.x, 8, 3)})}, 1));
          },
          1),
      {"one that a convolution reads in another, of one pixel",
       over({1, 1, 1, 8},
            [](NetOfBranches& n) {
              const Expr inner = n.joined({n.layer(n.x, 8), n.layer(n.x, 8)});
              const Expr middle = n.joined({inner, n.layer(inner, 8)});
              n.end(n.joined({middle, n.layer(middle, 8)}));
            })},
      joined("rows of pixels",
             [](NetOfBranches& n) {
               n.end(n.joined({n.layer(n.x, 8), n.layer(n.x, 8, 3)}, 1));
             }),
      joined("samples",
             [](NetOfBranches& n) {
               n.end(n.joined({n.layer(n.x, 8), n.layer(n.x, 8, 3)}, 0));
             }),
      joined("a result of the graph",
             [](NetOfBranches& n) {
               const Expr y = n.joined({n.layer(n.x, 8), n.layer(n.x, 16)});
               n.output("joined", y);
               n.end(y);
             }),
      joined(
          "a part that is a result",
          [](NetOfBranches& n) {
            const Expr a = n.layer(n.x, 8);
            n.output("part", a);
            n.end(n.joined({a, n.layer(n.x, 16)}));
          },
          1),
      joined(
          "a part that a convolution reads",
          [](NetOfBranches& n) {
            const Expr a = n.layer(n.x, 8);
            n.end(n.joined({a, n.layer(a, 16)}));
          },
          1),
      joined(
          "an input",
          [](NetOfBranches& n) {
            n.end(n.joined({n.x, n.layer(n.x, 16)}));
          },
          1),
      joined(
          "a part seen in another shape",
          [](NetOfBranches& n) {
            const Expr a = n.layer(n.x, 8);
            n.output("rows", sum(reshape(a, {2, 64}), {1}));
            n.end(n.joined({a, n.layer(n.x, 16)}));
          },
          1),
      joined(
          "an empty part",
          [](NetOfBranches& n) {
            n.end(n.joined({n.layer(n.x, 8), n.part(n.x, 3, 0, 0)}));
          },
          2),
      joined(
          "a variable that takes it",
          [](NetOfBranches& n) {
            const Expr kept(n.graph, n.graph.variable("kept", n.dtype, {1, 4, 4, 16}));
            n.graph.assign(kept, n.joined({n.layer(n.x, 8), n.layer(n.x, 8)}));
          },
          1),
      joined("a variable that is read and takes it",
             [](NetOfBranches& n) {
               const Expr kept(n.graph, n.graph.variable("kept", n.dtype, {1, 4, 4, 16}));
               n.output("before", sum(kept, {0, 1, 2}));
               n.graph.assign(kept, n.joined({n.layer(n.x, 8), n.layer(n.x, 8)}));
             }),
      joined(
          "variables that are written",
          [](NetOfBranches& n) {
            const Expr a = n.variable(kSmall), b = n.variable(kSmall);
            n.output("joined", n.joined({a, b}));
            n.graph.assign(a, a + n.x);
            n.graph.assign(b, a - b);
          },
          1),
      joined(
          "samples that are looked up in a part",
          [](NetOfBranches& n) {
            const Expr a = n.layer(n.x, 8);
            const Expr first = cast(Expr(n.graph, iota(n.graph, {1}, 0)), DType::i32);
            n.output("found", Expr(n.graph, gather(n.graph, a, first)) * 0.5);
            n.end(n.joined({a, n.layer(n.x, 16)}));
          },
          1),
      joined("slices and folds of a part",
             [](NetOfBranches& n) {
               const Expr a = n.layer(n.x, 16), y = n.joined({n.layer(n.x, 8), a});
               n.output("channels", n.part(a, 3, 3, 5) * 0.5);
               n.output("pixels", n.part(a, 1, 1, 2) + n.part(a, 1, 2, 2));
               n.output("of pixels", sum(a, {0, 1, 2}));
               n.output("of channels", sum(a, {3}));
               n.output("of all", sum(a, {0, 1, 2, 3}));
               n.output("largest", reduce("argmax", a, {3}));
               n.end(y);
             }),
      joined(
          "the gradients of slices, which the same zeros fill up",
          [](NetOfBranches& n) {
            const Expr a = n.part(n.layer(n.x, 16), 1, 0, 1) * 0.5, b = n.part(n.layer(n.x, 16), 1, 3, 1) * 2;
            n.end(n.joined({a, b}, 1));
          },
          2),
      joined("channels one by one",
             [](NetOfBranches& n) {
               const Expr a = n.part(n.layer(n.x, 16), 1, 0, 1) * 0.5;
               const Expr y = n.joined({reshape(a, {4, 16, 1, 1}) + 1.0, reshape(a, {4, 16, 1, 1}) * 2}, 1);
               n.output("first", n.part(y, 1, 0, 16) * 0.5);
               n.output("whole", y * 0.5);
             }),
  };
}

// Of the last layer there is one gradient by its input and one by its filters, too.
std::vector<SiblingCase> sibling_cases() {
  return {
      siblings("three of one input", 2, 2,
               [](NetOfBranches& n) {
                 n.end(n.joined({n.layer(n.x, 8), n.layer(n.x, 16), n.layer(n.x, 8)}));
               }),
      siblings("filters in another type", 2, 2,
               [](NetOfBranches& n) {
                 std::vector<Expr> parts;
                 for (int64_t maps : {8, 16}) {
                   const Expr w(n.graph, n.graph.variable(text("master", maps), DType::f32, {maps, 1, 1, 8}));
                   parts.emplace_back(n.graph,
                                      convolution(n.graph, n.x, cast(w, n.dtype), NetOfBranches::windows(1), 1));
                 }
                 n.end(n.joined(parts));
               }),
      siblings("filters that are updated", 1, 1,
               [](NetOfBranches& n) {
                 const Expr a = n.variable({8, 1, 1, 8}), b = n.variable({16, 1, 1, 8});
                 const Expr da = n.input("a", kLarge), db = n.input("b", {2, 16, 16, 16});
                 n.output("sum", n.data_gradient(da, a) + n.data_gradient(db, b));
                 n.graph.assign(a, a - n.weight_gradient(n.x, da) * 0.5);
                 const Expr total = sum(square(da), {0, 1, 2, 3}), never = apply("less", total, total.constant(0));
                 n.graph.assign(b, b - n.weight_gradient(n.x, db) * 0.5, never);
               }),
      siblings("two of each size", 3, 3,
               [](NetOfBranches& n) {
                 n.end(n.joined({n.layer(n.x, 8), n.layer(n.x, 8, 3), n.layer(n.x, 8, 3), n.layer(n.x, 8)}));
               }),
      siblings("one of each size", 3, 3,
               [](NetOfBranches& n) {
                 n.end(n.joined({n.layer(n.x, 8), n.layer(n.x, 8, 3)}));
               }),
      siblings("a module with pooling", 5, 5,
               [](NetOfBranches& n) {
                 const Expr reduced = n.layer(n.layer(n.x, 8), 8, 3), pooled = n.layer(n.largest(n.x), 8);
                 n.end(n.joined({n.layer(n.x, 16), reduced, n.layer(n.layer(n.x, 8), 16), pooled}));
               }),
      siblings("an odd number of maps", 3, 3,
               [](NetOfBranches& n) {
                 n.end(n.joined({n.layer(n.x, 3), n.layer(n.x, 5)}));
               }),
      siblings("in groups", 3, 3,
               [](NetOfBranches& n) {
                 n.end(n.joined({n.product(n.x, 8, 1, 2), n.product(n.x, 8, 1, 2)}));
               }),
      siblings("filters larger than the image", 3, 3,
               [](NetOfBranches& n) {
                 n.end(n.joined({n.layer(n.x, 136), n.layer(n.x, 136)}));
               }),
      siblings("one that is a result", 2, 0,
               [](NetOfBranches& n) {
                 const Expr a = n.transposed(n.x, 8), b = n.transposed(n.input("other", kLarge), 8);
                 n.output("one", a);
                 n.output("sum", a + b);
               }),
      siblings("two that are results", 2, 0,
               [](NetOfBranches& n) {
                 const Expr a = n.transposed(n.x, 8), b = n.transposed(n.input("other", kLarge), 8);
                 n.output("one", a);
                 n.output("other", b);
                 n.output("sum", a + b);
               }),
      siblings("a sum that goes on", 2, 0,
               [](NetOfBranches& n) {
                 const Expr a = n.transposed(n.x, 8), b = n.transposed(n.input("other", kLarge), 8);
                 const Expr c = n.transposed(n.input("third", kLarge), 8);
                 n.output("sum", a + b);
                 n.output("all", c + (a + b));
               }),
      siblings("two filters for one", 2, 0,
               [](NetOfBranches& n) { n.output("sum", n.transposed(n.x, 8) + n.transposed(n.x, 8)); }),
      siblings("a gradient by filters that another waits for", 1, 2,
               [](NetOfBranches& n) {
                 const Expr a = n.input("a", kLarge);
                 const Expr first = n.weight_gradient(n.x, a);
                 const Expr b = n.input("b", kLarge) + max(first, {0, 1, 2, 3}) * 0;
                 n.output("sum", n.transposed(a, 8) + n.transposed(b, 8));
                 n.output("first", first * 0.5);
                 n.output("second", n.weight_gradient(n.x, b) * 0.5);
               }),
      siblings("gradients by filters of two inputs", 1, 2,
               [](NetOfBranches& n) {
                 const Expr a = n.input("a", kLarge), b = n.input("b", kLarge);
                 n.output("sum", n.transposed(a, 8) + n.transposed(b, 8));
                 n.output("first", n.weight_gradient(n.x, a));
                 n.output("second", n.weight_gradient(n.input("other", kLarge), b));
               }),
  };
}

std::vector<PixelCase> pixel_cases() {
  auto pixels = [](const char* name, int copied, int written, int apart, Build build) {
    return PixelCase{name, over({2, 5, 7, 8}, build), copied, written, apart};
  };
  return {
      pixels("a module", 0, 2, 2,
             [](NetOfBranches& n) {
               const Expr three = n.layer(n.layer(n.x, 8), 16, 3), five = n.layer(n.layer(n.x, 16), 8, 5);
               n.end(n.joined({n.layer(n.x, 24), three, five, n.layer(n.largest(n.x), 8)}));
             }),
      pixels("two modules", 0, 2, 2,
             [](NetOfBranches& n) {
               const Expr first = n.joined({n.layer(n.x, 16), n.layer(n.x, 8, 3)});
               n.end(n.joined({n.layer(first, 8, 3), n.layer(first, 16)}));
             }),
      pixels("one in another", 0, 3, 0,
             [](NetOfBranches& n) {
               n.end(n.joined({n.layer(n.x, 8), n.joined({n.layer(n.x, 16), n.layer(n.x, 8)})}));
             }),
      pixels("without bias or relu", 0, 2, 0,
             [](NetOfBranches& n) {
               n.end(n.joined({n.product(n.x, 16, 1), n.transposed(n.x, 8)}));
             }),
      pixels("one that sees its neighbours, with a bias alone", 0, 1, 1,
             [](NetOfBranches& n) {
               n.end(n.joined({n.layer(n.x, 8), n.product(n.x, 8, 3) + n.variable({8})}));
             }),
      pixels("one that sees its neighbours, without bias or relu", 1, 0, 0,
             [](NetOfBranches& n) {
               n.end(n.joined({n.layer(n.x, 8), n.product(n.x, 8, 3)}));
             }),
      pixels("one that a convolution reads", 1, 0, 0,
             [](NetOfBranches& n) {
               const Expr a = n.layer(n.x, 8, 3);
               n.end(n.joined({a, n.layer(a, 16)}));
             }),
      pixels("one beside one that a convolution reads", 1, 0, 0,
             [](NetOfBranches& n) {
               const Expr a = n.layer(n.x, 8, 3);
               n.end(n.joined({a, n.layer(a, 16), n.layer(n.x, 8, 3)}));
             }),
      pixels("one that is a result", 1, 0, 0,
             [](NetOfBranches& n) {
               const Expr a = n.layer(n.x, 8, 3);
               n.output("part", a);
               n.end(n.joined({a, n.layer(n.x, 16)}));
             }),
      pixels("an odd number of channels", 1, 0, 0,
             [](NetOfBranches& n) {
               n.end(n.joined({n.layer(n.x, 3, 3), n.layer(n.x, 5)}));
             }),
      pixels("rows of pixels", 0, 0, 2,
             [](NetOfBranches& n) {
               n.end(n.joined({n.layer(n.x, 8), n.layer(n.x, 8, 3)}, 1));
             }),
      pixels("in groups", 1, 0, 0,
             [](NetOfBranches& n) {
               n.end(n.joined({n.product(n.x, 8, 1, 2), n.product(n.x, 8, 1)}));
             }),
  };
}

Graph build_branches(const std::function<void(Graph&, DType)>& build, DType dtype) {
  Graph graph;
  build(graph, dtype);
  const auto found = graph.outputs().find("y");
  if (found == graph.outputs().end()) return graph;
  std::vector<Value> leaves = graph.leaves("variable");
  for (Value leaf : graph.leaves("input")) leaves.push_back(leaf);
  const Value y = found->second;
  const std::vector<Value> found_gradients = gradients(graph, y, leaves, graph.input("seed", dtype, graph.shape(y)));
  for (size_t i = 0; i < leaves.size(); ++i)
    if (found_gradients[i])
      graph.output("gradient of " + graph.producer(leaves[i]).attributes.string("name"), found_gradients[i]);
  return graph;
}

Tensor join_data(const Graph& graph, Value leaf) {
  Tensor out(graph.dtype(leaf), graph.shape(leaf));
  Stream stream(1, graph.producer(leaf).attributes.string("name"));
  // -1 or 1 in a quarter of the places, else 0; what has no sign, or is a row's index, is not below 0.
  const int least = out.dtype() == DType::u8 || out.dtype() == DType::i32 ? 0 : -1;
  for (int64_t i = 0; i < out.elements(); ++i) {
    const int64_t drawn = int64_t(stream.below(8));
    out.set(i, drawn == 0 ? least : drawn == 1 ? 1 : 0);
  }
  return out;
}

}  // namespace neon::test
