#include "backends/cuda/convolution_pieces.h"

#include <algorithm>
#include <map>

#include "backends/cuda/batch_pieces.h"

namespace neon::cuda {

namespace {

struct Part {
  std::shared_ptr<OperandsKernel> kernel;
  size_t a, b, c;  // bytes from where the arrays begin
};

class PiecesKernel : public OperandsKernel {
 public:
  // `cleared`: bytes of the result, where the parts add to it.
  PiecesKernel(std::vector<Part> parts, size_t cleared, std::shared_ptr<Device> device)
      : parts_(std::move(parts)), cleared_(cleared), device_(std::move(device)) {}
  const char* library() const override { return kPieces; }

  void launch(const Operands& whole, void* workspace) override {
    const auto at = [](const void* array, size_t bytes) { return static_cast<const std::byte*>(array) + bytes; };
    if (cleared_)
      device_->check(cuMemsetD8Async(reinterpret_cast<CUdeviceptr>(whole.c), 0, cleared_, device_->stream()),
                     "clearing a gradient");
    for (const Part& part : parts_)
      part.kernel->launch(
          {at(whole.a, part.a), at(whole.b, part.b), whole.bias, whole.addend ? at(whole.addend, part.c) : nullptr,
           static_cast<std::byte*>(whole.c) + part.c},
          workspace);
  }
  size_t workspace_bytes() const override {
    size_t bytes = 0;
    for (const Part& part : parts_) bytes = std::max(bytes, part.kernel->workspace_bytes());
    return bytes;
  }
  std::vector<const void*> plans() const override {
    std::vector<const void*> out;
    for (const Part& part : parts_)
      for (const void* plan : part.kernel->plans()) out.push_back(plan);
    return out;
  }

 private:
  const std::vector<Part> parts_;
  const size_t cleared_;
  std::shared_ptr<Device> device_;
};

}  // namespace

std::vector<ConvolutionPiece> convolution_pieces(const ConvolutionCase& whole, size_t most_bytes) {
  std::vector<ConvolutionPiece> out;
  const size_t batch = size_t(whole.a.shape[0]);
  const bool of_filters = whole.is_of_filters();
  const std::vector<BatchPiece> pieces = batch_pieces(whole.a, whole.other_batch(), most_bytes);
  for (const auto& [first, images] : pieces) {
    const size_t a = whole.a.bytes() / batch * size_t(first),
                 other = whole.other_batch().bytes() / batch * size_t(first);
    out.push_back({whole.of_images(images), a, of_filters ? other : 0, of_filters ? 0 : other});
    out.back().of.adds = of_filters && pieces.size() > 1;
  }
  return out;
}

std::unique_ptr<OperandsKernel> make_pieces(
    const std::vector<ConvolutionPiece>& pieces, std::shared_ptr<Device> device,
    const std::function<std::unique_ptr<OperandsKernel>(const ConvolutionCase&)>& make) {
  std::map<std::string, std::shared_ptr<OperandsKernel>> made;
  std::vector<Part> parts;
  for (const ConvolutionPiece& piece : pieces) {
    auto& kernel = made[piece.of.key()];
    if (!kernel) kernel = make(piece.of);
    if (!kernel) return nullptr;
    parts.push_back({kernel, piece.a, piece.b, piece.c});
  }
  const ConvolutionCase& first = pieces[0].of;
  return std::make_unique<PiecesKernel>(std::move(parts), first.adds ? first.c.bytes() : 0, std::move(device));
}

}  // namespace neon::cuda
