// The rows of the elementwise table as operators of ONNX, computed by plain loops, are the formulas of those rows.
#include "neon/onnx/rows.h"

#include <catch2/catch.hpp>
#include <set>

#include "neon/onnx/evaluate.h"
#include "tests/backends/elementwise/formulas.h"

using namespace neon;
using namespace neon::onnx;

namespace {

// Numbers of f32 in the range, its ends among them.
std::vector<float> numbers_in(formulas::Range range, int count) {
  std::vector<float> out;
  for (int i = 0; i < count; ++i) out.push_back(float(range.low + (range.high - range.low) * i / (count - 1)));
  return out;
}

// A constant operand: a number that the translation knows, or an array.
Operand operand(Writer& writer, float value, bool known) {
  if (known) return {writer.number(value), double(value)};
  Tensor array(DType::f32, {1});
  array.set(0, value);
  return {writer.array("operand", array), {}};
}

// Whether ONNX has the row with such operands; its results are compared with the formula's.
bool check_row(const formulas::Formula& formula, float b, float c, bool known) {
  const std::vector<float> places = numbers_in(formula.a, 9);
  Writer writer;
  const auto name = add_row(writer, formula.name, {{kInput, {}}, operand(writer, b, known), operand(writer, c, known)});
  if (!name) return false;
  const Array found = evaluated(writer.finish(*name), {{9}, {places.begin(), places.end()}}, Precision::full);
  for (size_t i = 0; i < places.size(); ++i) {
    const formulas::L expected = formula.value(places[i], b, c);
    INFO(formula.name << " of " << places[i] << ", " << b << ", " << c);
    CHECK(found.numbers[i] == Approx(double(expected)).epsilon(3e-7).margin(3e-7));
  }
  return true;
}

}  // namespace

TEST_CASE("rows in operators of ONNX have the rows' values") {
  std::set<std::string> without, without_arrays;
  for (const formulas::Formula& formula : formulas::all())
    for (const float b : numbers_in(formula.b, 3))
      for (const float c : numbers_in(formula.c, 3)) {
        if (!check_row(formula, b, c, true)) without.insert(std::string(formula.name));
        else if (!check_row(formula, b, c, false)) without_arrays.insert(std::string(formula.name));
      }
  CHECK(without == std::set<std::string>{"as_bf16", "as_f16", "as_fixed", "bce_logits", "is_finite", "round_by_chance",
                                         "shift", "smooth_l1", "spacing", "square_hinge"});
  CHECK(without_arrays == std::set<std::string>{"elu", "hard_sigmoid"});
}
