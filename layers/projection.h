// Products of rows of features by several matrices of one layer, as attention and gated layers have them.
#pragma once
#include "layers/layer.h"

namespace neon {

struct ProjectionOptions {
  std::string part;         // "q": the parameters are LAYER/W_q (nout,F) and LAYER/b_q (nout)
  std::string layer_class;  // of W, for MultiOptimizer; that of b is Bias
  int64_t nout;
  const Made<Initializer>&init, &bias;  // without `bias` there is no b
};

// rows (R,F) -> (R,nout). Split features (layers/split_linear.h) -> this rank's samples, or steps of sequences.
Expr projected(LayerContext& context, Expr rows, const ProjectionOptions& options);

// Split features of this rank's samples x, or steps, by each matrix.
std::vector<Expr> split_projections(LayerContext& context, Expr x, const std::vector<ProjectionOptions>& parts);

}  // namespace neon
