// How ranks share the weights of dense layers and the tables of embeddings: `parallel: {dense: ..., embedding: ...}` of
// a spec.
#pragma once

namespace neon {

// The schemes of Krizhevsky 2014, by which samples come to split layers.
enum class SampleTurns {
  together,  // a: all samples at once
  by_rank,   // b: those of one rank after the other
  by_share,  // c: a share of each rank's, as often as there are ranks
};

struct DenseSplit {
  bool on = false;
  // The second of two such layers in a row has some columns of its weights, and a sum stands behind both; otherwise
  // each has some rows.
  bool pairs = false;
  SampleTurns turns = SampleTurns::together;
  bool classifier = false;  // the cost is over the split outputs of the last layer, before their softmax
  bool tables = false;      // each rank has some rows of a table, and looks up the tokens of all
};

}  // namespace neon
