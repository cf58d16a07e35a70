// Cases of every op, for the suites: shapes, attributes and where the numbers come from. Rows of the elementwise
// table get theirs from the table; other ops stand in op_cases.cpp, fold_cases.cpp, shape_cases.cpp and
// window_cases.cpp by hand, those of recurrent cells in recurrent_cases.cpp, of attention in attention_cases.cpp. An op
// without a case fails a test.
#pragma once
#include <string>
#include <vector>

#include "backends/graph/op.h"
#include "neon/core/tensor.h"

namespace neon::test {

struct CaseInput {
  Shape shape;
  double low = -2, high = 2;        // numbers are uniform in [low, high)
  DType fixed = DType::f32;         // of integer inputs; floating ones take the type that the suite asks for
  std::vector<double> values = {};  // given: these instead, repeated
  bool arithmetic = false;          // in the type of the arithmetic, f32 for 16-bit types
};

struct OpCase {
  std::string op, name;
  std::vector<CaseInput> inputs;
  Attributes attributes = {};
  int64_t length = 1;          // numbers that are added up for one result; magnitudes() in run_case.cpp then has the op
  std::string fast = "fused";  // the implementation that must run on the CPU, as Kernel::implementation() names it:
                               // "plain" without a kernel of its own, or for arrays of no elements that a fused
                               // kernel or a copy declines; "": no kernel; "mixed": several; "product": loops in
                               // f64, otherwise oneDNN; "definition": whatever the ops of its definition run on
  bool differentiable = true;  // false: the rule is not the derivative of the function (straight-through)
  int stores = 1;              // roundings to the type of the arrays, on the way to one result
  std::string to_string() const { return op + ": " + name; }
};

std::vector<OpCase> cases_of(const Op& op);
// All cases of all ops, or with NEON_TEST_OP=NAME those of one op. Tests with the tag [op] need no other cases.
std::vector<OpCase> all_cases();

// The type of an input where the suite runs in `dtype`.
DType case_type(const CaseInput& input, DType dtype);

// Numbers for input `index` of a case in the type that it has when the suite runs in `dtype`; the same for each
// call, and exact in `rounded`, so that runs in several types see the same numbers.
Tensor case_data(const OpCase& c, size_t index, DType dtype, DType rounded);

// The op on inputs "in0", "in1", ... with outputs "out0", ...; results of the node.
std::vector<Value> build_case(Graph& graph, const OpCase& c, DType dtype);

}  // namespace neon::test
