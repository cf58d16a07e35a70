// Criteria for the choice among a library's algorithms: the clock of the device, and the treatment of NaN.
#pragma once
#include <functional>

#include "backends/cuda/driver.h"
#include "backends/graph/graph.h"

namespace neon::cuda {

// An array of numbers that vary: zeros take less power, and other algorithms are then the fastest.
Memory varied(const std::shared_ptr<Device>& device, const TensorType& type);

// Which of `count` candidates takes the least time; `run` starts one. Other threads of the host may work meanwhile.
size_t fastest_of(const Device& device, size_t count, const std::function<void(size_t)>& run);

// Some kernels of cuDNN make 0 of NaN where they take relu, and a net with a broken weight would train on. An array
// of NaN to give them, and whether they gave NaN back.
Memory broken(const std::shared_ptr<Device>& device, const TensorType& type);
bool is_broken(const Memory& result, DType dtype);

}  // namespace neon::cuda
