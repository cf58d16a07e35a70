// Training steps of small nets, as a spec would describe them, with data to run them on.
#pragma once
#include <memory>
#include <string>

#include "backends/device/device.h"
#include "models/step_graph.h"
#include "neon/core/setting.h"

namespace neon::test {

struct Net {
  StepGraph step;
  StepGraph gradients;  // of the same step: outputs cost and grad/NAME
  std::map<std::string, Tensor> inputs;

  // Compiled, with its weights drawn and its inputs and numbers set.
  std::unique_ptr<Program> compile(Variables& variables, const ProgramOptions& options = {}) const;
  std::unique_ptr<Program> compile(Variables& variables, const DeviceOptions& options) const;
};

// 784-100-10 without biases, momentum: the mnist-small net.
Net mnist_small(DType dtype = DType::f32);
// The same with Adam.
Net mnist_adam();
// 40-30-20-10 with batch norm, bias and dropout, momentum.
Net three_layers(DType dtype = DType::f32, int64_t batch = 32);

// 40-30-20-10 with learned slopes, then drawn ones, momentum.
Net slopes(DType dtype = DType::f32, int64_t batch = 32);

// Convolution 3×3×8 with bias, pooling, convolution 3×3×20 with batch norm, a mean over each map, 10; of 14×14 pixels
// in `channels`.
Net images(DType dtype = DType::f32, int64_t channels = 1, int64_t batch = 32);

// Convolution 3×3×16, two modules of three branches put side by side, a mean over each map, 10; of 14×14 pixels.
Net modules(DType dtype = DType::f32, int64_t batch = 32);

}  // namespace neon::test
