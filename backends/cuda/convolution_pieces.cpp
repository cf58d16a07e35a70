#include "backends/cuda/convolution_pieces.h"

#include <algorithm>
#include <map>

#include "backends/cuda/batch_pieces.h"

namespace neon::cuda {

namespace {

struct Part {
  std::shared_ptr<LibraryKernel> kernel;
  size_t a, b, c;  // bytes from where the arrays begin
};

class PiecesKernel : public LibraryKernel {
 public:
  explicit PiecesKernel(std::vector<Part> parts) : parts_(std::move(parts)) {}
  const char* library() const override { return parts_[0].kernel->library(); }

  void launch(const void* a, const void* b, const void* bias, void* c, void* workspace) override {
    const auto at = [](const void* array, size_t bytes) { return static_cast<const std::byte*>(array) + bytes; };
    for (const Part& part : parts_)
      part.kernel->launch(at(a, part.a), at(b, part.b), bias, static_cast<std::byte*>(c) + part.c, workspace);
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
};

}  // namespace

std::vector<ConvolutionPiece> convolution_pieces(const ConvolutionCase& whole, size_t most_bytes) {
  std::vector<ConvolutionPiece> out;
  const size_t batch = size_t(whole.a.shape[0]);
  const bool of_filters = whole.is_of_filters();
  for (const auto& [first, images] : batch_pieces(whole.a, whole.other_batch(), most_bytes)) {
    const size_t a = whole.a.bytes() / batch * size_t(first),
                 other = whole.other_batch().bytes() / batch * size_t(first);
    out.push_back({whole.of_images(images), a, of_filters ? other : 0, of_filters ? 0 : other});
    out.back().of.adds = of_filters && first > 0;
  }
  return out;
}

std::unique_ptr<LibraryKernel> make_pieces(
    const std::vector<ConvolutionPiece>& pieces,
    const std::function<std::unique_ptr<LibraryKernel>(const ConvolutionCase&)>& make) {
  if (pieces.size() == 1) return make(pieces[0].of);
  std::map<std::string, std::shared_ptr<LibraryKernel>> made;
  std::vector<Part> parts;
  for (const ConvolutionPiece& piece : pieces) {
    auto& kernel = made[piece.of.key()];
    if (!kernel) kernel = make(piece.of);
    if (!kernel) return nullptr;
    parts.push_back({kernel, piece.a, piece.b, piece.c});
  }
  return std::make_unique<PiecesKernel>(std::move(parts));
}

}  // namespace neon::cuda
