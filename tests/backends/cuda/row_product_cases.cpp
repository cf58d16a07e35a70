#include "tests/backends/cuda/row_product_cases.h"

#include <algorithm>
#include <cmath>

#include "backends/graph/expression.h"
#include "backends/graph/op.h"
#include "backends/graph/windows.h"
#include "neon/core/random.h"

namespace neon::test {

namespace {

constexpr double kEpsilon = 1e-3;
const Windows kPixel{{1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}};

std::vector<double> numbers(const Graph& graph, const std::string& name) {
  for (Value leaf : graph.leaves(LeafKind::variable))
    if (graph.producer(leaf).attributes.string("name") == name) {
      const Tensor data = numbers_of(graph, leaf);
      std::vector<double> out;
      for (int64_t i = 0; i < data.elements(); ++i) out.push_back(data.at(i));
      return out;
    }
  return {};
}

}  // namespace

std::vector<RowProductCase> row_product_cases() {
  return {{9, 112, 112, 24, 144, 16, false},  // eighteen packs of columns, and threads without a row
          {9, 64, 65, 64, 256, 40, false},    // half a tile at the end
          {9, 64, 65, 64, 256, 64, true},     // the sum with other images, whose gradient is stored early
          {9, 56, 56, 72, 368, 120, false}};  // columns of several blocks, the last of them with fewer
}

Graph build(const RowProductCase& c, DType dtype) {
  Graph graph;
  const Shape statistic{1, 1, 1, c.channels}, image{c.images, c.height, c.width, c.channels};
  const auto variable = [&](const char* name, DType type, const Shape& shape) {
    return Expr(graph, graph.variable(name, type, shape));
  };
  const Expr x = variable("x", dtype, {c.images, c.height, c.width, c.inner}),
             w = variable("w", dtype, {c.channels, 1, 1, c.inner}),
             v = variable("v", dtype, {c.outputs, 1, 1, c.channels}), gamma = variable("gamma", DType::f32, statistic),
             beta = variable("beta", DType::f32, statistic), other = variable("other", dtype, image);
  const Expr y(graph, convolution(graph, x, w, kPixel, 1));
  const Value norm = graph.add_all("batch_norm", {cast(y, DType::f32), gamma, beta},
                                   {{"axes", std::vector<int64_t>{0, 1, 2}}, {"epsilon", kEpsilon}})[0];
  Expr sum = cast(Expr(graph, norm), dtype);
  if (c.joined) sum = sum + other;
  const Expr z = apply("relu", sum);
  const Expr last(graph, convolution(graph, z, v, kPixel, 1));
  const std::vector<Value> wanted = {x, gamma, beta, other};
  const std::vector<Value> found = gradients(graph, last, wanted, last);
  graph.output("z", z);
  for (size_t i = 0; i < wanted.size(); ++i)
    if (found[i]) graph.output("gradient of " + graph.producer(wanted[i]).attributes.string("name"), found[i]);
  return graph;
}

Tensor numbers_of(const Graph& graph, Value leaf) {
  const std::string& name = graph.producer(leaf).attributes.string("name");
  Tensor out(graph.dtype(leaf), graph.shape(leaf));
  Stream stream(11, name);
  const double scale = name == "w" || name == "v" ? 1.0 / 8 : 1, middle = name == "x" ? 0.5 : name == "gamma" ? 1 : 0;
  // They have few bits, so that they are exact in every type.
  for (int64_t i = 0; i < out.elements(); ++i)
    out.set(i, scale * (middle + std::floor(stream.uniform() * 16 - 8) / 16));
  return out;
}

std::map<std::string, std::vector<double>> expected(const RowProductCase& c, const Graph& graph) {
  const int64_t rows = c.images * c.height * c.width, all = rows * c.channels;
  const auto x = numbers(graph, "x"), w = numbers(graph, "w"), v = numbers(graph, "v"), gamma = numbers(graph, "gamma"),
             beta = numbers(graph, "beta"), other = numbers(graph, "other");
  std::vector<double> z(static_cast<size_t>(all)), last(static_cast<size_t>(rows * c.outputs)),
      dx(static_cast<size_t>(rows * c.inner)), dgamma(size_t(c.channels)), dbeta(size_t(c.channels)),
      dother(static_cast<size_t>(all));
  std::vector<std::vector<double>> normal(size_t(c.channels), std::vector<double>(static_cast<size_t>(rows)));
  std::vector<double> inverse(size_t(c.channels));
  for (int64_t k = 0; k < c.channels; ++k) {
    std::vector<double>& y = normal[size_t(k)];
    double mean = 0, variance = 0;
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t i = 0; i < c.inner; ++i) y[size_t(r)] += x[size_t(r * c.inner + i)] * w[size_t(k * c.inner + i)];
      mean += y[size_t(r)] / double(rows);
    }
    for (double one : y) variance += (one - mean) * (one - mean) / double(rows);
    inverse[size_t(k)] = 1 / std::sqrt(variance + kEpsilon);
    for (int64_t r = 0; r < rows; ++r) {
      const size_t at = size_t(r * c.channels + k);
      y[size_t(r)] = (y[size_t(r)] - mean) * inverse[size_t(k)];
      z[at] = std::max(gamma[size_t(k)] * y[size_t(r)] + beta[size_t(k)] + (c.joined ? other[at] : 0), 0.0);
      for (int64_t o = 0; o < c.outputs; ++o) last[size_t(r * c.outputs + o)] += z[at] * v[size_t(o * c.channels + k)];
    }
  }
  for (int64_t k = 0; k < c.channels; ++k) {
    double &sum = dbeta[size_t(k)], &product = dgamma[size_t(k)];
    for (int64_t r = 0; r < rows; ++r) {
      double& g = dother[size_t(r * c.channels + k)];
      for (int64_t o = 0; o < c.outputs && z[size_t(r * c.channels + k)] > 0; ++o)
        g += last[size_t(r * c.outputs + o)] * v[size_t(o * c.channels + k)];
      sum += g, product += g * normal[size_t(k)][size_t(r)];
    }
    for (int64_t r = 0; r < rows; ++r) {
      const double g = dother[size_t(r * c.channels + k)],
                   dy = gamma[size_t(k)] * inverse[size_t(k)] *
                        (g - (sum + normal[size_t(k)][size_t(r)] * product) / double(rows));
      for (int64_t i = 0; i < c.inner; ++i) dx[size_t(r * c.inner + i)] += dy * w[size_t(k * c.inner + i)];
    }
  }
  return {{"z", z},
          {"gradient of x", dx},
          {"gradient of gamma", dgamma},
          {"gradient of beta", dbeta},
          {"gradient of other", dother}};
}

}  // namespace neon::test
