#include "backends/cuda/tile_filters.h"

#include "backends/cuda/source.h"
#include "backends/cuda/tensor_map.h"
#include "backends/cuda/tile_convolution.h"

namespace neon::cuda {

namespace {

constexpr unsigned kTeamThreads = 128, kBringingThreads = 32;  // of which the first brings tiles

class TileFiltersKernel : public OperandsKernel {
 public:
  TileFiltersKernel(const TileFilters& of, std::shared_ptr<Device> device, ColdStart* cold)
      : of_(of),
        device_(std::move(device)),
        code_(code_of(of.source(), device_, cold)),
        multiply_(tile_function(*code_)),
        add_(code_->function("add_slices")) {}
  const char* library() const override { return kTiles; }
  size_t workspace_bytes() const override { return of_.workspace_bytes(); }

  void launch(const Operands& at, void* workspace) override {
    FilterTables tables = of_.tables;
    describe_planes(tables.inputs, of_.planes, of_.dtype, at.a, of_.input, of_.rows, tables.pitch, of_.depth);
    describe_planes(&tables.given, {{0, 0, 1, 1}}, of_.dtype, at.b, of_.given, of_.high * kSquareSide,
                    of_.wide * kSquareSide, kMapsOfTile);
    void* parameters[] = {&tables, &workspace};
    device_->check(cuLaunchKernel(multiply_, unsigned(of_.blocks()), 1, 1, kTeams * kTeamThreads + kBringingThreads, 1,
                                  1, unsigned(of_.shared_bytes()), device_->stream(), parameters, nullptr),
                   "multiplying tiles for filters");
    add_slices(add_, *device_, workspace, at.c, of_.filters.elements(), tables.slices);
  }

 private:
  const TileFilters of_;
  std::shared_ptr<Device> device_;
  std::shared_ptr<const LoadedCode> code_;
  const CUfunction multiply_, add_;
};

}  // namespace

std::unique_ptr<OperandsKernel> make_tile_filters(const TileFilters& of, std::shared_ptr<Device> device,
                                                  ColdStart* cold) {
  return std::make_unique<TileFiltersKernel>(of, std::move(device), cold);
}

}  // namespace neon::cuda
