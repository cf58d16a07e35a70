#include "tests/backends/statistics_case.h"

#include <cmath>

#include "backends/graph/expression.h"
#include "neon/core/random.h"

namespace neon::test {

namespace {

// Who makes x: nobody, the kernel that reads it, or a pooling that ends with relu.
enum class MadeBy : uint8_t { none, reader, pooling };

Expr made_by(MadeBy maker, Expr x) {
  if (maker == MadeBy::none) return x;
  if (maker == MadeBy::reader) return x * 1.0;
  const std::vector<int64_t> one = {1, 1, 1}, none(6, 0);
  const Attributes window = {{"window", one}, {"strides", one}, {"padding", none}};
  return apply("relu", {x.graph(), x.graph().add_all("pool_max", {x}, window)[0]});
}

std::string difference_of_statistics(const DeviceOptions& device, MadeBy maker) {
  constexpr int64_t kRows = 2048;
  constexpr float kEqual = 3.7f;
  const char* const channels[] = {"far from 0", "equal", "the first far away", "one beside zeros", "small", "large"};
  Graph graph;
  const Expr x = made_by(maker, {graph, graph.input("x", DType::f32, {kRows, 1, 1, 6})});
  const Value gamma = graph.constant(1, DType::f32), beta = graph.constant(0.25, DType::f32);
  const Shape statistic = {1, 1, 1, 6};
  const auto results =
      graph.add_all("batch_norm", {x, broadcast_to(graph, gamma, statistic), broadcast_to(graph, beta, statistic)},
                    {{"axes", std::vector<int64_t>{0, 1, 2}}, {"epsilon", 0.0}});
  graph.output("y", results[0]), graph.output("mean", results[1]), graph.output("variance", results[2]);
  Tensor data(DType::f32, {kRows, 1, 1, 6});
  Stream stream(1, "statistics");
  for (int64_t row = 0; row < kRows; ++row) {
    const double u = 2 * stream.uniform() - 1;
    const double numbers[] = {4096 + u, kEqual, row == 0 ? 100 : u, row == 77 ? 1.0 : 0.0, 1e-18 * u, 1e17 * u};
    for (int64_t c = 0; c < 6; ++c)
      data.set(row * 6 + c, maker == MadeBy::pooling ? std::fabs(numbers[c]) : numbers[c]);
  }
  Variables variables;
  const auto program = compile_program(graph, variables, device);
  program->bind("x", data.data());
  program->run(0);
  const auto off = [](double got, double expected, double allowed) {
    return std::fabs(got - expected) <= allowed ? ""
                                                : text(got, " instead of ", expected, ", ", allowed, " is allowed");
  };
  for (int64_t c = 0; c < 6; ++c) {
    double mean = 0, variance = 0;
    for (int64_t row = 0; row < kRows; ++row) mean += data.at(row * 6 + c) / kRows;
    for (int64_t row = 0; row < kRows; ++row) variance += std::pow(data.at(row * 6 + c) - mean, 2) / kRows;
    // A distance from the mean goes into both, into the variance squared; numbers are added up in parts. It is that of
    // the first of an array in memory, and otherwise that of the middle one of three, which does not lie far away.
    const bool of_first = maker == MadeBy::none;
    const double away = of_first ? std::fabs(data.at(c) - mean) : std::sqrt(variance), unit = 32 * 0x1p-24;
    std::string found = off(program->output("variance").at(c), variance, unit * (variance + away * away));
    if (!found.empty()) return text("the variance, ", channels[c], ": ", found);
    found = off(program->output("mean").at(c), mean, unit * (std::fabs(mean) + std::sqrt(variance) + away));
    if (!found.empty()) return text("the mean, ", channels[c], ": ", found);
    for (int64_t row = 0; variance > 0 && row < kRows; ++row) {
      const double normal = (data.at(row * 6 + c) - mean) / std::sqrt(variance);
      found = off(program->output("y").at(row * 6 + c), normal + 0.25, 1e-3 * (1 + std::fabs(normal)));
      if (!found.empty()) return text("row ", row, ", ", channels[c], ": ", found);
    }
  }
  return "";
}

constexpr double kFar = 5000;
// Of the sums of sizes: numbers are added up in parts, and a sum goes into the next. A mean in f32 is off by up to
// 2e-4.
constexpr double kAllowed = 16 * 0x1p-24;

struct FarCase {
  std::string name;
  Shape shape;
  int first, last;    // of the reduced axes
  bool made = false;  // x is made by the kernel that reads it
};

// Batch norm of x with the cost (w + y / 2) y, whose gradient by y is w + y.
class FarFromZero {
 public:
  explicit FarFromZero(const FarCase& c) : case_(c), statistic_(c.shape) {
    for (int axis = c.first; axis <= c.last; ++axis) statistic_ = statistic_.with(axis, 1);
    for (int axis = c.last + 1; axis < c.shape.rank(); ++axis) inner_ *= c.shape[axis];
    for (int axis = c.first; axis <= c.last; ++axis) count_ *= c.shape[axis];
    Stream stream(1, c.name);
    for (Tensor* t : {&x_, &w_}) *t = Tensor(DType::f32, c.shape);
    for (Tensor* t : {&gamma_, &beta_}) *t = Tensor(DType::f32, statistic_);
    for (int64_t k = 0; k < statistic_.elements(); ++k) {
      gamma_.set(k, 0.5 + stream.uniform()), beta_.set(k, stream.uniform() - 0.5);
      const double mean = kFar + stream.normal();
      for (int64_t r = 0; r < count_; ++r)
        x_.set(place(k, r), mean + stream.normal()), w_.set(place(k, r), 2 * stream.uniform());
    }
  }

  std::string difference(const DeviceOptions& device) {
    Variables variables;
    Graph graph;
    const auto program = compile(graph, variables, device);
    program->run(0);
    const char* const names[] = {"y", "dx", "dgamma", "dbeta"};
    std::vector<Tensor> got;
    for (const char* name : names) got.push_back(program->output(name).clone());
    for (int64_t k = 0; k < statistic_.elements(); ++k)
      if (const std::string found = channel(k, got); !found.empty())
        return text(case_.name, ", channel ", k, ": ", found);
    return "";
  }

 private:
  std::unique_ptr<Program> compile(Graph& graph, Variables& variables, const DeviceOptions& device) {
    const auto input = [&](const char* name, const Tensor& t) {
      return Expr(graph, graph.input(name, t.dtype(), t.shape()));
    };
    Expr in = input("x", x_), w = input("w", w_), gamma = input("gamma", gamma_), beta = input("beta", beta_);
    Expr x = case_.made ? in * 1.0 : in;
    std::vector<int64_t> axes;
    for (int axis = case_.first; axis <= case_.last; ++axis) axes.push_back(axis);
    Expr y(graph, graph.add_all("batch_norm", {x, gamma, beta}, {{"axes", axes}, {"epsilon", 1e-5}})[0]);
    const Value wanted[] = {in, gamma, beta};
    const auto slopes = gradients(graph, sum((w + y * 0.5) * y, all_axes(y.shape())), wanted);
    graph.output("y", y), graph.output("dx", slopes[0]), graph.output("dgamma", slopes[1]),
        graph.output("dbeta", slopes[2]);
    auto program = compile_program(graph, variables, device);
    program->bind("x", x_.data()), program->bind("w", w_.data());
    program->bind("gamma", gamma_.data()), program->bind("beta", beta_.data());
    return program;
  }

  // Of row r of statistic k.
  int64_t place(int64_t k, int64_t r) const { return (k / inner_ * count_ + r) * inner_ + k % inner_; }

  // What is off of statistic k.
  std::string channel(int64_t k, const std::vector<Tensor>& got) const {
    const double n = double(count_), gamma = gamma_.at(k);
    double mean = 0, variance = 0;
    for (int64_t r = 0; r < count_; ++r) mean += x_.at(place(k, r)) / n;
    for (int64_t r = 0; r < count_; ++r) variance += std::pow(x_.at(place(k, r)) - mean, 2) / n;
    const double scale = 1 / std::sqrt(variance + 1e-5);
    std::vector<double> normal, g;
    double dgamma = 0, dbeta = 0, size_of_dgamma = 0, size_of_dbeta = 0;
    for (int64_t r = 0; r < count_; ++r) {
      normal.push_back((x_.at(place(k, r)) - mean) * scale);
      g.push_back(w_.at(place(k, r)) + gamma * normal.back() + beta_.at(k));
      dbeta += g.back(), size_of_dbeta += std::fabs(g.back()) + 1;
      dgamma += g.back() * normal.back(), size_of_dgamma += (std::fabs(g.back()) + 1) * std::fabs(normal.back());
    }
    std::string out = off("gamma's gradient", got[2].at(k), dgamma, size_of_dgamma) +
                      off("beta's gradient", got[3].at(k), dbeta, size_of_dbeta);
    for (int64_t r = 0; r < count_ && out.empty(); ++r) {
      const size_t i = size_t(r);
      const double size = 1 + std::fabs(normal[i]), slope = g[i] - (dbeta + normal[i] * dgamma) / n,
                   size_of_slope = std::fabs(g[i]) + 1 + (size_of_dbeta + std::fabs(normal[i]) * size_of_dgamma) / n;
      out = off(text("row ", r), got[0].at(place(k, r)), gamma * normal[i] + beta_.at(k), size) +
            off(text("x's gradient, row ", r), got[1].at(place(k, r)), gamma * scale * slope,
                gamma * scale * size_of_slope);
    }
    return out;
  }

  static std::string off(const std::string& what, double got, double expected, double size) {
    if (std::fabs(got - expected) <= kAllowed * size) return "";
    return text(what, ": ", got, " instead of ", expected, ", ", kAllowed * size, " is allowed; ");
  }

  FarCase case_;
  Shape statistic_;
  int64_t inner_ = 1, count_ = 1;
  Tensor x_, w_, gamma_, beta_;
};

}  // namespace

std::string difference_of_statistics(const DeviceOptions& device) {
  const char* const names[] = {"in memory", "made by the reader", "made by pooling"};
  for (const MadeBy maker : {MadeBy::none, MadeBy::reader, MadeBy::pooling})
    if (const std::string found = difference_of_statistics(device, maker); !found.empty())
      return text(names[size_t(maker)], ": ", found);
  return "";
}

std::string difference_of_gradients(const DeviceOptions& device) {
  const FarCase cases[] = {{"many rows", {16, 12, 12, 24}, 0, 2},
                           {"many rows that are made", {16, 12, 12, 24}, 0, 2, true},
                           {"few rows", {96, 40}, 0, 0},
                           {"the middle", {3, 700, 5}, 1, 1},
                           {"all beside channels first", {20, 600}, 1, 1}};
  for (const FarCase& c : cases)
    if (const std::string found = FarFromZero(c).difference(device); !found.empty()) return found;
  return "";
}

}  // namespace neon::test
