// Products, reductions and softmax.
#include <algorithm>
#include <cmath>
#include <limits>

#include "neon/onnx/evaluate_parts.h"

namespace neon::onnx {

namespace {

// Rows of sums: matrix a with steps (row, term), b with steps (term, column).
struct Matrices {
  int64_t rows, terms, columns;
  int64_t a_row, a_term, b_term, b_column;
};

void multiply(const double* a, const double* b, double* y, const Matrices& of, Precision precision) {
  for (int64_t i = 0; i < of.rows; ++i)
    for (int64_t j = 0; j < of.columns; ++j) {
      Sum sum(precision);
      for (int64_t k = 0; k < of.terms; ++k)
        sum.add(a[i * of.a_row + k * of.a_term] * b[k * of.b_term + j * of.b_column]);
      y[i * of.columns + j] = sum.value();
    }
}

void check_terms(const Call& call, int64_t a, int64_t b) {
  if (a != b) fail(ErrorKind::data, "node ", call.node.name, ": products of ", a, " and ", b, " terms");
}

Array gemm(const Call& call) {
  const Array &a = call.in(0), &b = call.in(1);
  const bool ta = call.whole("transA", 0), tb = call.whole("transB", 0);
  const int64_t rows = a.sizes.at(ta), terms = a.sizes.at(!ta), columns = b.sizes.at(!tb);
  check_terms(call, terms, b.sizes.at(tb));
  Array out{{rows, columns}, std::vector<double>(size_t(rows * columns))};
  multiply(a.numbers.data(), b.numbers.data(), out.numbers.data(),
           {rows, terms, columns, ta ? 1 : terms, ta ? rows : 1, tb ? 1 : columns, tb ? terms : 1}, call.precision);
  return out;
}

// Stacks (B,M,K) and (B,K,N).
Array matmul(const Call& call) {
  const Array &a = call.in(0), &b = call.in(1);
  const int64_t stacks = a.sizes.at(0), rows = a.sizes.at(1), terms = a.sizes.at(2), columns = b.sizes.at(2);
  check_terms(call, terms, b.sizes.at(1));
  check_terms(call, stacks, b.sizes.at(0));
  Array out{{stacks, rows, columns}, std::vector<double>(size_t(stacks * rows * columns))};
  for (int64_t s = 0; s < stacks; ++s)
    multiply(&a.numbers[size_t(s * rows * terms)], &b.numbers[size_t(s * terms * columns)],
             &out.numbers[size_t(s * rows * columns)], {rows, terms, columns, terms, 1, columns, 1}, call.precision);
  return out;
}

std::vector<int64_t> axes_of(const Call& call) {
  std::vector<int64_t> out;
  if (call.node.attributes.has("axes")) return call.node.attributes.integers("axes");
  for (const double axis : call.in(1).numbers) out.push_back(int64_t(axis));
  return out;
}

// For each element of x the place of its result, where these axes are folded.
std::vector<int64_t> folded_places(const Array& x, const std::vector<int64_t>& axes, std::vector<int64_t>& sizes) {
  sizes = x.sizes;
  for (const int64_t axis : axes) sizes.at(size_t(axis)) = 1;
  return broadcast_places(sizes, x.sizes);
}

Array reduced(const Call& call) {
  const Array& x = call.in(0);
  Array out;
  const std::vector<int64_t> places = folded_places(x, axes_of(call), out.sizes);
  const double infinity = std::numeric_limits<double>::infinity();
  const bool sums = call.node.op == "ReduceSum", largest = call.node.op == "ReduceMax";
  out.numbers.assign(size_t(product_of(out.sizes)), sums ? 0 : largest ? -infinity : infinity);
  for (size_t i = 0; i < places.size(); ++i) {
    double& y = out.numbers[size_t(places[i])];
    if (sums) {
      Sum sum(call.precision, y);
      sum.add(x.numbers[i]);
      y = sum.value();
    } else if (largest ? x.numbers[i] > y : x.numbers[i] < y) {
      y = x.numbers[i];
    }
  }
  return out;
}

// The first of equal ones.
Array argmax(const Call& call) {
  const Array& x = call.in(0);
  const int64_t axis = call.whole("axis", 0), stride = strides_of(x.sizes).at(size_t(axis)),
                size = x.sizes[size_t(axis)];
  Array out;
  const std::vector<int64_t> places = folded_places(x, {axis}, out.sizes);
  out.numbers.assign(size_t(product_of(out.sizes)), 0);
  std::vector<double> best(out.numbers.size(), -std::numeric_limits<double>::infinity());
  for (size_t i = 0; i < places.size(); ++i)
    if (const auto to = size_t(places[i]); x.numbers[i] > best[to])
      best[to] = x.numbers[i], out.numbers[to] = double(int64_t(i) / stride % size);
  return out;
}

Array softmax(const Call& call) {
  const Array& x = call.in(0);
  std::vector<int64_t> sizes;
  const std::vector<int64_t> places = folded_places(x, {call.whole("axis", -1)}, sizes);
  std::vector<double> most(size_t(product_of(sizes)), -std::numeric_limits<double>::infinity());
  std::vector<Sum> sums(most.size(), Sum(call.precision));
  for (size_t i = 0; i < places.size(); ++i) {
    double& m = most[size_t(places[i])];
    m = std::max(m, x.numbers[i]);
  }
  for (size_t i = 0; i < places.size(); ++i)
    sums[size_t(places[i])].add(std::exp(x.numbers[i] - most[size_t(places[i])]));
  Array out = x;
  for (size_t i = 0; i < places.size(); ++i) {
    const double shifted = x.numbers[i] - most[size_t(places[i])], sum = sums[size_t(places[i])].value();
    out.numbers[i] = call.node.op == "Softmax" ? std::exp(shifted) / sum : shifted - std::log(sum);
  }
  return out;
}

}  // namespace

std::optional<Array> evaluate_products(const Call& call) {
  const std::string& op = call.node.op;
  if (op == "Gemm") return gemm(call);
  if (op == "MatMul") return matmul(call);
  if (op == "ReduceSum" || op == "ReduceMax" || op == "ReduceMin") return reduced(call);
  if (op == "ArgMax") return argmax(call);
  if (op == "Softmax" || op == "LogSoftmax") return softmax(call);
  return {};
}

}  // namespace neon::onnx
