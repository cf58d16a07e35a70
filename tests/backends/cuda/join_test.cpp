// Kernels that write into a concatenation on the GPU, and that make what they read.
#include <catch2/catch.hpp>

#include "backends/device/device.h"
#include "tests/backends/addend_cases.h"
#include "tests/backends/cuda/against_plain.h"
#include "tests/backends/cuda/part.h"
#include "tests/backends/join_cases.h"
#include "tests/backends/net_of_branches.h"
#include "tests/backends/pixel_cases.h"
#include "tests/backends/prologue_cases.h"
#include "tests/backends/run_case.h"
#include "tests/backends/sibling_cases.h"

using namespace neon;
using namespace neon::test;

TEST_CASE("concatenations are written piece by piece on the GPU", "[parts]") {
  for (const JoinCase& c : part_of(join_cases())) check_against_plain(c.name, c.build);
}

TEST_CASE("convolutions of single pixels write into a concatenation on the GPU as products", "[parts]") {
  for (const PixelCase& c : part_of(pixel_cases())) {
    check_against_plain(c.name, c.build);
    for (DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64}) {
      INFO(c.name << " in " << std::string(name_of(dtype)));
      Variables variables;
      const auto program = compile_program(build_branches(c.build, dtype), variables, {.gpu = true});
      const Lowered& lowered = program->lowered();
      int written = 0;
      for (size_t k = 0; k < lowered.kernels.size(); ++k) {
        const LoweredKernel& kernel = lowered.kernels[k];
        if (kernel.convolution() == ConvolutionKind::none || !lowered.placements[size_t(kernel.outputs[0].id)])
          continue;
        CHECK(program->implementations()[k] == "cublaslt");
        ++written;
      }
      CHECK(written == c.written);
    }
  }
}

TEST_CASE("gradients of branches of one input are made together on the GPU", "[parts]") {
  for (const SiblingCase& c : part_of(sibling_cases())) check_against_plain(c.name, c.build);
}

TEST_CASE("products and convolutions on the GPU add arrays to their results", "[parts]") {
  for (const AddendCase& c : part_of(addend_cases())) check_against_plain(c.name, c.build);
}

TEST_CASE("patches make what they see on the GPU", "[parts]") {
  for (const PrologueCase& c : part_of(prologue_cases())) check_against_plain(c.name, c.build);
}
