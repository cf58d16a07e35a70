// Operators that compute each number from one number of each operand.
#include <algorithm>
#include <cmath>

#include "neon/onnx/evaluate_parts.h"

namespace neon::onnx {

namespace {

using Unary = double (*)(double);
using Binary = double (*)(double, double);

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

constexpr std::pair<std::string_view, Unary> kUnary[] = {
    {"Neg", [](double x) { return -x; }},
    {"Reciprocal", [](double x) { return 1 / x; }},
    {"Sqrt", [](double x) { return std::sqrt(x); }},
    {"Abs", [](double x) { return std::fabs(x); }},
    {"Sign", [](double x) { return double((x > 0) - (x < 0)); }},
    {"Round", [](double x) { return std::nearbyint(x); }},
    {"Floor", [](double x) { return std::floor(x); }},
    {"Exp", [](double x) { return std::exp(x); }},
    {"Log", [](double x) { return std::log(x); }},
    {"Sin", [](double x) { return std::sin(x); }},
    {"Cos", [](double x) { return std::cos(x); }},
    {"Erf", [](double x) { return std::erf(x); }},
    {"Tanh", [](double x) { return std::tanh(x); }},
    {"Sigmoid", logistic},
    {"Softsign", [](double x) { return x / (1 + std::fabs(x)); }},
    {"Softplus", [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }},
    {"Relu", [](double x) { return x < 0 ? 0 : x; }},
    {"Not", [](double x) { return double(x == 0); }},
    {"Identity", [](double x) { return x; }},
};

constexpr std::pair<std::string_view, Binary> kBinary[] = {
    {"Add", [](double a, double b) { return a + b; }},
    {"Sub", [](double a, double b) { return a - b; }},
    {"Mul", [](double a, double b) { return a * b; }},
    {"Div", [](double a, double b) { return a / b; }},
    {"Pow", [](double a, double b) { return std::pow(a, b); }},
    {"Min", [](double a, double b) { return a < b || a != a ? a : b; }},
    {"Max", [](double a, double b) { return a > b || a != a ? a : b; }},
    {"PRelu", [](double a, double b) { return a < 0 ? a * b : a; }},
    {"Equal", [](double a, double b) { return double(a == b); }},
    {"Less", [](double a, double b) { return double(a < b); }},
    {"LessOrEqual", [](double a, double b) { return double(a <= b); }},
    {"Greater", [](double a, double b) { return double(a > b); }},
    {"GreaterOrEqual", [](double a, double b) { return double(a >= b); }},
};

std::vector<int64_t> joint_sizes(const Call& call) {
  std::vector<int64_t> out;
  for (const Array* each : call.inputs) {
    if (each->sizes.size() > out.size()) out.insert(out.begin(), each->sizes.size() - out.size(), 1);
    const size_t skipped = out.size() - each->sizes.size();
    for (size_t i = 0; i < each->sizes.size(); ++i) {
      int64_t& size = out[skipped + i];
      if (size != each->sizes[i] && size != 1 && each->sizes[i] != 1)
        fail(ErrorKind::data, "node ", call.node.name, ": sizes ", size, " and ", each->sizes[i],
             " do not go together");
      if (size == 1) size = each->sizes[i];
    }
  }
  return out;
}

template <typename Function>
Array mapped(const Array& x, Function&& function) {
  Array out = x;
  for (double& number : out.numbers) number = function(number);
  return out;
}

Array of_two(const Call& call, Binary function) {
  Array out{joint_sizes(call), {}};
  const auto a = broadcast_places(call.in(0).sizes, out.sizes), b = broadcast_places(call.in(1).sizes, out.sizes);
  for (size_t i = 0; i < a.size(); ++i)
    out.numbers.push_back(function(call.in(0).numbers[size_t(a[i])], call.in(1).numbers[size_t(b[i])]));
  return out;
}

Array chosen(const Call& call) {
  Array out{joint_sizes(call), {}};
  std::vector<int64_t> places[3];
  for (size_t k = 0; k < 3; ++k) places[k] = broadcast_places(call.in(k).sizes, out.sizes);
  for (size_t i = 0; i < places[0].size(); ++i) {
    const size_t from = call.in(0).numbers[size_t(places[0][i])] != 0 ? 1 : 2;
    out.numbers.push_back(call.in(from).numbers[size_t(places[from][i])]);
  }
  return out;
}

Array cast(const Call& call) {
  const int64_t to = call.node.attributes.integer("to");
  return mapped(call.in(0), [&](double x) {
    return to == kTypeBool ? double(x != 0) : to == kTypeI64 ? std::trunc(x) : x;
  });
}

}  // namespace

std::optional<Array> evaluate_elements(const Call& call) {
  const std::string& op = call.node.op;
  for (const auto& [name, function] : kUnary)
    if (name == op) return mapped(call.in(0), function);
  for (const auto& [name, function] : kBinary)
    if (name == op) return of_two(call, function);
  if (op == "Where") return chosen(call);
  if (op == "Cast") return cast(call);
  const auto real = [&](const char* name) { return call.node.attributes.real(name); };
  if (op == "LeakyRelu") return mapped(call.in(0), [&](double x) { return x < 0 ? x * real("alpha") : x; });
  if (op == "Elu") return mapped(call.in(0), [&](double x) { return x < 0 ? real("alpha") * std::expm1(x) : x; });
  if (op == "HardSigmoid")
    return mapped(call.in(0), [&](double x) { return std::clamp(real("alpha") * x + real("beta"), 0.0, 1.0); });
  return {};
}

}  // namespace neon::onnx
