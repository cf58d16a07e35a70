// Convolution, which is cross-correlation as everywhere in this field, over two or three axes, channels last:
//   convolution(x, w) -> y                    y[n,p,k] = sum over r and c of x[n, p * stride - before + r * dilation,
//   c]
//                                                        w[k,r,c]
//   convolution_data_gradient(y, w) -> x      its adjoint in x, for an input of `sizes`; a deconvolution's forward
//   convolution_weight_gradient(x, y) -> w    its adjoint in w, for filters of `sizes`
// x (N,H,W,C), w (K,R,S,C/groups), y (N,P,Q,K). Each of several groups has its own share of C and of K. Every op is
// linear in both of its inputs, and its derivatives are again among the three ops.
#include "backends/graph/flops.h"
#include "backends/graph/ops.h"
#include "backends/graph/windows.h"

namespace neon {

namespace {

using Sizes = std::vector<int64_t>;

// The axes between the first and the last.
Sizes middle(const Shape& shape) { return {shape.begin() + 1, shape.end() - 1}; }

Shape around(int64_t first, const Sizes& sizes, int64_t last) {
  Sizes all = {first};
  all.insert(all.end(), sizes.begin(), sizes.end());
  all.push_back(last);
  return Shape(all);
}

void check_arrays(const InferContext& c, const char* what) {
  const TensorType &a = c.inputs[0], &b = c.inputs[1];
  if (a.shape.rank() != b.shape.rank() || a.shape.rank() < 4 || a.shape.rank() > 5)
    fail(ErrorKind::config, what, " takes two arrays of four or five axes, got shapes ", a.shape, " and ", b.shape);
  if (a.dtype != b.dtype || !is_floating(a.dtype))
    fail(ErrorKind::config, what, " takes two arrays of one floating type, got ", a.dtype, " and ", b.dtype);
}

// Channels of the input and of the output go evenly into groups.
int64_t checked_groups(const InferContext& c, int64_t channels, int64_t outputs) {
  const int64_t groups = c.attributes.integer("groups");
  if (groups < 1 || channels % groups || outputs % groups)
    fail(ErrorKind::config, channels, " channels and ", outputs, " feature maps do not go into ", groups,
         " groups evenly");
  return groups;
}

std::vector<TensorType> infer_convolution(const InferContext& c) {
  check_arrays(c, "convolution");
  const Shape &x = c.inputs[0].shape, &w = c.inputs[1].shape;
  const int64_t groups = checked_groups(c, x.back(), w[0]);
  if (w.back() * groups != x.back())
    fail(ErrorKind::config, "convolution of ", x, " in ", groups, " group", groups > 1 ? "s" : "", " takes filters of ",
         x.back() / groups, " channels, got ", w);
  const Sizes sizes = middle(x);
  return {{c.inputs[0].dtype, around(x[0], windows_of(c.attributes, middle(w)).outputs(sizes), w[0])}};
}

// Fails unless windows of `filter` over `input` give as many outputs as the cotangent has.
void check_outputs(const InferContext& c, const Sizes& filter, const Sizes& input, const Sizes& outputs) {
  const Sizes expected = windows_of(c.attributes, filter).outputs(input);
  if (expected != outputs)
    fail(ErrorKind::config, "windows of ", Shape(filter), " over ", Shape(input), " give ", Shape(expected), ", not ",
         Shape(outputs));
}

std::vector<TensorType> infer_data_gradient(const InferContext& c) {
  check_arrays(c, "the gradient of a convolution");
  const Shape &y = c.inputs[0].shape, &w = c.inputs[1].shape;
  const int64_t groups = c.attributes.integer("groups");
  if (y.back() != w[0])
    fail(ErrorKind::config, "an array of ", y.back(), " feature maps ", y, " and filters for ", w[0], " of them ", w,
         " do not go together");
  checked_groups(c, w.back() * groups, w[0]);
  const Sizes& sizes = c.attributes.integers("sizes");
  if (sizes.size() + 2 != size_t(y.rank()))
    fail(ErrorKind::config, "sizes ", Shape(sizes), " are not those of an array like ", y);
  check_outputs(c, middle(w), sizes, middle(y));
  return {{c.inputs[0].dtype, around(y[0], sizes, w.back() * groups)}};
}

std::vector<TensorType> infer_weight_gradient(const InferContext& c) {
  check_arrays(c, "the gradient of a convolution");
  const Shape &x = c.inputs[0].shape, &y = c.inputs[1].shape;
  if (x[0] != y[0]) fail(ErrorKind::config, "batches of ", x[0], " and ", y[0], " do not go together: ", x, " and ", y);
  const int64_t groups = checked_groups(c, x.back(), y.back());
  const Sizes& sizes = c.attributes.integers("sizes");
  if (sizes.size() + 2 != size_t(x.rank()))
    fail(ErrorKind::config, "sizes ", Shape(sizes), " are not those of filters for ", x);
  check_outputs(c, sizes, middle(x), middle(y));
  return {{c.inputs[0].dtype, around(y.back(), sizes, x.back() / groups)}};
}

Attributes attributes_of(const Windows& windows, int64_t groups, const Sizes& sizes = {}) {
  Sizes padding;
  for (size_t axis = 0; axis < windows.size.size(); ++axis) {
    padding.push_back(windows.before[axis]);
    padding.push_back(windows.after[axis]);
  }
  Attributes out = {
      {"strides", windows.strides}, {"padding", padding}, {"dilation", windows.dilation}, {"groups", groups}};
  return sizes.empty() ? out : out.with("sizes", sizes);
}

// The same windows in another of the three ops. The array named last only gives the sizes of the result.
struct Related {
  explicit Related(GradientContext& c, Value w)
      : graph(c.graph),
        windows(windows_of(c.node.attributes, middle(c.graph.shape(w)))),
        groups(c.node.attributes.integer("groups")) {}
  Value forward(Value x, Value w) const { return convolution(graph, x, w, windows, groups); }
  Value data_gradient(Value y, Value w, Value x) const {
    return deconvolution(graph, y, w, windows, groups, middle(graph.shape(x)));
  }
  Value weight_gradient(Value x, Value y) const {
    return graph.add(ops::convolution_weight_gradient, {x, y}, attributes_of(windows, groups, windows.size));
  }
  Graph& graph;
  const Windows windows;
  const int64_t groups;
};

void convolution_gradient(GradientContext& c) {
  const Value x = c.input(0), w = c.input(1), g = c.cotangent();
  const Related ops(c, w);
  if (c.wanted[0]) c.results[0] = ops.data_gradient(g, w, x);
  if (c.wanted[1]) c.results[1] = ops.weight_gradient(x, g);
}
void data_gradient_gradient(GradientContext& c) {
  const Value y = c.input(0), w = c.input(1), g = c.cotangent();
  const Related ops(c, w);
  if (c.wanted[0]) c.results[0] = ops.forward(g, w);
  if (c.wanted[1]) c.results[1] = ops.weight_gradient(g, y);
}
void weight_gradient_gradient(GradientContext& c) {
  const Value x = c.input(0), y = c.input(1), g = c.cotangent();
  const Related ops(c, g);
  if (c.wanted[0]) c.results[0] = ops.data_gradient(y, g, x);
  if (c.wanted[1]) c.results[1] = ops.forward(x, g);
}

// Each of y (N,P,Q,K) is a sum over what its filter, one of w (K,R,S,C/groups), sees; places in the padding count.
double flops_of_windows(const Graph& graph, Value y, Value w) {
  const Shape& filters = graph.shape(w);
  return flops_of_products(double(graph.shape(y).elements()), double(filters.slice(1, filters.rank()).elements()));
}
double flops_forward(const Graph& graph, const Node& node) {
  return flops_of_windows(graph, node.outputs[0], node.inputs[1]);
}
double flops_by_input(const Graph& graph, const Node& node) {
  return flops_of_windows(graph, node.inputs[0], node.inputs[1]);
}
double flops_by_filters(const Graph& graph, const Node& node) {
  return flops_of_windows(graph, node.inputs[1], node.outputs[0]);
}

const OpRegistration convolution_ops[] = {
    OpRegistration({ops::convolution,
                    infer_convolution,
                    convolution_gradient,
                    nullptr,
                    {.convolution = ConvolutionKind::forward, .takes_bias = true, .takes_relu = true, .writes_rows = 1},
                    flops_forward}),
    OpRegistration({ops::convolution_data_gradient,
                    infer_data_gradient,
                    data_gradient_gradient,
                    nullptr,
                    {.convolution = ConvolutionKind::by_input, .writes_rows = 1},
                    flops_by_input}),
    OpRegistration({ops::convolution_weight_gradient,
                    infer_weight_gradient,
                    weight_gradient_gradient,
                    nullptr,
                    {.convolution = ConvolutionKind::by_filters},
                    flops_by_filters}),
};

}  // namespace

Value convolution(Graph& graph, Value x, Value w, const Windows& windows, int64_t groups) {
  return graph.add(ops::convolution, {x, w}, attributes_of(windows, groups));
}

Value deconvolution(Graph& graph, Value y, Value w, const Windows& windows, int64_t groups, const Sizes& sizes) {
  return graph.add(ops::convolution_data_gradient, {y, w}, attributes_of(windows, groups, sizes));
}

}  // namespace neon
