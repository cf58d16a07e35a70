// Convolution and its gradients through oneDNN, activations with channels last, weights in the layout that the
// primitive asks for. Our own loops take the cases for which oneDNN has only reference code: that code is a thousand
// times slower than oneDNN's other code.
#include <algorithm>

#include "backends/cpu/amx.h"
#include "backends/cpu/onednn.h"
#include "backends/cpu/onednn_kernel.h"
#include "backends/cpu/onednn_part.h"
#include "backends/graph/ops.h"
#include "backends/graph/windows.h"

namespace neon::cpu {

namespace {

using dnnl::memory;
using dims = memory::dims;

// The arrays in oneDNN's order of axes: sizes (N,C,H,W), (K,C,R,S) and (G,K/G,C/G,R,S). The strides are those of the
// arrays in memory, channels last.
struct Description {
  Description(const Attributes& attributes, const Shape& x, const Shape& w, const Shape& y, memory::data_type type)
      : windows(windows_of(attributes, {w.begin() + 1, w.end() - 1})),
        x(array(x, type)),
        w(filters(w, attributes.integer("groups"), type)),
        y(array(y, type)),
        bias({w[0]}, type, memory::format_tag::a) {
    any_w = memory::desc(this->w.dims(), type, memory::format_tag::any);
    for (int64_t d : windows.dilation) dilation.push_back(d - 1);
  }

  static memory::desc array(const Shape& shape, memory::data_type type) {
    const int rank = shape.rank();
    dims sizes = {shape[0], shape.back()}, strides = {shape.slice(1, rank).elements(), 1};
    for (int axis = 1; axis < rank - 1; ++axis) {
      sizes.push_back(shape[axis]);
      strides.push_back(shape.slice(axis + 1, rank).elements());
    }
    return {sizes, type, strides};
  }

  static memory::desc filters(const Shape& shape, int64_t groups, memory::data_type type) {
    if (groups == 1) return array(shape, type);
    const Shape one = shape.with(0, shape[0] / groups);
    const memory::desc of_group = array(one, type);
    dims sizes = of_group.dims(),
         strides(of_group.data.format_desc.blocking.strides, of_group.data.format_desc.blocking.strides + sizes.size());
    sizes.insert(sizes.begin(), groups);
    strides.insert(strides.begin(), one.elements());
    return {sizes, type, strides};
  }

  dnnl::convolution_forward::primitive_desc forward(bool with_bias, const dnnl::primitive_attr& attributes) const {
    using desc = dnnl::convolution_forward::desc;
    const auto kind = dnnl::prop_kind::forward_training;
    const auto algorithm = dnnl::algorithm::convolution_direct;
    const auto made =
        with_bias ? desc(kind, algorithm, x, any_w, bias, y, windows.strides, dilation, windows.before, windows.after)
                  : desc(kind, algorithm, x, any_w, y, windows.strides, dilation, windows.before, windows.after);
    dnnl::convolution_forward::primitive_desc chosen(made, attributes, onednn_engine());  // next_impl looks at `made`
    while (steps_wrongly(chosen.impl_info_str()))
      if (!chosen.next_impl()) throw dnnl::error(dnnl_unimplemented, "no other primitive");
    if (suits_few_channels_worse(chosen.impl_info_str()))
      if (decltype(chosen) other(made, attributes, onednn_engine());
          other.next_impl() && std::string_view(other.impl_info_str()).starts_with("jit"))
        return other;
    return chosen;
  }

  // Whether the kernel that oneDNN has for first layers, which it asks after this one, is likely the faster. In 24
  // cases of one to three channels on Zen 5 it took 0.57 to 0.99 of the time where filters step by one, else 1.00
  // to 1.05.
  bool suits_few_channels_worse(std::string_view implementation) const {
    constexpr int64_t kFewChannels = 3;
    const bool of_products = implementation == "brgconv:avx512_core" || implementation == "brgconv:avx512_core_bf16";
    return of_products && x.dims()[1] <= kFewChannels &&
           std::ranges::all_of(windows.strides, [](int64_t stride) { return stride == 1; });
  }

  // Whether the weights' gradient by this implementation writes past its scratch memory. oneDNN (2.6 to 3.12 at least,
  // its issue 6035) counts the channels there are, and addresses as many as fill a vector, where a 1x1 filter steps.
  bool overruns(std::string_view implementation) const {
    constexpr int64_t kMostInVector = 16;
    return implementation.starts_with("jit_1x1") && x.dims()[1] < kMostInVector && any_above_one(windows.strides);
  }

  // Whether the convolution by this implementation is wrong for some shapes where the filter steps (oneDNN's at least
  // to 3.12, PyTorch's issue 169688). Seen in one of twenty drawn shapes, with zeros in place of sums.
  bool steps_wrongly(std::string_view implementation) const {
    return implementation == "brgconv:avx512_core_amx_bf16" && any_above_one(windows.strides);
  }

  // Whether the weights' gradient in bf16 by this implementation may take pixels that are not the filter's: where taps
  // lie apart, with AMX of each shape of more than 32 channels that was drawn, and without of one in thirty large ones;
  // and in 3-D where filters step, when it also takes what lies outside of the images.
  bool takes_other_pixels(std::string_view implementation) const {
    return x.data_type() == memory::data_type::bf16 && implementation.starts_with("jit") &&
           (any_above_one(windows.dilation) || (windows.axes() == 3 && any_above_one(windows.strides)));
  }

  // Whether this implementation in bf16 takes longer than one in f32 with all conversions. `jit_bf16` fills a vector
  // with zeros behind the channels of a group: gradients of 5x5 filters, one for each channel, took 12 times as long,
  // and 3x3 filters with groups of 4 to 20 channels 1.3 to 2.5 times. Products of patches, for taps that lie apart,
  // took 3 times as long with 32 channels, as long with 128, and half as long with 512.
  bool is_faster_in_f32(std::string_view implementation) const {
    constexpr int64_t kVector = 16, kManyChannels = 128;
    const bool grouped = any_w.dims().size() > x.dims().size();
    const int64_t groups = grouped ? any_w.dims()[0] : 1, in = x.dims()[1] / groups, out = y.dims()[1] / groups;
    if (implementation.starts_with("jit_bf16")) return grouped && (in % kVector != 0 || out % kVector != 0);
    return implementation.starts_with("x64:gemm") && std::min(in, out) < kManyChannels;
  }

  static bool any_above_one(const std::vector<int64_t>& numbers) {
    return std::ranges::any_of(numbers, [](int64_t number) { return number > 1; });
  }

  Windows windows;
  memory::desc x, w, y, bias, any_w;
  dims dilation;  // oneDNN's 0 is our 1
};

class OnednnConvolution : public OnednnKernel {
 public:
  OnednnConvolution(const LoweredKernel& kernel, Context& context, memory::data_type type)
      : OnednnKernel(kernel, context, type) {
    const Shape &a = context.type(kernel.inputs[0]).shape, &b = context.type(kernel.inputs[1]).shape,
                &c = context.type(kernel.outputs[0]).shape;
    const ConvolutionKind kind = kernel.convolution();
    if (kind == ConvolutionKind::forward) forward(kernel, {kernel.attributes, a, b, c, type});
    else if (kind == ConvolutionKind::by_input) data_gradient(kernel, {kernel.attributes, c, b, a, type});
    else weight_gradient(kernel, {kernel.attributes, a, c, b, type});
  }
  bool is_reference() const { return implementation().starts_with("onednn:ref"); }
  bool is_faster_in_f32() const { return faster_in_f32_; }

 private:
  void choose(const Description& d, const dnnl::primitive& primitive, const dnnl::primitive_desc_base& made) {
    set_primitive(primitive, made);
    faster_in_f32_ = type() == memory::data_type::bf16 && d.is_faster_in_f32(made.impl_info_str());
  }

  void forward(const LoweredKernel& kernel, const Description& d) {
    const auto made = d.forward(bool(kernel.bias()), attributes());
    choose(d, dnnl::convolution_forward(made), made);
    read(DNNL_ARG_SRC, kernel.inputs[0], d.x, d.x);
    read(DNNL_ARG_WEIGHTS, kernel.inputs[1], d.w, made.weights_desc());
    if (kernel.bias()) read(DNNL_ARG_BIAS, kernel.bias(), d.bias, d.bias);
    write(DNNL_ARG_DST, kernel.outputs[0], d.y, d.y);
  }

  void data_gradient(const LoweredKernel& kernel, const Description& d) {
    using Primitive = dnnl::convolution_backward_data;
    const Primitive::desc desc(dnnl::algorithm::convolution_direct, d.x, d.any_w, d.y, d.windows.strides, d.dilation,
                               d.windows.before, d.windows.after);
    const Primitive::primitive_desc made(desc, attributes(), onednn_engine(), d.forward(false, attributes()));
    choose(d, Primitive(made), made);
    read(DNNL_ARG_DIFF_DST, kernel.inputs[0], d.y, d.y);
    read(DNNL_ARG_WEIGHTS, kernel.inputs[1], d.w, made.weights_desc());
    write(DNNL_ARG_DIFF_SRC, kernel.outputs[0], d.x, d.x);
  }

  void weight_gradient(const LoweredKernel& kernel, const Description& d) {
    using Primitive = dnnl::convolution_backward_weights;
    const Primitive::desc desc(dnnl::algorithm::convolution_direct, d.x, d.any_w, d.y, d.windows.strides, d.dilation,
                               d.windows.before, d.windows.after);
    const auto hint = d.forward(false, attributes());  // looked at by next_impl, too
    Primitive::primitive_desc made(desc, attributes(), onednn_engine(), hint);
    while (d.overruns(made.impl_info_str()) || d.takes_other_pixels(made.impl_info_str()))
      if (!made.next_impl()) throw dnnl::error(dnnl_unimplemented, "no other primitive");
    choose(d, Primitive(made), made);
    read(DNNL_ARG_SRC, kernel.inputs[0], d.x, d.x);
    read(DNNL_ARG_DIFF_DST, kernel.inputs[1], d.y, d.y);
    write(DNNL_ARG_DIFF_WEIGHTS, kernel.outputs[0], d.w, made.diff_weights_desc());
  }

  bool faster_in_f32_ = false;
};

// Null where oneDNN has no primitive, or none that is worth it.
std::unique_ptr<OnednnConvolution> make_of(const LoweredKernel& kernel, Context& context, memory::data_type type) try {
  auto made = std::make_unique<OnednnConvolution>(kernel, context, type);
  return made->is_reference() ? nullptr : std::move(made);
} catch (const dnnl::error& error) {
  if (error.status == dnnl_unimplemented) return nullptr;
  throw;
}

}  // namespace

std::unique_ptr<Kernel> make_onednn_convolution(const LoweredKernel& kernel, Context& context) {
  const DType dtype = context.type(kernel.outputs[0]).dtype;
  std::unique_ptr<OnednnConvolution> in_bf16;
  if (dtype == DType::bf16 && has_bf16()) in_bf16 = make_of(kernel, context, memory::data_type::bf16);
  if (in_bf16 && !in_bf16->is_faster_in_f32()) return in_bf16;
  if (kernel.convolution() == ConvolutionKind::by_filters)
    if (auto made = make_pixel_gradient(kernel, context)) return made;
  if (auto made = make_of(kernel, context, memory::data_type::f32)) return made;
  return in_bf16;
}

}  // namespace neon::cpu
