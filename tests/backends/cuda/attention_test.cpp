// Attention, rotary positions, norms of samples and gradients of tables on the GPU against the plain kernels in f64.
#include <catch2/catch.hpp>

#include "tests/backends/cuda/part.h"
#include "tests/backends/run_case.h"

using namespace neon;
using namespace neon::test;

namespace {

const char* const kOps[] = {"attention",     "attention_grad",     "rotary",     "normalize", "normalize_grad",
                            "rms_normalize", "rms_normalize_grad", "scatter_add"};

}  // namespace

TEST_CASE("op cases of attention, rotary positions, norms and tables on the GPU", "[parts][attention]") {
  std::vector<OpCase> cases;
  for (const char* op : kOps)
    for (OpCase& c : cases_of(*find_op(op))) cases.push_back(std::move(c));
  for (const OpCase& c : part_of(cases))
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64}) {
      INFO(c.to_string() << " in " << text(dtype));
      const CaseRun gpu = run_case(c, dtype, dtype, DeviceOptions{.gpu = true});
      CHECK(difference_to_plain(c, dtype, gpu, true, 2) == "");
      if (c.op.starts_with("attention") && dtype != DType::f64)
        CHECK(gpu.implementations == std::vector<std::string>{"own"});
    }
}
