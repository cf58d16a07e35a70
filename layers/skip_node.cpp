// SkipNode: a branch without layers, as beside the convolutions of a residual block (He et al. 2015).
#include "layers/layer.h"

namespace neon {

namespace {

struct SkipNode : Parametrized<Layer, NoParams> {
  using Parametrized::Parametrized;
  Expr forward(LayerContext&, Expr x) const override { return x; }
  bool takes_channels_first() const override { return true; }
};
NEON_REGISTER(Layer, SkipNode, "Passes its input on: a branch without layers, as in a residual block.");

}  // namespace

}  // namespace neon
