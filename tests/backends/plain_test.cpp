// The plain kernels, which everything else is tested against, against loops written out here.
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>

#include "neon/core/random.h"
#include "tests/backends/indices.h"
#include "tests/backends/run_case.h"

using namespace neon;
using namespace neon::test;

namespace {

// Calls `check` with each case of an op, its inputs and outputs in f64.
void each_case(const std::string& op, const std::function<void(const OpCase&, const CaseRun&)>& check) {
  for (const OpCase& c : cases_of(*find_op(op))) {
    INFO(c.to_string());
    check(c, run_case(c, DType::f64, DType::f64, {.plain = true}));
  }
}

}  // namespace

TEST_CASE("plain elementwise kernels broadcast as NumPy does") {
  each_case("mul_add", [](const OpCase& c, const CaseRun& run) {
    const Tensor& y = run.outputs[0];
    each_index(y.shape(), [&](const Index& at) {
      double operands[3];
      for (size_t k = 0; k < 3; ++k) {
        const Shape& own = c.inputs[k].shape;
        Index there(at.end() - own.rank(), at.end());
        for (int axis = 0; axis < own.rank(); ++axis)
          if (own[axis] == 1) there[size_t(axis)] = 0;
        operands[k] = run.inputs[k].at(flat(own, there));
      }
      REQUIRE(y.at(flat(y.shape(), at)) == operands[0] * operands[1] + operands[2]);
    });
  });
}

TEST_CASE("plain reductions") {
  for (const std::string op : {"sum", "max", "min", "argmax"})
    each_case(op, [&](const OpCase& c, const CaseRun& run) {
      const Tensor &x = run.inputs[0], &y = run.outputs[0];
      if (x.elements() > 50000) return;  // every element is looked at for every result
      const auto& axes = c.attributes.integers("axes");
      auto is_reduced = [&](int axis) { return std::count(axes.begin(), axes.end(), axis) > 0; };
      for (int axis = 0; axis < x.shape().rank(); ++axis)
        REQUIRE(y.shape()[axis] == (is_reduced(axis) ? 1 : x.shape()[axis]));
      each_index(y.shape(), [&](const Index& kept) {
        std::vector<double> folded;
        each_index(x.shape(), [&](const Index& at) {
          for (int axis = 0; axis < x.shape().rank(); ++axis)
            if (!is_reduced(axis) && at[size_t(axis)] != kept[size_t(axis)]) return;
          folded.push_back(x.at(flat(x.shape(), at)));
        });
        const double got = y.at(flat(y.shape(), kept));
        if (op == "sum") {
          double total = 0;
          for (double f : folded) total += f;
          REQUIRE(close(got, total));
        } else if (folded.empty()) {
          REQUIRE(got == (op == "max" ? -INFINITY : op == "min" ? INFINITY : 0));
        } else if (op == "argmax") {
          REQUIRE(got == double(std::max_element(folded.begin(), folded.end()) - folded.begin()));
        } else {
          REQUIRE(got == (op == "max" ? *std::max_element(folded.begin(), folded.end())
                                      : *std::min_element(folded.begin(), folded.end())));
        }
      });
    });
}

TEST_CASE("plain and fast reductions let NaN through, argmax to the first") {
  for (const auto& [op, expected] :
       std::map<std::string, double>{{"sum", NAN}, {"max", NAN}, {"min", NAN}, {"argmax", 1}})
    for (const Shape& shape : {Shape{5}, Shape{5, 1}, Shape{1, 5}})
      for (bool plain : {false, true}) {
        INFO(op << shape.to_string() << plain);
        Graph graph;
        const int64_t axis = shape[0] == 1 ? 1 : 0;
        const Value x = graph.input("x", DType::f32, shape);
        graph.output("y", graph.add(op, {x}, {{"axes", std::vector<int64_t>{axis}}}));
        Variables variables;
        const auto program = compile_for_cpu(graph, variables, {.plain = plain});
        const float data[] = {3, NAN, 9, NAN, 1};
        program->bind("x", data);
        program->run(0);
        const double y = program->output("y").at(0);
        if (std::isnan(expected)) CHECK(std::isnan(y));
        else CHECK(y == expected);
      }
}

TEST_CASE("plain matmul") {
  each_case("matmul", [](const OpCase& c, const CaseRun& run) {
    const bool ta = c.attributes.integer("transpose_a"), tb = c.attributes.integer("transpose_b");
    const Tensor &a = run.inputs[0], &b = run.inputs[1], &y = run.outputs[0];
    const int64_t inner = a.shape()[ta ? 0 : 1];
    each_index(y.shape(), [&](const Index& at) {
      double total = 0;
      for (int64_t k = 0; k < inner; ++k)
        total += a.at(flat(a.shape(), ta ? Index{k, at[0]} : Index{at[0], k})) *
                 b.at(flat(b.shape(), tb ? Index{at[1], k} : Index{k, at[1]}));
      REQUIRE(close(y.at(flat(y.shape(), at)), total));
    });
  });
}

TEST_CASE("plain products of batches of matrices") {
  each_case("batch_matmul", [](const OpCase& c, const CaseRun& run) {
    const bool ta = c.attributes.integer("transpose_a"), tb = c.attributes.integer("transpose_b");
    const Tensor &a = run.inputs[0], &b = run.inputs[1], &y = run.outputs[0];
    const int64_t inner = a.shape()[ta ? 1 : 2];
    each_index(y.shape(), [&](const Index& at) {
      double total = 0;
      for (int64_t k = 0; k < inner; ++k)
        total += a.at(flat(a.shape(), ta ? Index{at[0], k, at[1]} : Index{at[0], at[1], k})) *
                 b.at(flat(b.shape(), tb ? Index{at[0], at[2], k} : Index{at[0], k, at[2]}));
      REQUIRE(close(y.at(flat(y.shape(), at)), total));
    });
  });
}

TEST_CASE("plain softmax, its logarithm and its cost, by the formulas") {
  // Rows of the last axis.
  auto rows = [](const Shape& shape) { return shape.elements() / std::max<int64_t>(1, shape.back()); };
  each_case("softmax", [&](const OpCase&, const CaseRun& run) {
    const Tensor &x = run.inputs[0], &y = run.outputs[0];
    const int64_t n = x.shape().back();
    for (int64_t r = 0; r < rows(x.shape()); ++r) {
      double total = 0;
      for (int64_t i = 0; i < n; ++i) total += std::exp(x.at(r * n + i));
      for (int64_t i = 0; i < n; ++i) REQUIRE(close(y.at(r * n + i), std::exp(x.at(r * n + i)) / total));
    }
  });
  each_case("log_softmax", [&](const OpCase&, const CaseRun& run) {
    const Tensor &x = run.inputs[0], &y = run.outputs[0];
    const int64_t n = x.shape().back();
    for (int64_t r = 0; r < rows(x.shape()); ++r) {
      double total = 0;
      for (int64_t i = 0; i < n; ++i) total += std::exp(x.at(r * n + i));
      for (int64_t i = 0; i < n; ++i) REQUIRE(close(y.at(r * n + i), x.at(r * n + i) - std::log(total)));
    }
  });
  each_case("softmax_cross_entropy", [&](const OpCase&, const CaseRun& run) {
    const Tensor &x = run.inputs[0], &t = run.inputs[1], &y = run.outputs[0];
    const int64_t n = x.shape().back();
    REQUIRE(y.shape() == x.shape().with(x.shape().rank() - 1, 1));
    for (int64_t r = 0; r < rows(x.shape()); ++r) {
      double total = 0, cost = 0;
      for (int64_t i = 0; i < n; ++i) total += std::exp(x.at(r * n + i));
      for (int64_t i = 0; i < n; ++i) cost -= t.at(r * n + i) * std::log(std::exp(x.at(r * n + i)) / total);
      REQUIRE(close(y.at(r), cost));
    }
  });
}

TEST_CASE("softmax, its cost and their gradients stand inputs whose exponentials no type holds") {
  // Of inputs m, m - 1 and m - 2000 the softmax is 1 / (1 + 1/e), 1 / (1 + e) and 0, whatever m.
  const double offsets[] = {0, 1, 2000}, t[] = {0.25, 0.5, 0.25}, log_sum = std::log(1 + std::exp(-1));
  const double softmax[] = {1 / (1 + std::exp(-1)), 1 / (1 + std::exp(1)), 0};
  for (const double m : {1000.0, -1000.0})
    for (const ProgramOptions& options :
         {ProgramOptions{.plain = true}, ProgramOptions{}, ProgramOptions{.fuse = false}}) {
      INFO(m << (options.plain ? " plain" : options.fuse ? " fused" : " kernel by kernel"));
      Graph graph;
      const Value inputs[] = {graph.input("x", DType::f64, {1, 3}), graph.input("t", DType::f64, {1, 3})};
      graph.output("softmax", graph.add("softmax", {inputs[0]}));
      const Value cost = graph.add("softmax_cross_entropy", {inputs[0], inputs[1]});
      const auto slopes = gradients(graph, cost, inputs);
      graph.output("cost", cost), graph.output("dx", slopes[0]), graph.output("dt", slopes[1]);
      Variables variables;
      const auto program = compile_for_cpu(graph, variables, options);
      const double x[] = {m, m - 1, m - 2000};
      program->bind("x", x), program->bind("t", t);
      program->run(0);
      CHECK(close(program->output("cost").at(0), log_sum + 0.5 * 1 + 0.25 * 2000));
      for (int64_t i = 0; i < 3; ++i) {
        CHECK(close(program->output("softmax").at(i), softmax[i]));
        CHECK(close(program->output("dx").at(i), softmax[i] - t[i]));
        CHECK(close(program->output("dt").at(i), log_sum + offsets[i]));
      }
    }
}

TEST_CASE("plain batch norm, by the formula") {
  each_case("batch_norm", [](const OpCase& c, const CaseRun& run) {
    const Tensor &x = run.inputs[0], &gamma = run.inputs[1], &beta = run.inputs[2];
    const Shape& shape = x.shape();
    const auto& axes = c.attributes.integers("axes");
    const int64_t features = gamma.elements(), count = shape.elements() / features;
    for (int64_t f = 0; f < features; ++f) {
      double mean = 0, variance = 0;
      auto each = [&](const std::function<void(int64_t)>& visit) {
        each_index(shape, [&](const Index& at) {
          Index kept = at;
          for (int64_t axis : axes) kept[size_t(axis)] = 0;
          if (flat(gamma.shape(), kept) == f) visit(flat(shape, at));
        });
      };
      each([&](int64_t i) { mean += x.at(i) / double(count); });
      each([&](int64_t i) { variance += (x.at(i) - mean) * (x.at(i) - mean) / double(count); });
      REQUIRE(close(run.outputs[1].at(f), mean));
      REQUIRE(close(run.outputs[2].at(f), variance));
      REQUIRE(close(run.outputs[3].at(f), mean - run.outputs[1].at(f)));
      const double deviation = std::sqrt(variance + c.attributes.real("epsilon"));
      each([&](int64_t i) {
        REQUIRE(close(run.outputs[0].at(i), gamma.at(f) * (x.at(i) - mean) / deviation + beta.at(f)));
      });
    }
  });
}

TEST_CASE("plain group norm and its gradients, by the formulas") {
  // The numbers of group `group` of sample n: places in x, and the channel of each.
  const auto each_of = [](const Shape& shape, int64_t groups, int64_t n, int64_t group, const auto& visit) {
    const int64_t features = shape.back(), size = features / groups, places = shape.elements() / shape[0] / features;
    for (int64_t p = 0; p < places; ++p)
      for (int64_t c = group * size; c < (group + 1) * size; ++c) visit((n * places + p) * features + c, c);
  };
  each_case("group_norm", [&](const OpCase& c, const CaseRun& run) {
    const Tensor &x = run.inputs[0], &gamma = run.inputs[1], &beta = run.inputs[2];
    const int64_t groups = c.attributes.integer("groups");
    const double count = double(x.elements() / (x.shape()[0] * groups));
    for (int64_t n = 0; n < x.shape()[0]; ++n)
      for (int64_t group = 0; group < groups; ++group) {
        const auto each = [&](const auto& visit) { each_of(x.shape(), groups, n, group, visit); };
        double mean = 0, variance = 0;
        each([&](int64_t i, int64_t) { mean += x.at(i) / count; });
        each([&](int64_t i, int64_t) { variance += (x.at(i) - mean) * (x.at(i) - mean) / count; });
        const double scale = 1 / std::sqrt(variance + c.attributes.real("epsilon"));
        each([&](int64_t i, int64_t k) {
          const int64_t s = n * x.shape().back() + k;
          REQUIRE(close(run.outputs[0].at(i), gamma.at(k) * (x.at(i) - mean) * scale + beta.at(k)));
          REQUIRE(close(run.outputs[1].at(s) + run.outputs[2].at(s), mean));
          REQUIRE(close(run.outputs[3].at(s), scale));
        });
      }
  });
  each_case("group_norm_grad", [&](const OpCase& c, const CaseRun& run) {
    const Tensor &x = run.inputs[0], &gamma = run.inputs[1], &g = run.inputs[5];
    const int64_t groups = c.attributes.integer("groups"), features = x.shape().back();
    const double count = double(x.elements() / (x.shape()[0] * groups));
    std::vector<double> dgamma(size_t(features), 0), dbeta(size_t(features), 0);
    for (int64_t n = 0; n < x.shape()[0]; ++n)
      for (int64_t group = 0; group < groups; ++group) {
        const auto each = [&](const auto& visit) { each_of(x.shape(), groups, n, group, visit); };
        const auto of = [&](int input, int64_t k) { return run.inputs[size_t(input)].at(n * features + k); };
        const auto normal = [&](int64_t i, int64_t k) { return (x.at(i) - of(2, k) - of(3, k)) * of(4, k); };
        // Statistics of channels of one group differ in these cases: each has the scale of its own.
        double mean = 0, along = 0;
        each([&](int64_t i, int64_t k) { mean += gamma.at(k) * g.at(i) / count; });
        each([&](int64_t i, int64_t k) { along += gamma.at(k) * g.at(i) * normal(i, k) / count; });
        each([&](int64_t i, int64_t k) {
          REQUIRE(close(run.outputs[0].at(i), of(4, k) * (gamma.at(k) * g.at(i) - mean - normal(i, k) * along)));
          dgamma[size_t(k)] += g.at(i) * normal(i, k), dbeta[size_t(k)] += g.at(i);
        });
      }
    for (int64_t k = 0; k < features; ++k) {
      REQUIRE(close(run.outputs[1].at(k), dgamma[size_t(k)]));
      REQUIRE(close(run.outputs[2].at(k), dbeta[size_t(k)]));
    }
  });
}

TEST_CASE("plain lookups") {
  each_case("gather", [](const OpCase&, const CaseRun& run) {
    const Tensor &data = run.inputs[0], &at = run.inputs[1], &y = run.outputs[0];
    each_index(y.shape(), [&](const Index& here) {
      Index there = here;
      there[0] = int64_t(at.at(here[0]));
      REQUIRE(y.at(flat(y.shape(), here)) == data.at(flat(data.shape(), there)));
    });
  });
  each_case("scatter_add", [](const OpCase&, const CaseRun& run) {
    const Tensor &values = run.inputs[0], &at = run.inputs[1], &y = run.outputs[0];
    std::vector<double> expected(size_t(y.elements()), 0);
    each_index(values.shape(), [&](const Index& here) {
      Index there = here;
      there[0] = int64_t(at.at(here[0]));
      expected[size_t(flat(y.shape(), there))] += values.at(flat(values.shape(), here));
    });
    for (int64_t i = 0; i < y.elements(); ++i) REQUIRE(close(y.at(i), expected[size_t(i)]));
  });
}

TEST_CASE("plain moves") {
  each_case("transpose", [](const OpCase& c, const CaseRun& run) {
    const auto& permutation = c.attributes.integers("permutation");
    const Tensor &x = run.inputs[0], &y = run.outputs[0];
    each_index(y.shape(), [&](const Index& at) {
      Index from(at.size());
      for (size_t k = 0; k < at.size(); ++k) from[size_t(permutation[k])] = at[k];
      REQUIRE(y.at(flat(y.shape(), at)) == x.at(flat(x.shape(), from)));
    });
  });
  each_case("slice", [](const OpCase& c, const CaseRun& run) {
    const Tensor &x = run.inputs[0], &y = run.outputs[0];
    each_index(y.shape(), [&](const Index& at) {
      Index from = at;
      from[size_t(c.attributes.integer("axis"))] += c.attributes.integer("first");
      REQUIRE(y.at(flat(y.shape(), at)) == x.at(flat(x.shape(), from)));
    });
  });
  each_case("split", [](const OpCase& c, const CaseRun& run) {
    const size_t axis = size_t(c.attributes.integer("axis"));
    int64_t first = 0;
    for (size_t part = 0; part < run.outputs.size(); ++part) {
      const Tensor &x = run.inputs[0], &y = run.outputs[part];
      REQUIRE(y.shape() == x.shape().with(int(axis), c.attributes.integers("sizes")[part]));
      each_index(y.shape(), [&](const Index& at) {
        Index from = at;
        from[axis] += first;
        REQUIRE(y.at(flat(y.shape(), at)) == x.at(flat(x.shape(), from)));
      });
      first += y.shape()[int(axis)];
    }
    REQUIRE(first == run.inputs[0].shape()[int(axis)]);
  });
  each_case("concat", [](const OpCase& c, const CaseRun& run) {
    const size_t axis = size_t(c.attributes.integer("axis"));
    const Tensor& y = run.outputs[0];
    each_index(y.shape(), [&](const Index& at) {
      Index from = at;
      size_t part = 0;
      while (from[axis] >= run.inputs[part].shape()[int(axis)]) from[axis] -= run.inputs[part++].shape()[int(axis)];
      REQUIRE(y.at(flat(y.shape(), at)) == run.inputs[part].at(flat(run.inputs[part].shape(), from)));
    });
  });
  each_case("reshape", [](const OpCase&, const CaseRun& run) {
    for (int64_t i = 0; i < run.outputs[0].elements(); ++i) REQUIRE(run.outputs[0].at(i) == run.inputs[0].at(i));
  });
}

namespace {

// Number `place` of the case's stream at that step.
double number_at(const OpCase& c, uint64_t step, uint64_t place) {
  const auto seed = uint64_t(c.attributes.integer("seed")), id = hash_name(c.attributes.string("stream"));
  const uint64_t block = place / 4;
  const Philox4 bits = philox({uint32_t(block), uint32_t(block >> 32) ^ uint32_t(step >> 32),
                               uint32_t(id) ^ uint32_t(step), uint32_t(id >> 32)},
                              {uint32_t(seed), uint32_t(seed >> 32)});
  return double(uniform_from_bits(bits[place % 4]));
}

// The places of the case's elements, counted one by one: where a length is full, the next one begins a stride after it.
std::vector<uint64_t> places_of(const OpCase& c, int64_t elements) {
  const bool spaced = c.attributes.has("lengths");
  const std::vector<int64_t> lengths = spaced ? c.attributes.integers("lengths") : std::vector<int64_t>{},
                             strides = spaced ? c.attributes.integers("strides") : lengths;
  const uint64_t first = c.attributes.has("first") ? uint64_t(c.attributes.integer("first")) : 0;
  std::vector<uint64_t> begins(lengths.size(), first), out;
  for (uint64_t place = first; int64_t(out.size()) < elements; ++place) {
    const auto full = std::ranges::find_if(
        lengths, [&](int64_t length) { return !out.empty() && int64_t(out.size()) % length == 0; });
    if (full != lengths.end()) {
      const size_t axis = size_t(full - lengths.begin());
      place = begins[axis] + uint64_t(strides[axis]);
      std::fill(begins.begin() + int64_t(axis), begins.end(), place);
    }
    out.push_back(place);
  }
  return out;
}

}  // namespace

TEST_CASE("plain sources") {
  each_case("iota", [](const OpCase& c, const CaseRun& run) {
    const Tensor& y = run.outputs[0];
    const size_t axis = size_t(c.attributes.integer("axis"));
    each_index(y.shape(), [&](const Index& at) { REQUIRE(y.at(flat(y.shape(), at)) == double(at[axis])); });
  });
  each_case("uniform", [](const OpCase& c, const CaseRun& run) {
    const Tensor& y = run.outputs[0];
    const std::vector<uint64_t> places = places_of(c, y.elements());
    for (int64_t i = 0; i < y.elements(); ++i)
      REQUIRE(y.at(i) == number_at(c, 3, places[size_t(i)]));  // run_case's step
  });
  each_case("keyed_uniform", [](const OpCase& c, const CaseRun& run) {
    const Tensor &keys = run.inputs[0], &y = run.outputs[0];
    const int64_t columns = y.shape()[1];
    for (int64_t i = 0; i < y.elements(); ++i) {
      const auto row = i / columns;
      const auto element = uint64_t(keys.at(2 * row)) * uint64_t(columns) + uint64_t(i % columns);
      REQUIRE(y.at(i) == number_at(c, uint64_t(keys.at(2 * row + 1)), element));
    }
  });
}
