#include "backends/cuda/pairs.h"

#include "backends/cuda/tensor_map.h"
#include "backends/cuda/tile_convolution.h"

namespace neon::cuda {

namespace {

constexpr unsigned kPairThreads = 128 + 32;  // those that multiply, and a warp whose first thread brings numbers

class PairsKernel : public OperandsKernel {
 public:
  PairsKernel(const PairTiles& of, std::shared_ptr<Device> device, ColdStart* cold)
      : of_(of),
        device_(std::move(device)),
        code_(code_of(of.source(), device_, cold)),
        multiply_(tile_function(*code_)),
        add_(of.gradient ? code_->function("add_slices")
             : of.sums   ? code_->function("fold_parts")
                         : nullptr) {}
  const char* library() const override { return kTiles; }
  size_t workspace_bytes() const override { return of_.workspace_bytes(); }

  void launch(const Operands& at, void* workspace) override {
    PairTables tables = of_.tables;
    const Shape& x = of_.image;
    const int64_t row = x[2] * x[3], bytes = row * int64_t(size_of(of_.dtype));
    describe(tables.image, of_.dtype, at.a, {row, x[1], x[0]}, {bytes, x[1] * bytes},
             {of_.pitch * kChannelsOfPair, of_.rows, 1});
    const bool whole = of_.gradient;  // tiles come as a whole, and leave square by square
    describe_planes(&tables.results, {{0, 0, 1, 1}}, of_.dtype, whole ? at.b : at.c, of_.results,
                    whole ? of_.high * kSquareSide : kSquareSide, whole ? of_.wide * kSquareSide : kSquareSide,
                    std::min<int64_t>(of_.columns, 64));
    const void *filters = at.b, *bias = at.bias;
    void* forward[] = {&tables, &filters, &bias, &workspace};
    void* backward[] = {&tables, &workspace};
    device_->check(
        cuLaunchKernel(multiply_, unsigned(of_.blocks), 1, 1, kPairThreads, 1, 1, unsigned(of_.shared_bytes()),
                       device_->stream(), of_.gradient ? backward : forward, nullptr),
        "convolving pairs of pixels");
    if (of_.gradient) add_slices(add_, *device_, workspace, at.c, of_.filters.elements(), of_.slices());
    if (of_.sums) fold_parts(add_, *device_, workspace, of_.parts(), at.c, of_.results[3], at.folds[0], at.folds[1]);
  }

 private:
  const PairTiles of_;
  std::shared_ptr<Device> device_;
  std::shared_ptr<const LoadedCode> code_;
  const CUfunction multiply_, add_;
};

}  // namespace

std::unique_ptr<OperandsKernel> make_pairs(const PairTiles& of, std::shared_ptr<Device> device, ColdStart* cold) {
  return std::make_unique<PairsKernel>(of, std::move(device), cold);
}

}  // namespace neon::cuda
