// Gradients of data by cuDNN's convolutions of filters turned around, on the GPU, against the plain kernels in f64.
// What the clock chose is in a file of the cache, and here is changed there.
#include <catch2/catch.hpp>
#include <optional>

#include "backends/graph/windows.h"
#include "tests/backends/cuda/own_cache.h"
#include "tests/backends/run_case.h"

using namespace neon;
using namespace neon::test;

namespace {

// The convolution of filters turned around that a gradient of data is; none where it is no such.
std::optional<OpCase> forward_of(const OpCase& c) {
  const Shape &y = c.inputs[0].shape, &w = c.inputs[1].shape;
  const int last = w.rank() - 1;
  const auto windows = windows_of(c.attributes, {w.begin() + 1, w.end() - 1}).turned();
  const bool several_pixels = w.elements() > w[0] * w[last];
  if (!windows || !y.elements() || !several_pixels || c.attributes.integer("groups") != 1) return {};
  std::vector<int64_t> padding;
  for (size_t axis = 0; axis < windows->before.size(); ++axis)
    padding.insert(padding.end(), {windows->before[axis], windows->after[axis]});
  const Attributes attributes = {
      {"strides", windows->strides}, {"padding", padding}, {"dilation", windows->dilation}, {"groups", int64_t(1)}};
  return OpCase{"convolution", c.name, {{y}, {w.with(0, w[last]).with(last, w[0])}}, attributes, c.length};
}

CaseRun run(const OpCase& c, DType dtype, bool timed, bool tf32 = false) {
  DeviceOptions options{.gpu = true, .timed = timed, .tf32 = tf32};
  options.program.fuse = false;  // the node as it is
  return run_case(c, dtype, dtype, options);
}

bool has_engine(const OpCase& c) { return run(c, DType::f32, false).implementations.back() == "cudnn"; }

// In exact f32. Returns what did it.
std::string check_timed(const OpCase& c, const std::string& wanted) {
  INFO(c.to_string() << ", by " << wanted);
  const CaseRun timed = run(c, DType::f32, true);
  CHECK(difference_to_plain(c, DType::f32, timed, false, 2) == "");
  return timed.implementations.back();
}

// By the clock, then by each of the two; each time a choice of just this case is known.
void check_each_way(const OpCase& c) {
  const OwnCache cache;
  const std::string chosen = check_timed(c, "the faster");
  INFO(c.to_string() << ", " << chosen << " found faster");
  CHECK((chosen == "cudnn" || chosen == "cudnn turned"));
  REQUIRE(cache.choices().size() == 1);
  for (const std::string library : {"cudnn turned", "cudnn"}) {
    set_value(cache.choices()[0], library);
    CHECK(check_timed(c, library) == library);
  }
}

}  // namespace

TEST_CASE("gradients of data as convolutions of filters turned around, on the GPU") {
  int both = 0;
  for (const OpCase& c : cases_of(*find_op("convolution_data_gradient"))) {
    const auto forward = forward_of(c);
    if (!forward) continue;
    // In exact f32 cuDNN does not take every padding.
    if (has_engine(c) && has_engine(*forward)) ++both, check_each_way(c);
    else check_timed(c, "whatever does it");
  }
  CHECK(both >= 6);
}

TEST_CASE("a gradient of data on 13x13 pixels as a convolution of filters turned around, on the GPU") {
  const std::vector<int64_t> ones = {1, 1}, padding = {1, 1, 1, 1}, sizes = {13, 13};
  check_each_way(
      {"convolution_data_gradient",
       "13x13, 192 channels, 256 maps",
       {{{16, 13, 13, 256}}, {{256, 3, 3, 192}}},
       {{"strides", ones}, {"padding", padding}, {"dilation", ones}, {"groups", int64_t(1)}, {"sizes", sizes}},
       256 * 3 * 3});
}

TEST_CASE("small ones without the clock, and all in TF32 and in 16 bits, are cuDNN's own, on the GPU") {
  const OwnCache cache;
  for (const OpCase& c : cases_of(*find_op("convolution_data_gradient"))) {
    if (c.name != "images") continue;
    CHECK(has_engine(c));
    for (DType dtype : {DType::f32, DType::f16, DType::bf16})
      CHECK(run(c, dtype, true, true).implementations.back() == "cudnn");
  }
  CHECK(cache.choices().empty());
}

TEST_CASE("without the clock exact f32 leaves cuDNN where others were seen to be faster, on the GPU") {
  const OwnCache cache;
  const auto of = [](const std::string& op, int64_t side, int64_t filter) {
    constexpr int64_t kImages = 32, kChannels = 96, kMaps = 128;
    const std::vector<int64_t> ones = {1, 1}, padding(4, filter / 2), sides = {side, side}, filters = {filter, filter};
    const Shape x = {kImages, side, side, kChannels}, y = {kImages, side, side, kMaps},
                w = {kMaps, filter, filter, kChannels};
    const Attributes forward = {{"strides", ones}, {"padding", padding}, {"dilation", ones}, {"groups", int64_t(1)}};
    const std::string name = text(op, " of ", side, "x", side, " by ", filter, "x", filter);
    if (op == "convolution") return OpCase{op, name, {{x}, {w}}, forward, filter * filter * kChannels};
    if (op == "convolution_data_gradient")
      return OpCase{op, name, {{y}, {w}}, forward.with("sizes", sides), filter * filter * kMaps};
    return OpCase{op, name, {{x}, {y}}, forward.with("sizes", filters), kImages * side * side};
  };
  const auto check = [&](const OpCase& c, const std::string& library, DType dtype = DType::f32, bool tf32 = false) {
    INFO(c.name << " " << std::string(name_of(dtype)) << (tf32 ? " tf32" : ""));
    const CaseRun done = run(c, dtype, false, tf32);
    CHECK(done.implementations.back() == library);
    if (library != "cudnn") CHECK(difference_to_plain(c, dtype, done, false, 2) == "");
  };
  for (const char* op : {"convolution", "convolution_data_gradient", "convolution_weight_gradient"}) {
    check(of(op, 14, 1), "cublaslt");
    check(of(op, 14, 1), "cudnn", DType::f32, true);
    check(of(op, 14, 1), "cudnn", DType::f16);
    check(of(op, 5, 1), "cudnn");  // of few operations
  }
  check(of("convolution_data_gradient", 14, 3), "cudnn turned");
  check(of("convolution_data_gradient", 14, 3), "cudnn", DType::f32, true);
  check(of("convolution_data_gradient", 14, 5), "cudnn");
  check(of("convolution_data_gradient", 20, 3), "cudnn");
  check(of("convolution", 14, 3), "cudnn");
  CHECK(cache.choices().empty());  // nothing was left to the clock
}
