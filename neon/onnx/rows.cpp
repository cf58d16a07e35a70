#include "neon/onnx/rows.h"

namespace neon::onnx {

namespace {

using Names = std::vector<std::string>;

// Rows that are one operator.
constexpr std::pair<std::string_view, const char*> kSame[] = {
    {"add", "Add"},           {"sub", "Sub"},     {"mul", "Mul"},
    {"div", "Div"},           {"neg", "Neg"},     {"reciprocal", "Reciprocal"},
    {"sqrt", "Sqrt"},         {"pow", "Pow"},     {"abs", "Abs"},
    {"sign", "Sign"},         {"minimum", "Min"}, {"maximum", "Max"},
    {"rint", "Round"},        {"floor", "Floor"}, {"exp", "Exp"},
    {"log", "Log"},           {"sin", "Sin"},     {"cos", "Cos"},
    {"erf", "Erf"},           {"tanh", "Tanh"},   {"logistic", "Sigmoid"},
    {"softsign", "Softsign"}, {"relu", "Relu"},   {"softplus", "Softplus"},
};
// Comparisons, whose results are of type bool there.
constexpr std::pair<std::string_view, const char*> kComparisons[] = {
    {"equal", "Equal"},     {"less", "Less"},
    {"greater", "Greater"}, {"less_equal", "LessOrEqual"},
    {"not_equal", "Equal"}, {"greater_equal", "GreaterOrEqual"},
};

// Formulas over the operands a, b and c.
class Formula {
 public:
  Formula(Writer& writer, const std::vector<Operand>& of) : writer_(writer), of_(of) {}

  std::string a() const { return of_[0].name; }
  std::string b() const { return of_[1].name; }
  std::string c() const { return of_[2].name; }
  bool fixed(size_t k) const { return of_[k].number.has_value(); }
  double fixed_number(size_t k) const { return *of_[k].number; }
  std::string add(const char* op, Names inputs, Attributes attributes = {}) const {
    return writer_.add(op, std::move(inputs), std::move(attributes));
  }
  std::string number(double value) const { return writer_.number(value); }
  std::string times(const std::string& x, double factor) const { return add("Mul", {x, number(factor)}); }
  std::string truth(const std::string& x) const { return add("Cast", {x}, {{"to", kTypeBool}}); }
  std::string from_truth(const std::string& x) const { return add("Cast", {x}, {{"to", kTypeF32}}); }

  std::string leaky_relu() const {
    if (fixed(1)) return add("LeakyRelu", {a()}, {{"alpha", fixed_number(1)}});
    return add("PRelu", {a(), b()});
  }
  // x (1 + erf(x / sqrt 2)) / 2
  std::string gelu() const {
    const std::string share = add("Add", {add("Erf", {times(a(), 0.70710678118654752)}), number(1)});
    return times(add("Mul", {a(), share}), 0.5);
  }
  // x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2
  std::string gelu_tanh() const {
    const std::string cube = add("Mul", {add("Mul", {a(), a()}), a()});
    const std::string inner = add("Add", {a(), times(cube, 0.044715)});
    const std::string share = add("Add", {add("Tanh", {times(inner, 0.79788456080286536)}), number(1)});
    return times(add("Mul", {a(), share}), 0.5);
  }
  std::string signs() const {
    const std::string is_positive = add("GreaterOrEqual", {a(), number(0)});
    return add("Where", {is_positive, number(1), number(-1)});
  }

 private:
  Writer& writer_;
  const std::vector<Operand>& of_;
};

// Rows of one or two operators more.
std::optional<std::string> small_formula(const Formula& f, std::string_view row) {
  constexpr double kLog2 = 0.69314718055994531;
  if (row == "identity" || row == "as_f32") return f.a();
  if (row == "square") return f.add("Mul", {f.a(), f.a()});
  if (row == "rsqrt") return f.add("Reciprocal", {f.add("Sqrt", {f.a()})});
  if (row == "mul_add") return f.add("Add", {f.add("Mul", {f.a(), f.b()}), f.c()});
  if (row == "exp2") return f.add("Exp", {f.times(f.a(), kLog2)});
  if (row == "expm1") return f.add("Sub", {f.add("Exp", {f.a()}), f.number(1)});
  if (row == "log2") return f.times(f.add("Log", {f.a()}), 1 / kLog2);
  if (row == "log1p") return f.add("Log", {f.add("Add", {f.a(), f.number(1)})});
  if (row == "safelog") return f.add("Log", {f.add("Max", {f.a(), f.number(1.9287498479639178e-22)})});
  if (row == "tanh2") return f.add("Tanh", {f.times(f.a(), kLog2)});
  if (row == "logistic2") return f.add("Sigmoid", {f.times(f.a(), kLog2)});
  if (row == "swish") return f.add("Mul", {f.a(), f.add("Sigmoid", {f.a()})});
  if (row == "clip") return f.add("Min", {f.add("Max", {f.a(), f.b()}), f.c()});
  if (row == "leaky_relu") return f.leaky_relu();
  if (row == "relu_clip") return f.add("Min", {f.leaky_relu(), f.c()});
  if (row == "select") return f.add("Where", {f.truth(f.a()), f.b(), f.c()});
  if (row == "gelu") return f.gelu();
  if (row == "gelu_tanh") return f.gelu_tanh();
  if (row == "sign_ste") return f.signs();
  return {};
}

// Rows whose operands must be fixed numbers in ONNX.
std::optional<std::string> fixed_formula(const Formula& f, std::string_view row) {
  if (row == "elu" && f.fixed(1)) return f.add("Elu", {f.a()}, {{"alpha", f.fixed_number(1)}});
  if (row == "hard_sigmoid" && f.fixed(1) && f.fixed(2))
    return f.add("HardSigmoid", {f.a()}, {{"alpha", f.fixed_number(1)}, {"beta", f.fixed_number(2)}});
  return {};
}

}  // namespace

std::optional<std::string> add_row(Writer& writer, std::string_view row, const std::vector<Operand>& operands) {
  Names names;
  for (const Operand& operand : operands) names.push_back(operand.name);
  for (const auto& [own, theirs] : kSame)
    if (own == row) return writer.add(theirs, names);
  const Formula formula(writer, operands);
  for (const auto& [own, theirs] : kComparisons) {
    if (own != row) continue;
    const std::string truth = writer.add(theirs, names);
    return formula.from_truth(row == "not_equal" ? writer.add("Not", {truth}) : truth);
  }
  if (const auto small = small_formula(formula, row)) return small;
  return fixed_formula(formula, row);
}

}  // namespace neon::onnx
