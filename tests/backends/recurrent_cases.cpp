#include "tests/backends/recurrent_cases.h"

namespace neon::test {

namespace {

struct CellCase {
  int64_t samples, steps, units;
  std::string activation = "tanh", gate = "logistic";
  bool reverse = false;
  std::vector<double> lengths = {};
};

std::vector<CellCase> cell_cases() {
  return {{2, 3, 4},
          {1, 1, 1},
          {3, 1, 5},
          {3, 4, 2, "tanh", "logistic", true},
          {4, 5, 3, "tanh", "logistic", false, {5, 1, 0, 3}},
          {4, 5, 3, "tanh", "logistic", true, {2, 5, 4, 0}},
          {2, 3, 17, "logistic", "tanh"},
          {2, 4, 3, "identity", "logistic", false, {4, 2}},
          {5, 3, 33, "tanh", "logistic", true, {3, 2, 1, 0, 3}}};
}

}  // namespace

std::vector<OpCase> recurrent_cases(const std::string& op) {
  const bool gradient = op.ends_with("_grad"), is_lstm = op.starts_with("lstm"), is_gru = op.starts_with("gru");
  const int64_t gates = is_lstm ? 4 : is_gru ? 3 : 1;
  std::vector<OpCase> out;
  auto add = [&](const CellCase& cell, bool state_gradient) {
    const auto& [n, t, h, activation, gate, reverse, lengths] = cell;
    Attributes attributes = {{"activation", activation}, {"gate", gate}, {"reverse", int64_t(reverse)}};
    OpCase c{
        op, text(n, " samples, ", t, " steps, ", h, " units, ", attributes, lengths.empty() ? "" : ", padded"), {}};
    const CaseInput states{{n, t, h}}, w{{gates * h, h}, -0.7, 0.7}, activated{{n, t, gates * h}, 0.1, 0.9};
    CaseInput c_states{{n, t, h}}, c_state{{n, h}};
    c_states.arithmetic = c_state.arithmetic = true;
    if (!gradient) {
      c.inputs = {{{n, t, gates * h}}, w, {{n, h}}};
      if (is_lstm) c.inputs.push_back(c_state);
    } else if (is_lstm) {
      c.inputs = {activated, c_states, w, c_state, states};
      if (state_gradient) c.inputs.push_back(c_states), c.name += ", of c";
      attributes = attributes.with("state_gradient", int64_t(state_gradient));
    } else if (is_gru) {
      c.inputs = {activated, states, w, {{n, h}}, states};
    } else {
      c.inputs = {{{n, t, h}, 0.1, 0.9}, w, states};
    }
    if (!lengths.empty()) c.inputs.push_back({{n}, 0, 1, DType::i32, lengths});
    c.attributes = attributes;
    c.length = t * gates * h;
    c.fast = "cells";
    c.stores = int(2 * t);  // of the state after each step, and of what a step multiplies
    out.push_back(c);
  };
  for (const CellCase& cell : cell_cases()) {
    add(cell, false);
    if (is_lstm && gradient) add(cell, true);
  }
  return out;
}

}  // namespace neon::test
