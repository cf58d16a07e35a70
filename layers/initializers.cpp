#include <algorithm>
#include <cmath>
#include <span>

#include "layers/initializer.h"
#include "neon/core/counted.h"
#include "neon/core/threads.h"

namespace neon {

namespace {

template <typename F>
void fill_each(Tensor& tensor, F&& next) {
  for (int64_t i = 0; i < tensor.elements(); ++i) tensor.set(i, next());
}

constexpr int64_t kPiece = 1 << 12;  // elements that a thread draws at once

template <typename T, typename F>
void draw_into(std::span<T> to, const Stream& fresh, F&& draw) {
  const int64_t count = int64_t(to.size());
#pragma omp parallel for num_threads(available_threads()) schedule(static) if (count > kPiece)
  for (int64_t first = 0; first < count; first += kPiece) {
    Stream stream = fresh.after(first);
    for (int64_t i = first; i < std::min(count, first + kPiece); ++i) to[size_t(i)] = T(draw(stream));
  }
}

// Elements that take one number of a fresh stream each, by uniform() or normal(): the same for any number of threads.
template <typename F>
void draw_each(Tensor& tensor, Stream& stream, F&& draw) {
  if (tensor.dtype() == DType::f32) draw_into(tensor.as<float>(), stream, draw);
  else if (tensor.dtype() == DType::f64) draw_into(tensor.as<double>(), stream, draw);
  else fill_each(tensor, [&] { return draw(stream); });
}

struct ConstantParams {
  double val = 0;
  static void describe(auto&& p) { p("val", &ConstantParams::val, "Value of every element."); }
};
struct Constant : Parametrized<Initializer, ConstantParams> {
  using Parametrized::Parametrized;
  void fill(Tensor& t, const Fan&, Stream&) const override {
    fill_each(t, [&] { return params.val; });
  }
};
NEON_REGISTER(Initializer, Constant, "The same value everywhere, as in {Constant: 0}.");

struct ArrayParams {
  std::vector<double> val;
  static void describe(auto&& p) {
    p("val", &ArrayParams::val, "All elements, the last axis varying fastest, as in {Array: [1, 2, 3]}.", Required{});
  }
};
struct Array : Parametrized<Initializer, ArrayParams> {
  using Parametrized::Parametrized;
  void check(const Shape& shape) const override {
    if (int64_t(params.val.size()) != shape.elements())
      neon::fail(ErrorKind::config, "initializer Array lists ", counted(int64_t(params.val.size()), "value"),
                 " for a parameter ", shape, " of ", shape.elements());
  }
  void fill(Tensor& t, const Fan&, Stream&) const override {
    check(t.shape());
    for (int64_t i = 0; i < t.elements(); ++i) t.set(i, params.val[size_t(i)]);
  }
};
NEON_REGISTER(Initializer, Array, "The values listed, as in {Array: [1, 2, 3]}.");

struct UniformParams {
  double low = 0, high = 1;
  static void describe(auto&& p) {
    p("high", &UniformParams::high, "Upper bound of the values.");
    p("low", &UniformParams::low, "Lower bound of the values.");
  }
};
struct Uniform : Parametrized<Initializer, UniformParams> {
  explicit Uniform(UniformParams given) : Parametrized(given) {
    if (params.low > params.high) neon::fail(ErrorKind::config, "low ", params.low, " is above high ", params.high);
  }
  void fill(Tensor& t, const Fan&, Stream& s) const override {
    draw_each(t, s, [&](Stream& from) { return params.low + (params.high - params.low) * from.uniform(); });
  }
};
NEON_REGISTER(Initializer, Uniform,
              "Uniform distribution between low and high, as in {Uniform: {low: -0.1, high: 0.1}}.");

struct GaussianParams {
  double loc = 0, scale = 1;
  static void describe(auto&& p) {
    p("scale", &GaussianParams::scale, "Standard deviation of the distribution.", at_least(0));
    p("loc", &GaussianParams::loc, "Mean of the distribution.");
  }
};
struct Gaussian : Parametrized<Initializer, GaussianParams> {
  using Parametrized::Parametrized;
  void fill(Tensor& t, const Fan&, Stream& s) const override {
    draw_each(t, s, [&](Stream& from) { return params.loc + params.scale * from.normal(); });
  }
};
NEON_REGISTER(Initializer, Gaussian, "Normal distribution, as in {Gaussian: {scale: 0.01}}.", {"Normal"});

struct GlorotParams {
  bool matrix = false;
  static void describe(auto&& p) {
    p("matrix", &GlorotParams::matrix,
      "Takes the sides of neon 1.x's matrix as fans: R S C and K of filters, where fan_out is R S K otherwise. Its "
      "specs set this.");
  }
};
struct GlorotUniform : Parametrized<Initializer, GlorotParams> {
  using Parametrized::Parametrized;
  void fill(Tensor& t, const Fan& fan, Stream& s) const override {
    const int64_t both = params.matrix ? fan.rows + fan.columns : fan.in + fan.out;
    const double limit = std::sqrt(6.0 / double(both));
    draw_each(t, s, [&](Stream& from) { return limit * (2 * from.uniform() - 1); });
  }
};
NEON_REGISTER(Initializer, GlorotUniform,
              "Evenly within sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio 2010). For filters (K,R,S,C), fan_in is R "
              "S C and fan_out R S K; for a Deconv's (C,R,S,K) fan_in is R S K and fan_out R S C, as in Keras and "
              "PyTorch; for a linear layer's (nout,nin) nin and nout. C and K are those of one group.");

struct FanParams {
  std::optional<bool> local;
  static void describe(auto&& p) {
    p("local", &FanParams::local,
      "Side of neon 1.x's matrix that is fan_in: true, the first (R S C of filters, nout of a linear layer); false, "
      "the second (K, nin). Its specs set true by default; without this, fan_in is the layer's.");
  }
  double fan_in(const Fan& fan) const { return double(!local ? fan.in : *local ? fan.rows : fan.columns); }
};
struct Xavier : Parametrized<Initializer, FanParams> {
  using Parametrized::Parametrized;
  void fill(Tensor& t, const Fan& fan, Stream& s) const override {
    const double limit = std::sqrt(3.0 / params.fan_in(fan));
    draw_each(t, s, [&](Stream& from) { return limit * (2 * from.uniform() - 1); });
  }
};
NEON_REGISTER(
    Initializer, Xavier,
    "Evenly within sqrt(3 / fan_in); fan_in is R S C of filters (K,R,S,C), R S K of a Deconv's, nin of a linear "
    "layer.");

struct Kaiming : Parametrized<Initializer, FanParams> {
  using Parametrized::Parametrized;
  void fill(Tensor& t, const Fan& fan, Stream& s) const override {
    const double scale = std::sqrt(2.0 / params.fan_in(fan));
    draw_each(t, s, [&](Stream& from) { return scale * from.normal(); });
  }
};
NEON_REGISTER(
    Initializer, Kaiming,
    "Normal with deviation sqrt(2 / fan_in) (He et al. 2015); fan_in is R S C of filters (K,R,S,C), R S K of a "
    "Deconv's, nin of a linear layer.");

// neon 0.9's two scales of even distributions.
struct AutoUniformParams {
  bool relu = false;
  static void describe(auto&& p) {
    p("relu", &AutoUniformParams::relu, "Widens the bounds by sqrt(2), for layers that are rectified.");
  }
};
struct AutoUniform : Parametrized<Initializer, AutoUniformParams> {
  using Parametrized::Parametrized;
  void fill(Tensor& t, const Fan& fan, Stream& s) const override {
    const double limit = std::sqrt((params.relu ? 2.0 : 1.0) / double(fan.in));
    draw_each(t, s, [&](Stream& from) { return limit * (2 * from.uniform() - 1); });
  }
};
NEON_REGISTER(Initializer, AutoUniform,
              "Evenly within 1 / sqrt(fan_in); fan_in is R S C of filters (K,R,S,C), nin of a linear layer.");

struct NodeNormalizedParams {
  double scale = 1;
  static void describe(auto&& p) { p("scale", &NodeNormalizedParams::scale, "Factor of the bounds.", at_least(0)); }
};
struct NodeNormalized : Parametrized<Initializer, NodeNormalizedParams> {
  using Parametrized::Parametrized;
  void fill(Tensor& t, const Fan& fan, Stream& s) const override {
    const double limit = params.scale * std::sqrt(6.0 / double(fan.rows + fan.columns));
    draw_each(t, s, [&](Stream& from) { return limit * (2 * from.uniform() - 1); });
  }
};
NEON_REGISTER(
    Initializer, NodeNormalized,
    "Evenly within scale sqrt(6 / (rows + columns)) of the weight matrix: nout and nin of a linear layer, R S "
    "C and K of filters. GlorotUniform takes the true fans of filters.");

struct IdentityParams {
  bool local = true, frozen = true, matrix = false;
  double scale = 1;
  static void describe(auto&& p) {
    p("local", &IdentityParams::local, "Accepted for neon 1.x's specs; changes nothing.");
    p("scale", &IdentityParams::scale, "The numbers of the diagonal.");
    p("frozen", &IdentityParams::frozen, "The layer's weights are not trained.");
    p("matrix", &IdentityParams::matrix,
      "Filters (K,R,S,C) are the identity of neon 0.9's matrix (C R S, K), in place of one at the middle place.");
  }
};

struct IdentityInit : Parametrized<Initializer, IdentityParams> {
  using Parametrized::Parametrized;
  bool of_matrix() const override { return true; }
  bool freezes() const override { return params.frozen; }
  void fill(Tensor& t, const Fan&, Stream&) const override {
    const Shape& shape = t.shape();
    if (params.matrix && shape.rank() > 2) return fill_matrix(t);
    // Filters (K,R,S,C) have the identity at the middle place.
    const bool filters = shape.rank() > 2;
    const int64_t columns = shape.rank() ? (filters ? shape.back() : t.elements() / std::max<int64_t>(shape[0], 1)) : 1;
    const Shape places = filters ? shape.slice(1, shape.rank() - 1) : Shape{};
    int64_t middle = 0;
    for (int64_t size : places) middle = middle * size + size / 2;
    for (int64_t i = 0; i < t.elements(); ++i) {
      const int64_t place = i / columns % places.elements(), row = i / columns / places.elements();
      t.set(i, place == middle && row == i % columns ? params.scale : 0);
    }
  }

 private:
  void fill_matrix(Tensor& t) const {  // (K,places,C)
    const int64_t maps = t.shape()[0], channels = t.shape().back(), places = t.elements() / maps / channels;
    for (int64_t i = 0; i < t.elements(); ++i) {
      const int64_t row = i % channels * places + i / channels % places, column = i / channels / places;
      t.set(i, row == column ? params.scale : 0);
    }
  }
};
NEON_REGISTER(Initializer, IdentityInit,
              "Identity matrix. The layer's weights are not trained, but with frozen: false.");

struct OrthonormalParams {
  double scale = 1.1;
  static void describe(auto&& p) { p("scale", &OrthonormalParams::scale, "Length of every row or column.", above(0)); }
};
// Rows of a normal matrix made orthogonal one after another (modified Gram and Schmidt), twice for full precision;
// the distribution is that of neon's singular vectors (Saxe et al. 2014).
struct Orthonormal : Parametrized<Initializer, OrthonormalParams> {
  using Parametrized::Parametrized;
  bool of_matrix() const override { return true; }
  void fill(Tensor& t, const Fan&, Stream& s) const override {
    const int64_t rows = t.shape().rank() ? t.shape()[0] : 1, columns = t.elements() / std::max<int64_t>(rows, 1);
    const int64_t count = std::min(rows, columns), length = std::max(rows, columns);
    std::vector<std::vector<double>> basis;
    while (int64_t(basis.size()) < count) {
      std::vector<double> v(static_cast<size_t>(length));
      for (double& x : v) x = s.normal();
      for (int pass = 0; pass < 2; ++pass)
        for (const auto& b : basis) {
          double dot = 0;
          for (size_t i = 0; i < v.size(); ++i) dot += v[i] * b[i];
          for (size_t i = 0; i < v.size(); ++i) v[i] -= dot * b[i];
        }
      double norm = 0;
      for (double x : v) norm += x * x;
      norm = std::sqrt(norm);
      if (norm < 1e-6) continue;
      for (double& x : v) x /= norm;
      basis.push_back(std::move(v));
    }
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c)
        t.set(r * columns + c,
              params.scale * (rows <= columns ? basis[size_t(r)][size_t(c)] : basis[size_t(c)][size_t(r)]));
  }
};
NEON_REGISTER(Initializer, Orthonormal,
              "Rows or columns, whichever are fewer, orthogonal to each other and of length scale.");

}  // namespace

}  // namespace neon
