// x (N,C,H,W), w (K,C,R,S) and y (N,K,P,Q) to cuDNN, with the strides of arrays whose channels come last.
#include "backends/cuda/convolution.h"

#include <algorithm>

#include "backends/cuda/cudnn_plan.h"
#include "backends/cuda/disk_cache.h"
#include "backends/cuda/timing.h"
#include "backends/graph/windows.h"
#include "neon/core/error.h"

namespace neon::cuda {

namespace {

constexpr size_t kTimedPlans = 12;
constexpr size_t kRelus = 4;                 // among as many plans is one whose relu keeps NaN
constexpr size_t kSlack = size_t(16) << 20;  // what arrays may take beyond their bytes
// What a plan's workspace may take: a share of the GPU's memory, within these bounds in bytes.
constexpr size_t kWorkspaceShare = 8, kLeastWorkspace = size_t(512) << 20, kMostWorkspace = size_t(4) << 30;
enum Id : int64_t { kA = 1, kB, kC, kBias, kSum, kBiased };

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

const Kind& kind_of(const std::string& op) {
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
  return op == "convolution" ? forward : op == "convolution_data_gradient" ? data : weights;
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

class ConvolutionKernel : public LibraryKernel {
 public:
  explicit ConvolutionKernel(std::shared_ptr<Device> device)
      : device_(std::move(device)), handle_(cudnn_handle(*device_)) {}
  const char* library() const override { return "cudnn"; }
  size_t workspace_bytes() const override { return plan_.front().workspace_bytes(); }

  // False when there is no engine for it.
  bool prepare(const LoweredKernel& kernel, const Graph& graph, const LibraryOptions& options) {
    const TensorType &a = graph.type(kernel.inputs[0]), &b = graph.type(kernel.inputs[1]),
                     &c = graph.type(kernel.outputs[0]);
    has_bias_ = bool(kernel.bias);
    const TensorType bias = has_bias_ ? graph.type(kernel.bias) : TensorType{a.dtype, {0}};
    const bool tf32 = options.tf32 && a.dtype == DType::f32;
    const DiskCache cache("honest plan", text(device_->name(), " cudnn ", cudnn().version()));
    PlanNeeds needs;
    needs.exact_f32 = a.dtype == DType::f32 && !options.tf32;
    needs.deterministic = !options.timed;
    needs.most_workspace = convolution_workspace(*device_);
    const std::string key = text(kernel.op, " ", a, " ", b, " ", c, " ", kernel.attributes, has_bias_ ? " bias " : "",
                                 has_bias_ ? text(bias.dtype) : "", kernel.relu ? " relu" : "", tf32 ? " tf32" : "",
                                 options.timed ? " timed" : "", " workspace ", needs.most_workspace);
    if (std::string known; cache.read(key, known)) {
      plan_ = Plan::from_json(handle_, known);
      if (!plan_.empty()) return true;
    }
    if (options.cold) options.cold->begin();
    const size_t most = options.timed ? kTimedPlans : 1;
    plan_ = plans(kernel, a, b, c, bias, needs, kernel.relu ? std::max(most, kRelus) : most);
    if (plan_.empty()) return false;
    const bool seen = !kernel.relu || keep_honest(a, b, c, bias, most);
    const bool settled = plan_.size() == 1 || keep_fastest(a, b, c, bias);
    if (seen && settled) cache.write(key, plan_.front().json());
    return true;
  }

  void launch(const void* a, const void* b, const void* bias, void* c, void* workspace) override {
    execute(plan_.front(), a, b, bias, c, workspace);
  }

 private:
  void execute(const Plan& plan, const void* a, const void* b, const void* bias, void* c, void* workspace) const {
    std::vector<int64_t> ids = {kA, kB, kC};
    std::vector<void*> addresses = {const_cast<void*>(a), const_cast<void*>(b), c};
    if (has_bias_) ids.push_back(kBias), addresses.push_back(const_cast<void*>(bias));
    plan.execute(handle_, ids, addresses, workspace);
  }

  std::vector<Plan> plans(const LoweredKernel& kernel, const TensorType& a, const TensorType& b, const TensorType& c,
                          const TensorType& bias, const PlanNeeds& needs, size_t most) const {
    const Shape& w = kernel.op == "convolution_weight_gradient" ? c.shape : b.shape;
    const Windows windows = windows_of(kernel.attributes, {w.begin() + 1, w.end() - 1});
    const Kind& kind = kind_of(kernel.op);
    const cudnnDataType_t type = data_type(a.dtype);
    const Descriptor left = tensor(kA, a.shape, type), right = tensor(kB, b.shape, type),
                     result = tensor(kC, c.shape, type);
    const Descriptor sum = tensor(kSum, c.shape, CUDNN_DATA_FLOAT, true),
                     biased = tensor(kBiased, c.shape, CUDNN_DATA_FLOAT, true);
    const bool more = has_bias_ || kernel.relu;
    Descriptor operation(kind.type);
    operation.set(kind.alpha, 1.0f);
    operation.set(kind.beta, 0.0f);
    operation.set(kind.windows, convolution_of(windows));
    operation.set(kind.a, left);
    operation.set(kind.b, right);
    operation.set(kind.c, more ? sum : result);
    if (!operation.try_finalize()) return {};
    std::vector<Descriptor> rest;
    if (has_bias_) {
      std::vector<int64_t> ones(size_t(c.shape.rank()), 1);
      ones.back() = c.shape.back();
      const Descriptor offsets = tensor(kBias, Shape(ones), data_type(bias.dtype));
      rest.push_back(pointwise(CUDNN_POINTWISE_ADD, sum, &offsets, kernel.relu ? biased : result));
    }
    if (kernel.relu) rest.push_back(pointwise(CUDNN_POINTWISE_RELU_FWD, has_bias_ ? biased : sum, nullptr, result));
    std::vector<const Descriptor*> operations = {&operation};
    for (const Descriptor& one : rest) operations.push_back(&one);
    return make_plans(handle_, operations, needs, most);
  }

  // The first that keep NaN, or the first where none does. Returns whether there was room to see it.
  bool keep_honest(const TensorType& a, const TensorType& b, const TensorType& c, const TensorType& bias, size_t most) {
    size_t bytes = 0;
    for (const Plan& plan : plan_) bytes = std::max(bytes, plan.workspace_bytes());
    std::vector<Plan> honest;
    if (a.bytes() + b.bytes() + c.bytes() + bias.bytes() + bytes + kSlack > device_->free_bytes()) {
      keep(most);
      return false;
    }
    const Memory left = broken(device_, a), right = broken(device_, b), offsets = broken(device_, bias),
                 result(device_, c.bytes(), "timing"), workspace(device_, bytes, "timing");
    for (Plan& plan : plan_) {
      if (honest.size() == most) break;
      execute(plan, left.data(), right.data(), offsets.data(), result.data(), workspace.data());
      if (is_broken(result, c.dtype)) honest.push_back(std::move(plan));
    }
    if (!honest.empty()) plan_ = std::move(honest);
    keep(most);
    return true;
  }
  void keep(size_t most) {
    while (plan_.size() > most) plan_.pop_back();
  }

  // Of those whose workspace finds room now; returns whether all did. Where none does, taking it says so.
  bool keep_fastest(const TensorType& a, const TensorType& b, const TensorType& c, const TensorType& bias) {
    const Memory left = varied(device_, a), right = varied(device_, b), result(device_, c.bytes(), "timing"),
                 offsets = varied(device_, bias);
    const size_t candidates = plan_.size(), free = device_->free_bytes();
    const auto fits = [&](const Plan& plan) { return plan.workspace_bytes() <= free; };
    if (std::ranges::any_of(plan_, fits)) std::erase_if(plan_, [&](const Plan& plan) { return !fits(plan); });
    const bool all = plan_.size() == candidates;
    size_t bytes = 0;
    for (const Plan& plan : plan_) bytes = std::max(bytes, plan.workspace_bytes());
    const Memory workspace(device_, bytes, "timing");
    const size_t fastest = fastest_of(*device_, plan_.size(), [&](size_t i) {
      execute(plan_[i], left.data(), right.data(), offsets.data(), result.data(), workspace.data());
    });
    std::swap(plan_.front(), plan_[fastest]);
    keep(1);
    return all;
  }

  std::shared_ptr<Device> device_;
  cudnnHandle_t handle_;
  std::vector<Plan> plan_;  // one, once prepared
  bool has_bias_ = false;
};

}  // namespace

bool has_uneven_padding(const Attributes& attributes) {
  const auto& padding = attributes.integers("padding");
  for (size_t i = 0; i < padding.size(); i += 2)
    if (padding[i] != padding[i + 1]) return true;
  return false;
}

size_t convolution_workspace(const Device& device) {
  return std::clamp(device.bytes() / kWorkspaceShare, kLeastWorkspace, kMostWorkspace);
}

size_t convolution_version() { return cudnn().version(); }

std::unique_ptr<LibraryKernel> make_convolution(const LoweredKernel& kernel, const Graph& graph,
                                                std::shared_ptr<Device> device, const LibraryOptions& options) {
  const TensorType &a = graph.type(kernel.inputs[0]), &c = graph.type(kernel.outputs[0]);
  if (a.shape.elements() == 0 || c.shape.elements() == 0 || a.dtype == DType::f64) return nullptr;
  // Seen with cuDNN 9.19: with groups and other padding before than after, gradients of filters have wrong values.
  if (kernel.attributes.integer("groups") > 1 && has_uneven_padding(kernel.attributes)) return nullptr;
  auto made = std::make_unique<ConvolutionKernel>(std::move(device));
  if (!made->prepare(kernel, graph, options)) return nullptr;
  return made;
}

}  // namespace neon::cuda
