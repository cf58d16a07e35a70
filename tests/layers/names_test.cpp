// What is said about layers and initialisers that are written wrong.
#include <catch2/catch.hpp>

#include "layers/layer.h"
#include "tests/support/golden.h"

using namespace neon;
using namespace neon_test;
using Catch::Contains;

namespace {

std::string layer(const std::string& yaml) { return complaint<Layer>(yaml); }
std::string init(const std::string& yaml) { return complaint<Initializer>(yaml); }

std::string forward_error(const std::string& yaml, const Shape& shape) {
  const auto made = Registry<Layer>::get().create(yaml_of(yaml));
  Graph graph;
  LayerContext context(graph, true, DType::f32, 0);
  context.layer = "L";
  try {
    made->forward(context, {graph, graph.input("x", DType::f32, shape)});
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::config);
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a wrong layer is one line with value, bound and nearest name") {
  CHECK_THAT(layer("Afine: {nout: 3}"), Contains("unknown layer 'Afine'; did you mean Affine"));
  CHECK(layer("Linear: {nout: 0, init: Kaiming}") == "spec.yaml:1:16: Linear.nout: 0 is not at least 1");
  CHECK_THAT(layer("Linear: {init: Kaiming}"),
             Contains("'nout' is missing: Number of outputs of a sample; classes: as many as"));
  CHECK_THAT(layer("Linear: {nout: 3, init: Kaimng}"),
             Contains("spec.yaml:1:25: Linear.init: unknown initializer 'Kaimng'; did you mean Kaiming"));
  CHECK_THAT(layer("Affine: {nout: 3, init: Kaiming, actvation: Tanh}"), Contains("did you mean activation"));
  CHECK_THAT(layer("Affine: {nout: 3, init: Kaiming, nmae: x}"), Contains("did you mean name"));
  CHECK(layer("Affine: {nout: 3, init: Kaiming, bias: {Constant: 0}, batch_norm: true}") ==
        "spec.yaml:1:9: Affine: bias and batch_norm are both given; batch norm has a shift of its own, leave bias out");
  CHECK_THAT(layer("Activation"), Contains("'transform' is missing"));
  CHECK(layer("Activation: {Rectlin: {slope: -1}}") ==
        "spec.yaml:1:31: Activation.transform.Rectlin.slope: -1 is not at least 0");
  CHECK_THAT(layer("Activation: {transform: {Rectlin: {slope: -1}}}"), Contains("Rectlin.slope: -1 is not at least 0"));
  CHECK(layer("BatchNorm: {rho: 1}") == "spec.yaml:1:18: BatchNorm.rho: 1 is not in [0, 1)");
  CHECK(layer("BatchNorm: {eps: 0}") == "spec.yaml:1:18: BatchNorm.eps: 0 is not above 0");
  CHECK(layer("BatchNormAutodiff: {rho: -1}") == "spec.yaml:1:26: BatchNormAutodiff.rho: -1 is not in [0, 1)");
  CHECK(layer("Dropout: 0") == "spec.yaml:1:10: Dropout.keep: 0 is not in (0, 1]");
  CHECK(layer("Reshape: [2, -2]") == "spec.yaml:1:14: Reshape.reshape[1]: -2 is not in [-1, 1073741824]");
}

TEST_CASE("shapes that a Reshape cannot make are errors, however large") {
  CHECK(forward_error("Reshape: [2, -1]", {3, 8}) == "");
  CHECK(forward_error("Reshape: [-1, -1]", {3, 8}) == "reshape has more than one -1");
  CHECK(forward_error("Reshape: [3, -1]", {3, 8}) == "reshape: the 8 features of the input do not divide evenly by 3");
  CHECK(forward_error("Reshape: [2, 0]", {3, 8}) == "reshape keeps axis 1 (0), but the input has only 1");
  CHECK_THAT(forward_error("Reshape: [3, 3]", {3, 8}),
             Contains("reshape turns the 8 numbers of (8) into more; write -1 for one size"));
  CHECK_THAT(forward_error("Reshape: [3, 2]", {3, 8}), Contains("reshape turns the 8 numbers of (8) into 6; "));
  CHECK_THAT(forward_error("Reshape: [1073741824, 1073741824, 1073741824, -1]", {3, 8}),
             Contains("reshape: the 8 features"));
  CHECK(forward_error("Reshape: [1073741824, 1073741824, 1073741824]", {3, 8}) != "");
  CHECK(forward_error("Reshape: [1, 1, 1, 1, 1, 1, 1, 1, 8]", {3, 8}) != "");
}

TEST_CASE("features that cannot be shared out or taken are errors") {
  CHECK(forward_error("Maxout: 3", {2, 8}) == "8 features do not divide evenly into pieces of 3");
  CHECK(forward_error("ChannelShuffle: 3", {2, 8}) ==
        "8 features do not divide evenly into groups of the same size: 3 groups");
  CHECK(forward_error("Slice: 9", {2, 8}) == "end_idx 9 is more than the 8 features of the input");
  CHECK_THROWS_WITH(Registry<Layer>::get().create(yaml_of("Slice: {begin_idx: 4, end_idx: 4}")),
                    Catch::Contains("begin_idx 4 and end_idx 4 leave nothing"));
  CHECK_THAT(forward_error("Local: {fshape: [3, 3, 2], init: Kaiming}", {2, 2, 5, 1}), Contains("a filter 3 "));
  CHECK_THAT(layer("Maxout"), Contains("'pieces' is missing"));
  CHECK(forward_error("Deconv: {fshape: 3, nofm: 4, groups: 3, init: Kaiming}", {2, 5, 5, 6}) ==
        "6 channels and 4 feature maps do not go into 3 groups evenly");
}

TEST_CASE("sizes that do not suit an image are errors") {
  CHECK(forward_error("Upsample: {mode: trilinear}", {2, 3, 3, 1}) ==
        "mode: trilinear is for volumes, the input has 2 axes of space; write linear");
  CHECK(forward_error("Upsample: {mode: bilinear}", {2, 3, 3, 3, 1}) ==
        "mode: bilinear is for images, the input has 3 axes of space; write linear");
  CHECK_THAT(forward_error("Upsample", {2, 3}), Contains("upsampling"));
  CHECK(layer("Upsample: 0") == "spec.yaml:1:11: Upsample.scale: 0 is not in [1, 256]");
  CHECK(forward_error("CropToFit", {2, 3, 3, 1}) ==
        "CropToFit takes two layers by name: inputs: [larger, smaller] gives the middle of the first, of the second's "
        "size");
}

TEST_CASE("biases of places are for images, and for layers that have biases") {
  CHECK(layer("Conv: {fshape: 3, nofm: 2, init: Kaiming, shared_bias: false}") ==
        "spec.yaml:1:7: Conv: shared_bias: false is about biases, and there is no bias; give bias: {Constant: 0}, or "
        "leave shared_bias out");
  const auto made = Registry<Layer>::get().create(
      yaml_of("Conv: {fshape: 3, nofm: 2, init: Kaiming, bias: {Constant: 0}, shared_bias: false}"));
  Graph graph;
  LayerContext context(graph, true, DType::f32, 0);
  const Expr x(graph, graph.input("x", DType::f32, {2, 5, 4}));
  context.mark_sequence(x);
  CHECK_THROWS_WITH(made->forward(context, x), Contains("shared_bias: false is for images and volumes"));
}

TEST_CASE("neon 0.9's names of layers are known") {
  for (const char* yaml :
       {"FCLayer: {nout: 3, weight_init: Kaiming}",
        "ConvLayer: {fshape: [3, 3], nofm: 2, stride: 1, weight_init: Kaiming}",
        "PoolingLayer: {op: max, fshape: [2, 2], stride: 2}", "DropOutLayer: {keep: 0.5}",
        "ActivationLayer: {activation: Tanh}", "CrossMapResponseNormLayer: {ksize: 3, alpha: 1, beta: 1}",
        "LocalContrastNormLayer: {ksize: 3, alpha: 1, beta: 1}", "SliceLayer: {end_idx: 3}",
        "CrossMapPoolingLayer: {nofm: 3, weight_init: Kaiming}"}) {
    INFO(yaml);
    CHECK(layer(yaml) == "");
  }
}

TEST_CASE("a wrong initialiser is one line with value, bound and nearest name") {
  CHECK_THAT(init("Gausian"), Contains("unknown initializer 'Gausian'; did you mean Gaussian"));
  CHECK(init("Gaussian: {scale: -1}") == "spec.yaml:1:19: Gaussian.scale: -1 is not at least 0");
  CHECK(init("Uniform: {low: 1, high: 0}") == "spec.yaml:1:10: Uniform: low 1 is above high 0");
  CHECK_THAT(init("Array"), Contains("'val' is missing"));
  CHECK_THAT(init("Array: [1, nan]"), Contains("expected a finite number, found 'nan'"));
  CHECK(init("Orthonormal: 0") == "spec.yaml:1:14: Orthonormal.scale: 0 is not above 0");
  CHECK_THAT(init("Constant: {vla: 1}"), Contains("did you mean val"));
}
