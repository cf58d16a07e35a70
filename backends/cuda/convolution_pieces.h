// A convolution of a large batch as several of parts of it. Beyond 2^31 elements of an array, and where cuDNN copies
// the arrays beyond what it is given for that, its plain algorithm is all that is left.
#pragma once
#include <functional>

#include "backends/cuda/convolution_case.h"

namespace neon::cuda {

// The name that its library() returns.
constexpr const char* kPieces = "cudnn pieces";

struct ConvolutionPiece {
  ConvolutionCase of;
  size_t a = 0, b = 0, c = 0;  // bytes from where its arrays begin to where the piece does
};

// One after the other; the whole, where it is taken at once. To a gradient of filters each piece adds its own, in the
// result's type: that is rounded once for a piece, and a sum on the way may overflow where the last one does not.
std::vector<ConvolutionPiece> convolution_pieces(const ConvolutionCase& whole, size_t most_bytes);

// The kernel of several, of what `make` returns for each: null where that is, called once for equal ones.
std::unique_ptr<OperandsKernel> make_pieces(
    const std::vector<ConvolutionPiece>& pieces, std::shared_ptr<Device> device,
    const std::function<std::unique_ptr<OperandsKernel>(const ConvolutionCase&)>& make);

}  // namespace neon::cuda
