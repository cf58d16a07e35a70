// A convolution of a large batch as several of parts of it. Beyond 2^31 elements of an array, and in f32 without tensor
// cores beyond what cuDNN may copy of them, its plain algorithm is all that is left.
#pragma once
#include <functional>

#include "backends/cuda/convolution_case.h"

namespace neon::cuda {

struct ConvolutionPiece {
  ConvolutionCase of;
  size_t a = 0, b = 0, c = 0;  // bytes from where its arrays begin to where the piece does
};

// One after the other; the whole, where it is taken at once. Gradients of filters are those of the first piece, to
// which each other piece adds its own, in the result's type: one rounding for a piece.
std::vector<ConvolutionPiece> convolution_pieces(const ConvolutionCase& whole, size_t most_bytes);

// The kernel of them all, of what `make` returns for each: null where that is, called once for equal ones.
std::unique_ptr<LibraryKernel> make_pieces(
    const std::vector<ConvolutionPiece>& pieces,
    const std::function<std::unique_ptr<LibraryKernel>(const ConvolutionCase&)>& make);

}  // namespace neon::cuda
