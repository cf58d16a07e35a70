// Products of signs, for binary layers (Courbariaux et al. 2016).
#pragma once
#include "backends/graph/op.h"

namespace neon {

namespace ops {
inline constexpr OpName sign_product{"sign_product"};
}

// sign(a) (M,K) · sign(b)^T (K,N) -> (M,N). The sign of 0 is 1, that of NaN is NaN. The gradient passes a sign where
// its operand is within [-1, 1], as that of sign_ste.
Value sign_product(Graph& graph, Value a, Value b);

}  // namespace neon
