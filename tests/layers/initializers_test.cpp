// Initialisers against the numbers of a generator written apart from neon's, and against the moments and bounds of
// their distributions.
#include <catch2/catch.hpp>
#include <cmath>

#include "layers/layer.h"
#include "tests/support/golden.h"

using namespace neon;
using namespace neon_test;

namespace {

// Mean, deviation and bounds by the formula; a normal's bounds are infinite.
struct Law {
  const char* yaml;
  double mean, deviation, low, high;
};

constexpr int64_t kIn = 300, kOut = 100, kCount = kIn * kOut;

// A uniform distribution in [-a, a] has deviation a / sqrt(3); Glorot's a is sqrt(6 / (in + out)), Xavier's sqrt(3 /
// in).
const double kGlorot = std::sqrt(6.0 / 400), kXavier = std::sqrt(3.0 / 300), kKaiming = std::sqrt(2.0 / 300),
             kMatrix = std::sqrt(6.0 / 150);
const Law kLaws[] = {
    {"Uniform", 0.5, std::sqrt(1 / 12.0), 0, 1},
    {"Uniform: {low: -3, high: 1}", -1, 4 * std::sqrt(1 / 12.0), -3, 1},
    {"Gaussian", 0, 1, -HUGE_VAL, HUGE_VAL},
    {"Gaussian: {loc: 2, scale: 0.01}", 2, 0.01, -HUGE_VAL, HUGE_VAL},
    {"GlorotUniform", 0, kGlorot / std::sqrt(3), -kGlorot, kGlorot},
    {"GlorotUniform: {matrix: true}", 0, kMatrix / std::sqrt(3), -kMatrix, kMatrix},
    {"Xavier", 0, kXavier / std::sqrt(3), -kXavier, kXavier},
    {"Kaiming", 0, kKaiming, -HUGE_VAL, HUGE_VAL},
    {"AutoUniform", 0, std::sqrt(1.0 / 900), -std::sqrt(1.0 / 300), std::sqrt(1.0 / 300)},
    {"AutoUniform: {relu: true}", 0, std::sqrt(2.0 / 900), -std::sqrt(2.0 / 300), std::sqrt(2.0 / 300)},
    {"NodeNormalized: 2", 0, 2 * kMatrix / std::sqrt(3), -2 * kMatrix, 2 * kMatrix},
    {"Kaiming: {local: true}", 0, std::sqrt(2.0 / 100), -HUGE_VAL, HUGE_VAL},
    {"Kaiming: {local: false}", 0, std::sqrt(2.0 / 50), -HUGE_VAL, HUGE_VAL}};

Tensor filled(const std::string& yaml, const Shape& shape = {kOut, kIn}, uint64_t seed = 1, const char* name = "W",
              DType dtype = DType::f64) {
  Tensor out(dtype, shape);
  Stream stream(seed, name);
  Registry<Initializer>::get().create(yaml_of(yaml))->fill(out, {kIn, kOut, kIn / 3, kOut / 2}, stream);
  return out;
}

std::vector<double> values(const Tensor& tensor) {
  std::vector<double> out;
  for (int64_t i = 0; i < tensor.elements(); ++i) out.push_back(tensor.at(i));
  return out;
}

// Inner product of two rows (or columns) of a matrix.
double inner(const Tensor& m, int64_t a, int64_t b, bool rows) {
  double out = 0;
  const int64_t width = m.shape()[1];
  for (int64_t i = 0; i < (rows ? width : m.shape()[0]); ++i)
    out += rows ? m.at(a * width + i) * m.at(b * width + i) : m.at(i * width + a) * m.at(i * width + b);
  return out;
}

}  // namespace

TEST_CASE("a large array is drawn by threads, with the numbers of its stream in order") {
  for (DType dtype : {DType::f32, DType::f64}) {
    const Tensor normal = filled("Gaussian: {loc: 1, scale: 2}", {100001}, 5, "W", dtype);
    const Tensor even = filled("Uniform: {low: -1, high: 3}", {100001}, 5, "W", dtype);
    Stream normals(5, "W"), uniforms(5, "W");
    int64_t wrong = 0;
    for (int64_t i = 0; i < normal.elements(); ++i) {
      const double first = 1 + 2 * normals.normal(), second = -1 + 4 * uniforms.uniform();
      wrong += normal.at(i) != (dtype == DType::f32 ? double(float(first)) : first);
      wrong += even.at(i) != (dtype == DType::f32 ? double(float(second)) : second);
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("initial values are those of the golden file, whatever the type") {
  const Setting cases = golden("layers/golden/initializers.json");
  CHECK(uncovered("initializer", cases, "initializer") == std::vector<std::string>{});
  for (const Setting& one : cases.items)
    for (const DType dtype : {DType::f64, DType::f32}) {
      INFO(one.to_string() << " in " << std::string(name_of(dtype)));
      const std::vector<double> fan = numbers(at(one, "fan"));
      Tensor made(dtype, shape_of(at(one, "values")));
      Stream stream(std::stoull(at(one, "seed").value), at(one, "name").value);
      Registry<Initializer>::get()
          .create(object_of(at(one, "initializer")))
          ->fill(made, {int64_t(fan[0]), int64_t(fan[1]), int64_t(fan[2]), int64_t(fan[3])}, stream);
      // Of Orthonormal, Gram and Schmidt's way loses as many bits as the drawn rows lie close to one another; of
      // SparseEigen, the norm of a power lies above that of its largest eigenvalue by a factor that its root shrinks.
      const std::string kind = name_of(at(one, "initializer"));
      check_close(made, at(one, "values"),
                  kind == "Orthonormal"   ? 64
                  : kind != "SparseEigen" ? 4
                  : dtype == DType::f64   ? 4e9
                                          : 16);
    }
}

TEST_CASE("random values have the mean, deviation and bounds of the formula") {
  for (const Law& law : kLaws) {
    INFO(law.yaml);
    const std::vector<double> x = values(filled(law.yaml));
    double sum = 0, squares = 0, fourth = 0;
    for (double v : x) sum += v;
    const double mean = sum / double(kCount);
    for (double v : x) squares += (v - mean) * (v - mean), fourth += std::pow(v - mean, 4);
    const double variance = squares / double(kCount);
    const double expected = law.deviation * law.deviation;
    // Standard errors of a mean and of a variance.
    CHECK(std::fabs(mean - law.mean) < 5 * law.deviation / std::sqrt(double(kCount)));
    CHECK(std::fabs(variance - expected) <
          5 * std::sqrt((fourth / double(kCount) - variance * variance) / double(kCount)));
    const auto [least, most] = std::ranges::minmax(x);
    CHECK(least >= law.low);
    CHECK(most <= law.high);
    // Kurtosis tells an even distribution (1.8) from a normal one (3).
    const bool normal = law.high == HUGE_VAL;
    CHECK(std::fabs(fourth / double(kCount) / (variance * variance) - (normal ? 3 : 1.8)) < 0.2);
  }
}

TEST_CASE("a Gaussian's values are the stream's normal numbers, stretched and moved") {
  const auto moved = values(filled("Gaussian: {loc: 2, scale: 0.25}", {6, 4}));
  Stream stream(1, "W");
  for (double value : moved) CHECK(value == 2 + 0.25 * stream.normal());
}

TEST_CASE("values follow from seed and name, and from nothing else") {
  for (const char* yaml : {"Uniform", "Gaussian", "GlorotUniform", "Xavier", "Kaiming", "SparseEigen", "Orthonormal"}) {
    INFO(yaml);
    const auto first = values(filled(yaml, {6, 4}));
    CHECK(values(filled(yaml, {6, 4})) == first);
    CHECK(values(filled(yaml, {6, 4}, 2)) != first);
    CHECK(values(filled(yaml, {6, 4}, 1, "V")) != first);
    // In f32 the same numbers, rounded.
    const auto rounded = values(filled(yaml, {6, 4}, 1, "W", DType::f32));
    for (size_t i = 0; i < first.size(); ++i) CHECK(rounded[i] == float(first[i]));
  }
}

TEST_CASE("Orthonormal makes the fewer of rows and columns orthogonal, of length scale") {
  for (const auto& [shape, scale] : {std::pair{Shape{5, 12}, 1.1}, {Shape{12, 5}, 1.1}, {Shape{7, 7}, 0.5}}) {
    INFO(shape.to_string());
    const Tensor m = filled(scale == 1.1 ? "Orthonormal" : "Orthonormal: 0.5", shape);
    const bool rows = shape[0] <= shape[1];
    for (int64_t a = 0; a < std::min(shape[0], shape[1]); ++a)
      for (int64_t b = 0; b <= a; ++b) CHECK(std::fabs(inner(m, a, b, rows) - (a == b ? scale * scale : 0)) < 1e-14);
    // They lie in no smaller space: no element is left at 0.
    for (double value : values(m)) CHECK(std::fabs(value) > 1e-9);
  }
}

TEST_CASE("Constant, Array and IdentityInit") {
  CHECK(values(filled("Constant", {2, 2})) == std::vector<double>{0, 0, 0, 0});
  CHECK(values(filled("Constant: 2.5", {2})) == std::vector<double>{2.5, 2.5});
  CHECK(values(filled("Array: [1, 2, 3, 4]", {2, 2})) == std::vector<double>{1, 2, 3, 4});
  CHECK_THROWS_WITH(filled("Array: [1, 2, 3]", {2, 2}), "initializer Array lists 3 values for a parameter (2, 2) of 4");
  CHECK(values(filled("IdentityInit", {2, 3})) == std::vector<double>{1, 0, 0, 0, 1, 0});
  CHECK(values(filled("IdentityInit", {3, 2})) == std::vector<double>{1, 0, 0, 1, 0, 0});
  CHECK(values(filled("IdentityInit: {scale: 0.5}", {2, 2})) == std::vector<double>{0.5, 0, 0, 0.5});
}

TEST_CASE("initialisers read back as written") {
  for (const char* yaml : {"Constant: 0.1", "Array: [1, 2.5]", "Uniform: {low: -1, high: 2}", "Gaussian: {scale: 0.5}",
                           "AutoUniform: true", "NodeNormalized: 4", "SparseEigen: {sparseness: 3}", "GlorotUniform",
                           "Xavier: {local: false}", "Kaiming", "IdentityInit",
                           "IdentityInit: {scale: 2, frozen: false}", "Orthonormal: 1"}) {
    const auto [first, second] = round_trip<Initializer>(yaml_of(yaml));
    CHECK(first == second);
  }
}

TEST_CASE("weights without an initializer begin as the activation behind them wants it") {
  const auto init_of = [](const std::string& yaml) {
    Problems problems;
    Setting resolved;
    const auto layer = Registry<Layer>::get().create(yaml_of(yaml), problems, &resolved);
    problems.throw_if_any();
    return resolved.entries.front().value.find("init")->entries.front().key;
  };
  for (const char* rectifier : {"Rectlin", "Rectlin: {slope: 0.1}", "RectLeaky", "PReLU", "RReLU", "Rectlinclip",
                                "Explin", "SoftPlus", "Gelu", "Mish", "Swish", "HardSwish"})
    for (const char* layer : {"Affine: {nout: 3", "Conv: {fshape: [3, 3, 8]", "Deconv: {fshape: [3, 3, 8]",
                              "Local: {fshape: [3, 3, 8]", "CrossMapPooling: {nofm: 3"}) {
      INFO(layer << " " << rectifier);
      const std::string activation =
          std::string(rectifier).find(':') == std::string::npos ? rectifier : text("{", rectifier, "}");
      CHECK(init_of(text(layer, ", activation: ", activation, "}")) == "Kaiming");
    }
  for (const char* other : {"Identity", "Tanh", "Logistic", "Softmax", "Sign", "Selu", "HardLogistic"})
    CHECK(init_of(text("Affine: {nout: 3, activation: ", other, "}")) == "GlorotUniform");
  for (const char* alone : {"Affine: 3", "Linear: 3", "Conv: {fshape: [3, 3, 8]}", "Convolution: {fshape: [3, 3, 8]}",
                            "Deconvolution: {fshape: [3, 3, 8]}"})
    CHECK(init_of(alone) == "GlorotUniform");
  CHECK(init_of("Affine: {nout: 3, init: Gaussian, activation: Rectlin}") == "Gaussian");
}
