#include "backends/cuda/turned_convolution.h"

#include "backends/cuda/compile.h"
#include "backends/cuda/convolution.h"
#include "backends/cuda/source.h"
#include "backends/cuda/turned.h"

namespace neon::cuda {

namespace {

// The workspace begins with the filters turned around; what follows is the convolution's.
class TurnedConvolution : public OperandsKernel {
 public:
  TurnedConvolution(std::unique_ptr<OperandsKernel> forward, const TensorType& w, std::shared_ptr<Device> device,
                    ColdStart* cold)
      : forward_(std::move(forward)),
        device_(std::move(device)),
        code_(device_, compile_sources({turning_text()}, device_->arch(), cold)[0]),
        turn_(code_.function("kernel")),
        bytes_(turned_bytes(w)),
        blocks_(unsigned(turning_blocks(w.shape))),
        maps_(int(w.shape[0])),
        places_(int(w.shape.elements() / w.shape[0] / w.shape.back())),
        channels_(int(w.shape.back())) {}
  const char* library() const override { return kTurned; }
  size_t workspace_bytes() const override { return bytes_ + forward_->workspace_bytes(); }
  std::vector<const void*> plans() const override { return forward_->plans(); }

  void launch(const Operands& at, void* workspace) override {
    const void* w = at.b;
    void* parameters[] = {&w, &workspace, &maps_, &places_, &channels_};
    device_->check(cuLaunchKernel(turn_, blocks_, 1, 1, kThreads, 1, 1, 0, device_->stream(), parameters, nullptr),
                   "turning filters around");
    Operands turned = at;
    turned.b = workspace;
    forward_->launch(turned, static_cast<std::byte*>(workspace) + bytes_);
  }

 private:
  std::unique_ptr<OperandsKernel> forward_;
  std::shared_ptr<Device> device_;
  const LoadedCode code_;
  const CUfunction turn_;
  const size_t bytes_;
  const unsigned blocks_;
  int maps_, places_, channels_;
};

}  // namespace

size_t turned_workspace(const LoweredKernel& kernel, const Graph& graph, const Device& device) {
  Graph of_forward;
  const LoweredKernel forward = turned_forward(kernel, graph, of_forward);
  return turned_bytes(graph.type(kernel.inputs[1])) + convolution_workspace(forward, of_forward, false, device);
}

std::unique_ptr<OperandsKernel> make_turned_convolution(const LoweredKernel& kernel, const Graph& graph,
                                                        std::shared_ptr<Device> device, const LibraryOptions& options) {
  Graph of_forward;
  const LoweredKernel forward = turned_forward(kernel, graph, of_forward);
  auto by_cudnn = make_convolution(forward, of_forward, device, options);
  if (!by_cudnn) return nullptr;
  return std::make_unique<TurnedConvolution>(std::move(by_cudnn), graph.type(kernel.inputs[1]), std::move(device),
                                             options.cold);
}

}  // namespace neon::cuda
