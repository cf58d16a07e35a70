#include "backends/cuda/communicator.h"

namespace neon::cuda {

namespace {

class SimulatedCommunicator : public Communicator {
 public:
  void sum(std::span<const Summand> arrays, DType dtype, CUstream stream) override {
    for (const Summand& array : arrays)
      if (array.to != array.from && array.elements > 0)
        check(cuMemcpyDtoDAsync(CUdeviceptr(array.to), CUdeviceptr(array.from), size_t(array.elements) * size_of(dtype),
                                stream),
              "a copy in the place of a sum over GPUs");
  }
};

}  // namespace

std::unique_ptr<Communicator> make_simulated_communicator() { return std::make_unique<SimulatedCommunicator>(); }

}  // namespace neon::cuda
