#include "tests/backends/pixel_cases.h"

#include "tests/backends/net_of_branches.h"

namespace neon::test {

namespace {

PixelCase pixels(const char* name, int copied, int written, int apart, BuildBranches build) {
  return PixelCase{name, over({2, 5, 7, 8}, build), copied, written, apart};
}

}  // namespace

std::vector<PixelCase> pixel_cases() {
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

}  // namespace neon::test
