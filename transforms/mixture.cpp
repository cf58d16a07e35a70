#include "transforms/mixture.h"

namespace neon {

Expr partners(Expr x) {
  const int64_t samples = x.shape()[0];
  const Expr place(x.graph(), iota(x.graph(), {samples}, 0));
  const Expr odd = place - apply("floor", place * 0.5) * 2.0;
  const Expr partner = minimum(place + 1.0 - odd * 2.0, double(samples - 1));
  return {x.graph(), gather(x.graph(), x, cast(partner, DType::i32))};
}

Expr Mixture::of(Expr t) const {
  for (const Expr each : shares_) {
    const Expr share = cast(reshape(each, {t.shape()[0], 1}), t.dtype());
    t = t * share + partners(t) * (1.0 - share);
  }
  return t;
}

}  // namespace neon
