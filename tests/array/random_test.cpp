// Random expressions assigned to views of arrays that they may read; what was not assigned to keeps its bits. In f64,
// derived gradients against slopes that are carried along the same expression.
#include <cstdio>
#include <cstdlib>

#include "tests/array/random_expressions.h"

using namespace neon;
using namespace neon::test;

namespace {

// Assignments at once to one or two arrays or parts of them, and what must then be in all.
class Assignments {
 public:
  Assignments(RandomExpressions& drawn, Backend& be) : drawn_(drawn), be_(be) {
    for (size_t k = 0; k < drawn_.owned.size(); ++k) remember(k);
    int taken = -1;
    for (int targets = 1 + drawn_.below(2); targets > 0; --targets) taken = add(taken);
  }

  void run() {
    drawn_.rewind();
    if (given_.size() == 1) given_[0].first.assign(given_[0].second);
    else be_.assign(given_);
    INFO(be_.last_program());
    for (size_t k = 0; k < drawn_.owned.size(); ++k) compare(k);
  }

 private:
  struct Expected {
    std::vector<double> value, error;
  };

  void remember(size_t k) {
    Expected now;
    const Tensor& elements = drawn_.owned[k].elements;
    for (int64_t i = 0; i < elements.elements(); ++i) now.value.push_back(elements.at(i)), now.error.push_back(0);
    expected_.push_back(std::move(now));
  }

  // The array that it writes to; not the one that another already does.
  int add(int taken) {
    const auto& values = drawn_.values();
    const Known value = values[values.size() - 1 - size_t(drawn_.below(std::min<size_t>(3, values.size())))];
    const int which = drawn_.chance(50) ? drawn_.below(drawn_.owned.size()) : -1;
    if (which < 0 || which == taken) {
      const DType dtype = drawn_.type();
      const Array made = be_.empty(value.shape, dtype);
      drawn_.owned.push_back({made, Tensor(dtype, value.shape), {}});
      remember(drawn_.owned.size() - 1);
      write(value, drawn_.owned.size() - 1, places(value.shape, value.shape));
      given_.push_back({made, value.lazy});
      return int(drawn_.owned.size()) - 1;
    }
    const auto [view, from] = drawn_.part(drawn_.owned[size_t(which)].array);
    if (!fits(value.shape, view.shape())) return taken;
    write(moved(value, value.lazy.broadcast(view.shape()), places(value.shape, view.shape())), size_t(which), from);
    given_.push_back({view, value.lazy});
    return which;
  }

  // What element from[i] of an array becomes.
  void write(const Known& value, size_t which, const std::vector<int64_t>& from) {
    for (size_t i = 0; i < from.size(); ++i) {
      double stored = value.value[i], error = value.error[i];
      round_to(drawn_.owned[which].array.dtype(), stored, error);
      expected_[which].value[size_t(from[i])] = stored;
      expected_[which].error[size_t(from[i])] = error;
    }
  }

  void compare(size_t which) {
    const Tensor got = drawn_.owned[which].array.get();
    const Expected& expected = expected_[which];
    int wrong = 0;
    for (size_t i = 0; i < expected.value.size() && wrong < 3; ++i) {
      if (std::fabs(got.at(int64_t(i)) - expected.value[i]) <= expected.error[i]) continue;
      INFO("array " << which << ", " << std::string(name_of(got.dtype())) << " " << got.shape().to_string()
                    << ", element " << i << ": " << got.at(int64_t(i)) << " instead of " << expected.value[i]
                    << ", off by at most " << expected.error[i]);
      FAIL_CHECK();
      ++wrong;
    }
  }

  RandomExpressions& drawn_;
  Backend& be_;
  std::vector<std::pair<Array, Lazy>> given_;
  std::vector<Expected> expected_;
};

// The gradients by all arrays, times the direction, are the slope of the whole.
void check_gradients(RandomExpressions& drawn, Backend& be) {
  const Known& output = drawn.values().back();
  if (drawn.kinked()) return;
  Tensor seed(DType::f64, output.shape);
  double expected = 0, size = 0, found = 0;
  const auto add = [&](double& sum, double term) { sum += term, size += std::fabs(term); };
  for (int64_t i = 0; i < seed.elements(); ++i) {
    seed.set(i, drawn.uniform() * 2 - 1);
    add(expected, seed.at(i) * output.slope[size_t(i)]);
  }
  std::vector<Array> wanted, gradients;
  for (const Owned& owned : drawn.owned) {
    wanted.push_back(owned.array);
    gradients.push_back(be.empty(owned.array.shape(), DType::f64));
  }
  const Autodiff derived(output.lazy, be.array(seed));
  drawn.rewind();
  derived.back_prop(wanted, gradients);
  INFO(be.last_program());
  for (size_t k = 0; k < gradients.size(); ++k) {
    const Tensor gradient = gradients[k].get();
    for (int64_t i = 0; i < gradient.elements(); ++i) add(found, gradient.at(i) * drawn.owned[k].direction[size_t(i)]);
  }
  INFO("slope " << found << " instead of " << expected << ", a sum of " << size);
  CHECK(std::fabs(found - expected) <= 1e-10 * size + 1e-12);
}

struct Seeds {
  uint64_t first = 0, count = 0;
};

// NEON_RANDOM_CASES="FIRST COUNT" takes others than the suite.
Seeds seeds(uint64_t count) {
  Seeds out{0, count};
  if (const char* given = std::getenv("NEON_RANDOM_CASES")) std::sscanf(given, "%lu %lu", &out.first, &out.count);
  return out;
}

}  // namespace

TEST_CASE("random expressions of all types, assigned to random parts of arrays") {
  Backend be = make_backend();
  const auto [first, count] = seeds(200);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    INFO("seed " << seed);
    RandomExpressions drawn(seed, false, be);
    Assignments(drawn, be).run();
  }
}

TEST_CASE("random gradients are the slopes of their expressions") {
  Backend be = make_backend(DType::f64);
  const auto [first, count] = seeds(100);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    INFO("seed " << seed);
    RandomExpressions drawn(seed, true, be);
    check_gradients(drawn, be);
  }
}
