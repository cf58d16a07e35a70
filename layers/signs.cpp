#include "layers/signs.h"

namespace neon {

Expr signs_of(const LayerContext& context, Value given, Expr x) {
  const auto found = context.dropped.find(given);
  if (found == context.dropped.end()) return apply("sign_ste", x);
  const auto& [keep, mask] = found->second;
  const Expr undivided = context.caffe ? x * keep : x;  // whose gradient passes a sign as it did before Dropout
  return apply("sign_ste", undivided) * reshape(mask, x.shape()) * (1 / keep);
}

}  // namespace neon
