// Graphs of a recurrent cell and all its gradients, of the sizes that decide how a GPU shares it among blocks.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "backends/graph/graph.h"
#include "neon/core/tensor.h"

namespace neon::test {

struct CellGraphCase {
  std::string name, cell;  // "recurrent", "lstm", "gru"
  int64_t samples, steps, units;
  bool reverse = false, padded = false, of_c = false;  // of_c: an lstm's gradient by the states c, too
  std::string activation = "tanh", gate = "logistic";
};

std::vector<CellGraphCase> cell_graph_cases();

// Inputs z, w, h0, c0, lengths and the cotangents g, gc; outputs h, c and the gradients dz, dw, dh0, dc0.
Graph cell_graph(const CellGraphCase& c, DType dtype);

// Numbers for all inputs of such a graph, which every type holds exactly; the same for each call.
std::map<std::string, Tensor> cell_data(const CellGraphCase& c, const Graph& graph);

}  // namespace neon::test
