// x (N,C,H,W), w (K,C,R,S) and y (N,K,P,Q) to cuDNN, with the strides of arrays whose channels come last.
#include "backends/cuda/convolution_case.h"

#include <algorithm>

#include "backends/graph/windows.h"

namespace neon::cuda {

namespace {

constexpr size_t kTimedPlans = 12, kTimedExact = 32;  // in exact f32 the heuristic puts the fastest far behind
constexpr int64_t kLargeBatch = 2048;                 // images; with as many heuristic B chooses well
// Operations beyond which the plain engine is not timed: seen on an H200 it does 5e10 to 5e11 a second, so that these
// take it 20 ms and more, others 1 ms and less.
constexpr double kSparing = 1e10;
constexpr size_t kPixelBytes = 16;
constexpr size_t kRelus = 4;  // among as many plans is one whose relu keeps NaN
enum Id : int64_t { kA = 1, kB, kC, kBias, kAddend, kSum, kAdded, kBiased };

cudnnDataType_t data_type(DType dtype) {
  return dtype == DType::f32 ? CUDNN_DATA_FLOAT : dtype == DType::f16 ? CUDNN_DATA_HALF : CUDNN_DATA_BFLOAT16;
}

// An array whose last axis cuDNN has second.
Descriptor tensor(int64_t id, const Shape& shape, cudnnDataType_t type, bool is_virtual = false) {
  std::vector<int64_t> sizes = {shape[0], shape.back()}, strides = {shape.elements() / shape[0], 1};
  int64_t stride = shape.back();
  std::vector<int64_t> inner;
  for (int axis = shape.rank() - 2; axis > 0; --axis) inner.insert(inner.begin(), stride), stride *= shape[axis];
  for (int axis = 1; axis + 1 < shape.rank(); ++axis)
    sizes.push_back(shape[axis]), strides.push_back(inner[size_t(axis) - 1]);
  Descriptor out(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  out.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
  out.set(CUDNN_ATTR_TENSOR_DATA_TYPE, type);
  out.set(CUDNN_ATTR_TENSOR_DIMENSIONS, sizes);
  out.set(CUDNN_ATTR_TENSOR_STRIDES, strides);
  out.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, int64_t(16));
  if (is_virtual) out.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, true);
  out.finalize();
  return out;
}

Descriptor convolution_of(const Windows& windows) {
  Descriptor out(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  out.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT);
  out.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, &mode);
  out.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, int64_t(windows.axes()));
  out.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, windows.dilation);
  out.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, windows.strides);
  out.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, windows.before);
  out.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, windows.after);
  out.finalize();
  return out;
}

// The attributes of the three operations have the same order: alpha, beta, windows, then their arrays.
struct Kind {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t alpha, beta, windows, a, b, c;
};

const Kind& kind_of(const Op& op) {
  static const Kind forward = {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y};
  static const Kind data = {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
                            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA,
                            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
                            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
                            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX};
  static const Kind weights = {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
                               CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW};
  const ConvolutionKind kind = op.traits.convolution;
  return kind == ConvolutionKind::forward ? forward : kind == ConvolutionKind::by_input ? data : weights;
}

Descriptor pointwise(cudnnPointwiseMode_t mode, const Descriptor& x, const Descriptor* b, const Descriptor& y) {
  Descriptor function(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  function.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, &mode);
  function.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT);
  function.finalize();
  Descriptor out(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  out.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, function);
  out.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
  if (b) out.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b);
  out.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
  out.finalize();
  return out;
}

}  // namespace

ConvolutionCase::ConvolutionCase(const LoweredKernel& kernel, const Graph& graph, const LibraryOptions& options,
                                 size_t most_bytes)
    : op(kernel.op),
      attributes(kernel.attributes),
      a(graph.type(kernel.inputs[0])),
      b(graph.type(kernel.inputs[1])),
      c(graph.type(kernel.outputs[0])),
      bias(kernel.bias() ? graph.type(kernel.bias()) : TensorType{a.dtype, {0}}),
      has_bias(bool(kernel.bias())),
      has_addend(bool(kernel.addend())),
      relu(kernel.relu()),
      tf32(options.tf32 && a.dtype == DType::f32),
      timed(options.timed),
      most_workspace(most_bytes) {}

std::string ConvolutionCase::key() const {
  return text(op->name, " ", a, " ", b, " ", c, " ", attributes, has_bias ? " bias " : "",
              has_bias ? text(bias.dtype) : "", has_addend ? " addend" : "", relu ? " relu" : "", tf32 ? " tf32" : "",
              timed ? text(" timed ", most_timed()) : "", adds ? " adds" : "", " workspace ", most_workspace);
}

bool ConvolutionCase::is_exact() const { return a.dtype == DType::f32 && !tf32; }

ConvolutionCase ConvolutionCase::of_images(int64_t images) const {
  ConvolutionCase out = *this;
  for (TensorType* type : {&out.a, out.is_of_filters() ? &out.b : &out.c}) type->shape = type->shape.with(0, images);
  return out;
}

// Seen with cuDNN 9.19: tensor cores are given arrays as they are where each pixel begins at 16 bytes.
bool ConvolutionCase::is_copied() const {
  const auto is_aligned = [](const TensorType& type) {
    return size_t(type.shape.back()) * size_of(type.dtype) % kPixelBytes == 0;
  };
  return is_exact() || attributes.integer("groups") > 1 || !is_aligned(a) || !is_aligned(other_batch());
}

double ConvolutionCase::arithmetic() const {
  // Each number of y (N,P,Q,K), or of its gradient, has to do with R S C of the filters'.
  const Shape &y = is_of_filters()                                      ? b.shape
                   : op->traits.convolution == ConvolutionKind::forward ? c.shape
                                                                        : a.shape,
              &w = filters().shape;
  return w[0] == 0 ? 0 : 2.0 * double(y.elements()) * double(w.elements() / w[0]);
}

size_t ConvolutionCase::most_timed() const { return !timed ? 1 : is_exact() ? kTimedExact : kTimedPlans; }

std::vector<Plan> ConvolutionCase::plans(cudnnHandle_t handle) const {
  const Shape& w = filters().shape;
  const Windows windows = windows_of(attributes, {w.begin() + 1, w.end() - 1});
  const Kind& kind = kind_of(*op);
  const cudnnDataType_t type = data_type(a.dtype);
  const Descriptor left = tensor(kA, a.shape, type), right = tensor(kB, b.shape, type),
                   result = tensor(kC, c.shape, type), addend = tensor(kAddend, c.shape, type);
  const Descriptor sum = tensor(kSum, c.shape, CUDNN_DATA_FLOAT, true),
                   added = tensor(kAdded, c.shape, CUDNN_DATA_FLOAT, true),
                   biased = tensor(kBiased, c.shape, CUDNN_DATA_FLOAT, true);
  const bool more = has_bias || has_addend || relu;
  Descriptor operation(kind.type);
  operation.set(kind.alpha, 1.0f);
  operation.set(kind.beta, adds ? 1.0f : 0.0f);
  operation.set(kind.windows, convolution_of(windows));
  operation.set(kind.a, left);
  operation.set(kind.b, right);
  operation.set(kind.c, more ? sum : result);
  if (!operation.try_finalize()) return {};
  std::vector<Descriptor> rest;
  const Descriptor* last = &sum;
  if (has_addend) {
    const Descriptor& next = has_bias || relu ? added : result;
    rest.push_back(pointwise(CUDNN_POINTWISE_ADD, *last, &addend, next));
    last = &next;
  }
  if (has_bias) {
    std::vector<int64_t> ones(size_t(c.shape.rank()), 1);
    ones.back() = c.shape.back();
    const Descriptor offsets = tensor(kBias, Shape(ones), data_type(bias.dtype));
    const Descriptor& next = relu ? biased : result;
    rest.push_back(pointwise(CUDNN_POINTWISE_ADD, *last, &offsets, next));
    last = &next;
  }
  if (relu) rest.push_back(pointwise(CUDNN_POINTWISE_RELU_FWD, *last, nullptr, result));
  std::vector<const Descriptor*> operations = {&operation};
  for (const Descriptor& one : rest) operations.push_back(&one);
  PlanNeeds needs;
  needs.exact_f32 = is_exact();
  needs.deterministic = !timed;
  needs.large_batch = a.shape[0] > kLargeBatch;
  // With relu it may be the only one that keeps NaN.
  needs.spares_plain = timed && !relu && arithmetic() > kSparing;
  needs.most_workspace = most_workspace;
  return make_plans(handle, operations, needs, relu ? std::max(most_timed(), kRelus) : most_timed());
}

void ConvolutionCase::execute(cudnnHandle_t handle, const Plan& plan, const Operands& at, void* workspace) const {
  std::vector<int64_t> ids = {kA, kB, kC};
  std::vector<void*> addresses = {const_cast<void*>(at.a), const_cast<void*>(at.b), at.c};
  if (has_bias) ids.push_back(kBias), addresses.push_back(const_cast<void*>(at.bias));
  if (has_addend) ids.push_back(kAddend), addresses.push_back(const_cast<void*>(at.addend));
  plan.execute(handle, ids, addresses, workspace);
}

}  // namespace neon::cuda
