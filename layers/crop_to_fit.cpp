// CropToFit: the middle of an image, of the size of another, as a U-Net without padding needs it (Ronneberger et al.
// 2015).
#include "layers/images.h"
#include "transforms/parts.h"

namespace neon {

namespace {

struct CropToFit : Parametrized<Layer, NoParams> {
  using Parametrized::Parametrized;
  int most_inputs() const override { return 2; }
  WayOfZeros way_of_zeros() const override { return WayOfZeros::cut; }
  Expr forward(LayerContext&, Expr) const override {
    fail(ErrorKind::config, "CropToFit takes two layers by name: inputs: [larger, smaller] gives the middle of the ",
         "first, of the second's size");
  }
  // x (N,H,W,C), other (N,h,w,K) -> (N,h,w,C); likewise in 3-D
  Expr forward_all(LayerContext& context, const std::vector<Expr>& inputs) const override {
    if (inputs.size() == 1) return forward(context, inputs[0]);
    Expr x = inputs[0];
    const Expr other = inputs[1];
    if (axes_of_space(x, "CropToFit") != axes_of_space(other, "CropToFit"))
      fail(ErrorKind::config, "CropToFit takes two images or two volumes, but these are ", both(context, inputs));
    for (int axis = 1; axis + 1 < x.shape().rank(); ++axis) {
      const int64_t size = other.shape()[axis], more = x.shape()[axis] - size;
      if (more < 0)
        fail(ErrorKind::config,
             "CropToFit cuts the first input to the size of the second, which is larger here: ", both(context, inputs),
             "; exchange the two");
      if (more > 0) x = part(x, axis, more / 2, size);
    }
    return x;
  }

 private:
  static std::string both(const LayerContext& context, const std::vector<Expr>& inputs) {
    return text(context.sample_shape(inputs[0]), " and ", context.sample_shape(inputs[1]));
  }
};
NEON_REGISTER(Layer, CropToFit,
              "Cuts the first of its two inputs to the size of the second, in the middle: inputs: [larger, smaller].");

}  // namespace

}  // namespace neon
