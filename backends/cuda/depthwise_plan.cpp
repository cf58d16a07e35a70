#include "backends/cuda/depthwise_plan.h"

#include <algorithm>
#include <set>

#include "backends/cuda/depthwise_source.h"
#include "backends/cuda/pixel_code.h"

namespace neon::cuda {

namespace {

constexpr int64_t kMostTaps = 7;  // of a filter along an axis
constexpr int64_t kMostStride = 3;
constexpr int64_t kMostRegisters = 114;              // of 128, for sums, filters and what is read
constexpr int64_t kRowsOfStart = 2;                  // in whose time a thread reads its filters
constexpr int64_t kAhead = 2;                        // groups of rows that are asked for before they are taken
constexpr int64_t kLeastCopy = 4;                    // bytes of a copy to shared memory
constexpr int64_t kLeastWidth = 2, kLeastStrip = 2;  // of a thread that makes both gradients
constexpr int64_t kMostImageTurns = 2;               // that a number of an image is computed
constexpr int64_t kUsualStrip = 4;                   // columns

DepthwiseArrays arrays_of(const LoweredKernel& kernel) {
  const ConvolutionKind kind = kernel.traits().convolution;
  if (kind == ConvolutionKind::by_input) return {kernel.outputs[0], kernel.inputs[1], kernel.inputs[0]};
  const Attachment* computed = kernel.find(Attachment::Kind::prologue);
  const Value x = computed ? computed->value : kernel.inputs[0], other = kernel.inputs[computed ? 0 : 1];
  return kind == ConvolutionKind::forward ? DepthwiseArrays{x, other, kernel.outputs[0]}
                                          : DepthwiseArrays{x, kernel.outputs[0], other};
}

DepthwiseShapes shapes_of(const LoweredKernel& kernel, const Graph& graph) {
  const DepthwiseArrays arrays = arrays_of(kernel);
  return {graph.shape(arrays.x), graph.shape(arrays.w), graph.shape(arrays.y)};
}

Windows windows_of(const LoweredKernel& kernel, const DepthwiseShapes& shapes) {
  return windows_of(kernel.attributes, {shapes.w.begin() + 1, shapes.w.end() - 1});
}

int64_t open_rows(const Windows& windows) { return quotient_up(windows.size[0], windows.strides[0]); }

// Columns of the results' gradient that see a strip of the image.
int64_t seeing_columns(const Windows& windows, int64_t strip) {
  const int64_t stride = windows.strides[1];
  return (windows.size[1] - 1) / stride + (strip - 1) / stride + 1;
}

// Packs that a thread reads of a group of rows.
int64_t packs_of_group(const LoweredKernel& kernel, const Windows& windows, int64_t strip) {
  const int64_t of_image = windows.strides[0] * ((strip - 1) * windows.strides[1] + windows.size[1]);
  if (kernel.convolution() == ConvolutionKind::forward) return of_image;
  if (kernel.convolution() == ConvolutionKind::by_filters) return of_image + strip;
  const bool both = kernel.takes(Attachment::Kind::filters);
  return seeing_columns(windows, strip) + (both ? windows.strides[0] * strip : 0);
}

// Registers that a thread has for each channel, to compute its image and to fold its gradient.
int64_t registers_of_channel(const LoweredKernel& kernel) {
  std::set<Value> read;
  for (const FusedKernel* code : {kernel.prologue(), kernel.folds()})
    if (code) read.merge(PixelCode::channels_of(*code));
  return int64_t(read.size() + (kernel.folds() ? kernel.folds()->segments[0].stores.size() : 0));
}

// Registers for what a thread keeps of so many channels and columns: sums, filters, and what it has read of a group of
// rows and of the next. Both gradients also need rows of the results' gradient, and sums of the filter's.
int64_t registers(const LoweredKernel& kernel, const Windows& windows, int64_t width, int64_t strip,
                  int64_t bytes_of_pack) {
  const bool to_image = kernel.convolution() == ConvolutionKind::by_input;
  const int64_t places = windows.size[0] * windows.size[1];
  const int64_t read = 2 * packs_of_group(kernel, windows, strip) * quotient_up(bytes_of_pack, 4);
  const int64_t of_channels = (places + registers_of_channel(kernel)) * width;
  if (kernel.takes(Attachment::Kind::filters))
    return (open_rows(windows) * seeing_columns(windows, strip) + places) * width + of_channels + read;
  return open_rows(windows) * (to_image ? windows.strides[0] : 1) * strip * width + of_channels + read;
}

}  // namespace

DepthwisePlan::DepthwisePlan(const LoweredKernel& kernel, SourceContext& context)
    : kernel_(kernel),
      arrays_(arrays_of(kernel)),
      shapes_(shapes_of(kernel, context.lowered.graph)),
      windows_(windows_of(kernel, shapes_)),
      code_(context, DType::f32),
      processors_(context.processors) {
  choose_width_and_strip();
  choose_ahead(context.arch);
}

int64_t DepthwisePlan::sums() const {
  return places() + (kernel_.folds() ? int64_t(kernel_.folds()->segments[0].stores.size()) : 0);
}

void DepthwisePlan::choose_width_and_strip() {
  const int64_t most = code_.neighbours(operands(kernel_)), channels = shapes_.x.back();
  const auto takes = [&](int64_t width, int64_t strip) {
    width_ = int(width), strip_ = strip;
    return width <= most && channels % width == 0 &&
           registers(kernel_, windows_, width, strip, pack_bytes(width)) <= kMostRegisters;
  };
  // Columns beside a strip are computed again: few channels of a long strip take less time. (128,56,56,144) in f16 took
  // 94 us with 4 channels of 2 columns on an H200, 86 with 2 of 8.
  const int64_t columns = shapes_.y[2], odd = quotient_up(columns, 7) * 7;
  const bool computes = kernel_.convolution() == ConvolutionKind::forward && kernel_.prologue();
  if (computes && windows_.strides[1] == 1 && takes(2, quotient_up(columns, 8) * 8 <= odd ? 8 : 7)) return;
  const int64_t stride = kernel_.convolution() == ConvolutionKind::by_input ? windows_.strides[1] : 1;
  for (const int64_t width : {4, 2, 1})
    for (const int64_t few : {4, 2})
      if (takes(width, quotient_up(few, stride) * stride)) return;
}

void DepthwisePlan::choose_ahead(int arch) {
  if (kernel_.convolution() == ConvolutionKind::by_filters || arch < kLeastTensorArch) return;
  const int64_t bytes = (kAhead + 1) * packs_of_group(kernel_, windows_, strip_) * pack_bytes(width_) * kThreads;
  if (pack_bytes(width_) < kLeastCopy || bytes > most_held(arch, DType::f32)) return;
  ahead_ = kAhead, room_bytes_ = bytes;
}

void DepthwisePlan::choose_rows(int64_t rows, int64_t strips, int64_t at_once) {
  int64_t least = 0;
  strips_ = strips;
  for (int64_t shares = 1; shares <= rows; ++shares) {
    const int64_t each = quotient_up(rows, shares);
    if (quotient_up(rows, each) != shares) continue;
    const int64_t turns = quotient_up(images() * strips * shares, std::max<int64_t>(at_once, 1));
    const int64_t read = each + open_rows() - 1;
    const int64_t walked = to_image() ? read : quotient_up(read, open_rows()) * open_rows();
    const int64_t cost = turns * (walked + kRowsOfStart);
    if (!least || cost < least) least = cost, rows_ = each, shares_ = shares;
  }
}

bool is_depthwise(const LoweredKernel& kernel, const Graph& graph) {
  if (kernel.convolution() == ConvolutionKind::none) return false;
  const DepthwiseShapes shapes = shapes_of(kernel, graph);
  const int64_t channels = shapes.x.back();
  if (shapes.x.rank() != 4 || channels == 1 || shapes.y.back() != channels ||
      kernel.attributes.integer("groups") != channels || shapes.x.elements() == 0 || shapes.y.elements() == 0)
    return false;
  if (std::ranges::any_of(operands(kernel), [&](Value value) { return graph.dtype(value) == DType::f64; }))
    return false;
  const Windows windows = windows_of(kernel, shapes);
  const auto all = [](const std::vector<int64_t>& numbers, int64_t most) {
    return std::ranges::all_of(numbers, [&](int64_t n) { return n <= most; });
  };
  return all(windows.size, kMostTaps) && all(windows.strides, kMostStride) && all(windows.dilation, 1);
}

bool computes_depthwise_image(const LoweredKernel& kernel, const Graph& graph, const FusedKernel* code) {
  if (kernel.convolution() == ConvolutionKind::by_input || !is_depthwise(kernel, graph)) return false;
  const Windows windows = windows_of(kernel, shapes_of(kernel, graph));
  const int64_t stride = windows.strides[1], seen = (kUsualStrip - 1) * stride + windows.size[1];
  if (seen > kMostImageTurns * kUsualStrip * stride) return false;
  if (!code) return true;
  const std::set<Value> arrays = PixelCode::arrays_of(*code);
  return arrays.size() == 1 && graph.type(*arrays.begin()) == graph.type(arrays_of(kernel).x);
}

bool makes_both_gradients(const LoweredKernel& kernel, const Graph& graph, const DeviceKernels&) {
  if (!is_depthwise(kernel, graph)) return false;
  const Windows windows = windows_of(kernel, shapes_of(kernel, graph));
  const int64_t strip = quotient_up(kLeastStrip, windows.strides[1]) * windows.strides[1];
  const int64_t bytes = kLeastWidth * int64_t(size_of(graph.dtype(kernel.inputs[0])));
  LoweredKernel both = kernel;
  both.attachments.push_back({.kind = Attachment::Kind::filters});
  return graph.shape(kernel.outputs[0]).back() % kLeastWidth == 0 && bytes >= kLeastCopy &&
         registers(both, windows, kLeastWidth, strip, bytes) <= kMostRegisters;
}

bool folds_gradient(const LoweredKernel& kernel, const Graph& graph, const FusedKernel& code) {
  if (!kernel.prologue() || !is_depthwise(kernel, graph)) return false;
  std::set<Value> arrays = PixelCode::arrays_of(code);
  arrays.erase(kernel.outputs[0]);
  return arrays == PixelCode::arrays_of(*kernel.prologue());
}

}  // namespace neon::cuda
