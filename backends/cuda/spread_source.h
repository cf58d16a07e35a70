// Source of loads that make max pooling's gradient: see Spread.
#pragma once
#include <functional>

#include "backends/cuda/code_text.h"

namespace neon::cuda {

// Whether windows see each channel by itself, so that `width` neighbouring channels come by one access.
bool spreads_packs(const CodeText& code, const Instruction& load, const Shape& domain, int width);

// An expression: the Pack of `width` neighbours from that element on whose index along an axis of `domain` is
// coordinate(axis).
std::string spread_pack(CodeText& code, const Instruction& load, const Shape& domain, int width,
                        const std::function<std::string(int)>& coordinate);

}  // namespace neon::cuda
