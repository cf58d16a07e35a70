#include "tests/backends/join_cases.h"

#include "tests/backends/net_of_branches.h"

namespace neon::test {

namespace {

const Shape kSmall = {1, 4, 4, 8};

// A convolution beside its distance from one of its pixels, which is found by a view of it.
template <int kPixel>
void beside_one_pixel(NetOfBranches& n) {
  const Expr y = n.product(n.x, 16, 3);
  const Expr pixels(n.graph, reshape(n.graph, y, {y.shape().elements() / 16, 1, 1, 16}));
  const Expr away = abs(y - n.part(pixels, 0, kPixel, 1));
  n.output("z", n.product(n.joined({n.layer(n.x, 8), y, away}), 8, 1));
}

// Each concatenation is a part of the next, and a convolution of several pixels makes what is new.
void dense_block(NetOfBranches& n) {
  Expr all = n.layer(n.x, 16);
  for (int64_t maps : {8, 16}) all = n.joined({all, n.product(n.layer(abs(all), 8), maps, 3)});
  n.end(abs(all));
}

JoinCase joined(const char* name, BuildBranches build, int copied = 0, int copied_narrow = -1) {
  return {name, over(kSmall, build), copied, copied_narrow < 0 ? copied : copied_narrow};
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
      joined("the second pixel of a part, of which a view is read", beside_one_pixel<1>),
      joined("a dense block", dense_block),
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

}  // namespace neon::test
