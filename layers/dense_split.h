// How ranks share the weights of dense layers: `parallel: {dense: ...}` of a spec.
#pragma once

namespace neon {

struct DenseSplit {
  bool on = false;
  // The second of two such layers in a row has some columns of its weights, and a sum stands behind both; otherwise
  // each has some rows.
  bool pairs = false;
};

}  // namespace neon
