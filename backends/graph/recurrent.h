// Recurrent cells over the steps of sequences: the ops `recurrent`, `lstm` and `gru`, and the steps that define them.
// z (N,T,G H) is what a cell's input gives each of its G gates, product and bias included, so that one product serves
// all steps; w (G H,H) are the weights of the state. Step t takes the state of step t - 1, in reverse that of t + 1.
// With lengths (N) i32, the steps of sample n from lengths[n] on are padding: they leave the state as it is.
#pragma once
#include <string>
#include <vector>

#include "backends/graph/expression.h"

namespace neon {

// The functions of a cell, and its direction.
class Cell {
 public:
  explicit Cell(bool reverse) : reverse(reverse) {}
  virtual ~Cell() = default;
  virtual Expr activation(Expr x) const = 0;
  virtual Expr gate(Expr x) const = 0;
  const bool reverse;
};

// The first state of a layer of cells: h0 (N,H) in the type of z; an lstm also has c0 (N,H) in its arithmetic.
struct CellState {
  Value h, c;
};
// All states (N,T,H): h in the type of z, of an lstm also c in its arithmetic.
struct CellStates {
  Value h, c;
};

// Each cell as a chain of steps in other ops. `lengths` may be an invalid Value.
//   recurrent  h = act(z + h W')
//   lstm       gates i, f, o, g: i, f, o = gate(z + h W'), g = act(z + h W'); c = f c + i g; h = o act(c)
//              (Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000; no peepholes)
//   gru        gates r, u, n: r, u = gate(z + h W'), n = act(z + (r h) W'); h = (1 - u) h + u n (Cho et al. 2014)
CellStates recurrent_steps(Graph& graph, const Cell& cell, Value z, Value w, CellState begin, Value lengths);
CellStates lstm_steps(Graph& graph, const Cell& cell, Value z, Value w, CellState begin, Value lengths);
CellStates gru_steps(Graph& graph, const Cell& cell, Value z, Value w, CellState begin, Value lengths);

// The same as one node, whose functions are rows of the elementwise table.
struct CellRows {
  std::string activation, gate;
  bool reverse = false;
};
CellStates recurrent(Graph& graph, const CellRows& cell, Value z, Value w, CellState begin, Value lengths);
CellStates lstm(Graph& graph, const CellRows& cell, Value z, Value w, CellState begin, Value lengths);
CellStates gru(Graph& graph, const CellRows& cell, Value z, Value w, CellState begin, Value lengths);

// Whether a row may be a function of such a node: it has one operand, and its derivative follows from its result.
bool derives_from_result(std::string_view row);

}  // namespace neon
