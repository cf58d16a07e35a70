// Attention, rotary positions, norms of samples and gradients of tables on the GPU against the plain kernels in f64.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tests/backends/attention_cases.h"
#include "tests/backends/cuda/part.h"
#include "tests/backends/lower_check.h"
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

TEST_CASE("op cases of attention in whole tiles, by cuDNN where the clock may choose", "[parts][attention]") {
  std::vector<OpCase> cases;
  for (const char* op : {"attention", "attention_grad"})
    for (OpCase& c : tiled_attention_cases(op)) cases.push_back(std::move(c));
  for (const OpCase& c : part_of(cases))
    for (const DType dtype : {DType::f16, DType::bf16}) {
      INFO(c.to_string() << " in " << text(dtype));
      const CaseRun gpu = run_case(c, dtype, dtype, DeviceOptions{.gpu = true, .timed = true});
      CHECK(gpu.implementations == std::vector<std::string>{"cudnn"});
      CHECK(difference_to_plain(c, dtype, gpu, true, 2) == "");
      const CaseRun own = run_case(c, dtype, dtype, DeviceOptions{.gpu = true});
      CHECK(own.implementations == std::vector<std::string>{"own"});
      CHECK(difference_to_plain(c, dtype, own, true, 2) == "");
    }
}

// A net with a broken weight must not train on.
TEST_CASE("attention by cuDNN keeps NaN", "[attention]") {
  for (const char* op : {"attention", "attention_grad"})
    for (const size_t broken : {0, 1, 2}) {
      OpCase c = tiled_attention_cases(op)[0];
      c.inputs[broken].values = {std::numeric_limits<double>::quiet_NaN()};
      const CaseRun gpu = run_case(c, DType::bf16, DType::bf16, DeviceOptions{.gpu = true, .timed = true});
      INFO(op << " with NaN for input " << broken);
      const int untouched = broken == 2 ? (c.op == "attention" ? 1 : 2) : -1;  // sums, and dv, need no values
      for (int i = 0; i < int(gpu.outputs.size()); ++i)
        if (i != untouched)
          CHECK(std::ranges::all_of(numbers(gpu.outputs[size_t(i)]), [](double y) { return std::isnan(y); }));
    }
}
