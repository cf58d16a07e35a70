#include "backends/cuda/tile_convolution.h"

#include <algorithm>

#include "backends/cuda/tensor_map.h"

namespace neon::cuda {

namespace {

constexpr unsigned kBlockThreads = 256 + 128;  // those that multiply, and others whose first brings numbers

class TileKernel : public OperandsKernel {
 public:
  TileKernel(const TileConvolution& of, std::shared_ptr<Device> device, ColdStart* cold)
      : of_(of),
        device_(std::move(device)),
        code_(code_of(of.source(), device_, cold)),
        function_(tile_function(*code_)),
        fold_(of.sums ? code_->function("fold_parts") : nullptr) {}
  const char* library() const override { return kTiles; }
  size_t workspace_bytes() const override { return of_.sums ? size_t(of_.to[3] * parts()) * kBytesOfPart : 0; }

  void launch(const Operands& at, void* workspace) override {
    TileTables tables = of_.tables;
    const int64_t stored = std::min(of_.columns, 64), filter_width = of_.gradient ? stored : of_.depth;
    describe_planes(tables.inputs, of_.inputs, of_.dtype, at.a, of_.from, of_.rows, tables.pitch, of_.depth);
    describe_planes(tables.results, of_.results, of_.dtype, at.c, of_.to, of_.stored_rows(), kSquareSide, stored);
    const Shape& w = of_.filters;
    const int64_t bytes = w[3] * int64_t(size_of(of_.dtype)), places = w[1] * w[2];
    describe(tables.filters, of_.dtype, at.b, {w[3], places, w[0]}, {bytes, places * bytes},
             {filter_width, 1, of_.gradient ? of_.depth : of_.columns});
    const void* bias = at.bias;
    void* parameters[] = {&tables, &bias, &workspace};
    const unsigned blocks = unsigned(of_.blocks(device_->processors()));
    device_->check(cuLaunchKernel(function_, blocks, 1, 1, kBlockThreads, 1, 1, unsigned(of_.shared_bytes()),
                                  device_->stream(), parameters, nullptr),
                   "convolving in tiles");
    if (fold_) fold_parts(fold_, *device_, workspace, parts(), at.c, of_.to[3], at.folds[0], at.folds[1]);
  }

 private:
  int64_t parts() const { return of_.parts(device_->processors()); }

  const TileConvolution of_;
  std::shared_ptr<Device> device_;
  std::shared_ptr<const LoadedCode> code_;
  const CUfunction function_, fold_;
};

}  // namespace

std::unique_ptr<OperandsKernel> make_tile_convolution(const TileConvolution& of, std::shared_ptr<Device> device,
                                                      ColdStart* cold) {
  return std::make_unique<TileKernel>(of, std::move(device), cold);
}

}  // namespace neon::cuda
