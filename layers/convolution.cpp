// Convolution and Deconvolution: without bias, as neon had them. Weights are (K,R,S,C/groups), channels last like the
// images that they meet; a deconvolution's (C,R,S,K/groups).
#include "layers/convolution.h"

#include "layers/step_windows.h"

namespace neon {

namespace {

std::string written(const FilterParams& params) { return Value_of<AxisNumbers>::write(params.fshape).to_string(); }

// fshape is the filter's size, and its last number is nofm where that is not given.
Filter sizes_of(const FilterParams& params, int axes) {
  AxisNumbers size = params.fshape;
  int64_t maps = size.of('k', 0);
  if (int(size.list.size()) == axes + 1) {
    maps = size.list.back();
    size.list.pop_back();
  }
  if (params.nofm) {
    if (maps != 0 && maps != *params.nofm)
      fail(ErrorKind::config, "fshape ", written(params), " and nofm ", *params.nofm,
           " give different numbers of feature maps");
    maps = *params.nofm;
  }
  Filter out;
  out.windows.size = size.of_space(axes, 1, "fshape", "ck");
  if (maps == 0)
    fail(ErrorKind::config, "fshape ", written(params), " lacks the number of feature maps: give nofm, or [",
         axes == 3 ? "depth, " : "", axes == 1 ? "steps" : "height, width", ", feature maps]");
  if (size.of('c', 1) != 1)
    fail(ErrorKind::config, "fshape ", written(params), ": filters see all channels, leave J out");
  out.maps = maps;
  return out;
}

}  // namespace

Filter filter_of(const FilterParams& params, int axes) {
  Filter out = sizes_of(params, axes);
  out.windows.strides = params.strides.of_space(axes, 1, "strides");
  out.windows.dilation = params.dilation.of_space(axes, 1, "dilation");
  out.windows.before = out.windows.after = params.padding.of_space(axes, 0, "padding");
  return out;
}

namespace {

// Weights (first,filter...,last) in so many groups of `first`. A deconvolution's fans are those of the convolution that
// it undoes, the other way round, as Keras and PyTorch have them.
Expr weights(LayerContext& context, const FilterParams& params, const Filter& filter, int64_t first, int64_t last,
             int64_t groups, const std::string& name, const char* layer_class) {
  std::vector<int64_t> shape = {first};
  shape.insert(shape.end(), filter.windows.size.begin(), filter.windows.size.end());
  shape.push_back(last);
  const int64_t places = Shape(filter.windows.size).elements(), of_group = first / groups;
  const Expr w = context.parameter(
      {.name = name + "/W",
       .layer = name,
       .layer_class = layer_class,
       .shape = Shape(shape),
       .initializer = &*params.init,
       .fan = {.in = places * last, .out = places * of_group, .rows = places * last, .columns = of_group}});
  return params.binary ? apply("sign_ste", w) : w;
}

}  // namespace

namespace {

// Windows over the steps of sequences.
Windows step_windows(Windows windows, const ConvolutionParams& params) {
  if (!params.causal) return windows;
  if (windows.before[0] != 0)
    fail(ErrorKind::config, "causal: true puts as many zeros before a sequence as its filters need; leave padding out");
  windows.before[0] = windows.extent(0) - 1;
  return windows;
}

}  // namespace

namespace {

void check_groups(int64_t channels, int64_t maps, int64_t groups) {
  if (channels % groups || maps % groups)
    fail(ErrorKind::config, channels, " channels and ", maps, " feature maps do not go into ", groups,
         " groups evenly");
}

}  // namespace

Expr convolution(LayerContext& context, Expr x, const ConvolutionParams& params, const std::string& name) {
  const bool sequence = context.is_sequence(x);
  if (params.causal && !sequence)
    fail(ErrorKind::config, "causal: true is for sequences (T,F); the input is ", context.sample_shape(x),
         ", leave it out");
  Filter filter = filter_of(params, sequence ? 1 : axes_of_space(x, "convolution"));
  if (sequence) filter.windows = step_windows(filter.windows, params);
  if (sequence) check_step_windows(x, filter.windows, "filter");
  else check_windows(x, filter.windows, "filter");
  const int64_t channels = x.shape().back();
  check_groups(channels, filter.maps, params.groups);
  Expr w = weights(context, params, filter, filter.maps, channels / params.groups, params.groups, name, "Convolution");
  if (!sequence) return {x.graph(), convolution(x.graph(), x, w, filter.windows, params.groups)};
  const Shape row{filter.maps, 1, filter.windows.size[0], channels / params.groups};
  const Value y = convolution(context.graph, as_image_row(context, x, 0), reshape(w, row),
                              over_image_row(filter.windows), params.groups);
  return as_windowed_sequence(context, context.expr(y), x, filter.windows);
}

Expr deconvolution(LayerContext& context, Expr x, const GroupedFilterParams& params, const std::string& name) {
  const bool sequence = context.is_sequence(x);
  const Filter filter = filter_of(params, sequence ? 1 : axes_of_space(x, "deconvolution"));
  const Windows& windows = filter.windows;
  std::vector<int64_t> sizes = sequence ? std::vector{x.shape()[1]} : space(x);
  for (size_t i = 0; i < sizes.size(); ++i) {
    sizes[i] = (sizes[i] - 1) * windows.strides[i] - 2 * windows.before[i] + windows.extent(int(i));
    if (sizes[i] < 1)
      fail(ErrorKind::config, "deconvolution of ", x.shape().slice(1, x.shape().rank() - 1),
           " leaves nothing along axis ", i, ": padding of ", windows.before[i],
           " on both sides is too much for a filter of ", windows.size[i]);
  }
  const int64_t channels = x.shape().back();
  check_groups(channels, filter.maps, params.groups);
  Expr w =
      weights(context, params, filter, channels, filter.maps / params.groups, params.groups, name, "Deconvolution");
  if (!sequence) return {x.graph(), deconvolution(x.graph(), x, w, windows, params.groups, sizes)};
  const Shape row{channels, 1, windows.size[0], filter.maps / params.groups};
  const Value y = deconvolution(context.graph, as_image_row(context, x, 0), reshape(w, row), over_image_row(windows),
                                params.groups, {1, sizes[0]});
  return as_unwound_sequence(context, context.expr(y), x, windows);
}

namespace {

struct Convolution : Parametrized<Layer, ConvolutionParams> {
  explicit Convolution(ConvolutionParams given) : Parametrized(std::move(given)) {
    params.init = init_before({}, params.init);
  }
  Expr forward(LayerContext& context, Expr x) const override { return convolution(context, x, params, context.layer); }
  bool has_own_library() const override { return true; }
  Sight sight() const override { return params.causal ? Sight::before : Sight::any; }
};
NEON_REGISTER(
    Layer, Convolution,
    "Filters over images, volumes or sequences, without bias; a checkpoint holds W (K,R,S,C): maps, height, width, "
    "channels of a group; of sequences W (K,R,C).");

struct Deconvolution : Parametrized<Layer, GroupedFilterParams> {
  explicit Deconvolution(GroupedFilterParams given) : Parametrized(std::move(given)) {
    params.init = init_before({}, params.init);
  }
  Expr forward(LayerContext& context, Expr x) const override {
    return deconvolution(context, x, params, context.layer);
  }
  bool has_own_library() const override { return true; }
  Sight sight() const override { return Sight::any; }
};
NEON_REGISTER(
    Layer, Deconvolution,
    "A convolution backwards, from its outputs to a larger image, volume or sequence, without bias: an axis of n "
    "pixels "
    "or steps becomes (n - 1) stride - 2 padding + dilation (filter - 1) + 1. A checkpoint holds W (C,R,S,K): channels "
    "of the input, height, width, maps of a group; of sequences W (C,R,K).");

}  // namespace

}  // namespace neon
