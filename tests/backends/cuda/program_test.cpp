// The kernels of a step as a GPU runs it: of GoogLeNet in 16 bits, where what only moves or converts numbers is none of
// them, and of a small net.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "backends/cuda/op_source.h"
#include "backends/cuda/source.h"
#include "backends/graph/op.h"
#include "backends/graph/plan.h"
#include "models/step_graph.h"
#include "neon/spec/spec.h"
#include "neon/train/experiment.h"
#include "tests/backends/addend_cases.h"
#include "tests/backends/net_of_branches.h"
#include "tests/backends/read_too_early.h"

using namespace neon;
using namespace neon::test;

namespace {

StepGraph graph_of(const std::string& example, const std::string& datatype, bool trains) {
  const Spec spec = load_spec(EXAMPLES "/" + example);
  Experiment experiment(spec.root);
  RunOptions options;
  options.datatype = datatype;
  const DataLayout layout = layout_of(experiment.params.dataset->check({}));
  const ExperimentParams& params = experiment.params;
  const StepOptions step = step_options(options, params);
  if (!trains) return evaluation_graph(experiment.network(), nullptr, {}, layout, layout.train_size, step);
  return training_graph(experiment.network(), *params.cost, *params.optimizer, layout, step);
}

Lowered step_of(const std::string& example, const std::string& datatype, bool tf32 = false,
                int arch = cuda::kUsualArch) {
  return lower(graph_of(example, datatype, true).graph, cuda::gpu_lowering(true, tf32, arch));
}

// Whose addresses a kernel gets.
std::vector<Value> arrays_of(const LoweredKernel& kernel, cuda::SourceContext& context) {
  if (kernel.fused) return cuda::fused_source(*kernel.fused, context).arrays;
  if (!cuda::asks_library(kernel, context)) return cuda::op_source(kernel, context).arrays;
  std::vector<Value> out = cuda::library_arrays(kernel);
  std::erase(out, Value{});
  return out;
}

// What a kernel makes by nothing but that function, or none, of what it reads.
std::vector<Value> lone(const char* function, const LoweredKernel& kernel) {
  std::vector<Value> out;
  if (!kernel.fused) return out;
  for (const Segment& segment : kernel.fused->segments)
    if (std::ranges::all_of(segment.body, [&](const Instruction& i) {
          return i.kind == Instruction::Kind::load || (i.kind == Instruction::Kind::compute && i.op->name == function);
        }))
      for (const Store& store : segment.stores) out.push_back(store.value);
  return out;
}

}  // namespace

TEST_CASE("a step of GoogLeNet in f16 on a GPU copies, casts, transposes and concatenates nothing") {
  const Lowered lowered = step_of("bench/googlenet.yaml", "f16");
  INFO(to_string(lowered));
  std::map<std::string_view, int> kernels;
  int relus = 0, with_relus = 0;
  for (const LoweredKernel& kernel : lowered.kernels) {
    ++kernels[kernel.name()];
    // The gradient of the mean of an image is one number for all its pixels, which is no copy.
    for (Value value : kernel.is_once() ? std::vector<Value>{} : lone("identity", kernel))
      CHECK(lowered.graph.shape(kernel.inputs[0]).elements() < lowered.graph.shape(value).elements());
    // cuDNN does not write a result with relu into a concatenation, so that is what such a kernel is for.
    const std::vector<Value> made = lone("relu", kernel);
    for (Value value : made) CHECK(lowered.placements[size_t(value.id)]);
    relus += int(made.size()), with_relus += !made.empty();
  }
  // Two branches of a module end with filters of several pixels, by one kernel.
  CHECK(relus == 9 * 2);
  CHECK(with_relus == 9);
  // And one makes of the gradient by their concatenation what each of the four is given, and the sums of that.
  CHECK(std::ranges::count_if(lowered.kernels, [](const LoweredKernel& k) {
          return k.fused && k.fused->segments.size() == 4 && k.outputs.size() == 8;
        }) == 9);
  for (const char* op : {"slice", "transpose", "concat"}) CHECK(kernels[op] == 0);
  CHECK(std::ranges::count_if(lowered.kernels, [](const LoweredKernel& k) { return k.is_once(); }) == 1);
  // 57 convolutions in the net (the paper's table 1, without auxiliary classifiers), of which each of the nine modules
  // has three that read its input, whose gradients are made together; none by the images.
  CHECK(kernels["convolution"] == 57);
  CHECK(kernels["convolution_weight_gradient"] == 57 - 9 * 2);
  CHECK(kernels["convolution_data_gradient"] == 56 - 9 * 2);
  // Of those three what their gradients are made from, and the filters, are written side by side; and so is what the
  // four branches make.
  CHECK(std::ranges::count_if(lowered.placements, [](const Placement& p) { return bool(p); }) == 9 * (3 + 3 + 4));
}

TEST_CASE("first convolutions on a GPU take what windows see as channels, rows or blocks of it, and no others do") {
  struct First {
    const char* example;
    Shape x, w;
    int arch = cuda::kUsualArch;
  };
  // 3x3x3 = 27 and 5x5 = 25 numbers are taken as 32; 7x7x3 and 5x5x3 are more than 64, of which as many rows as the
  // stride are taken, 2x7x3 = 42 and 5x3 = 15 channels, made 48 and 16; so many of 11x11x3 are still more than 64, so
  // that blocks of 4x4x3 = 48 are taken. Windows of 7x7 step by two: on compute capability 9.0 pixels of four channels
  // remain.
  const First all[] = {
      {"bench/vgg-a.yaml", {64, 224, 224, 32}, {64, 1, 1, 32}},
      {"bench/lenet.yaml", {128, 24, 24, 32}, {16, 1, 1, 32}},
      {"bench/alexnet.yaml", {128, 57, 57, 48}, {64, 3, 3, 48}},
      {"bench/googlenet.yaml", {128, 115, 112, 48}, {64, 4, 1, 48}, 80},
      {"bench/googlenet.yaml", {128, 224, 224, 4}, {64, 7, 7, 4}},
      {"bench/cifar.yaml", {128, 36, 32, 16}, {32, 5, 1, 16}},
  };
  for (const First& net : all) {
    const Lowered lowered = step_of(net.example, "f16", false, net.arch);
    INFO(to_string(lowered));
    std::map<std::string_view, std::vector<const LoweredKernel*>> kernels;
    const LoweredKernel *pooling = nullptr, *spreading = nullptr;  // that take pooling along, and the filters' gradient
    for (const LoweredKernel& kernel : lowered.kernels) {
      kernels[kernel.name()].push_back(&kernel);
      if (kernel.takes(Attachment::Kind::pooling)) pooling = &kernel;
      if (kernel.takes(Attachment::Kind::filters)) spreading = &kernel;
    }
    const auto shape = [&](Value value) { return lowered.graph.shape(value); };
    REQUIRE(kernels["patches"].size() == 2);
    REQUIRE(kernels["depth_to_space"].size() == 1);
    // That with max pooling of 2 x 2 pixels behind it takes it along.
    const bool pooled = net.x == all[0].x;
    REQUIRE((pooling != nullptr) == pooled);
    REQUIRE((spreading != nullptr) == pooled);
    const LoweredKernel& first = pooled ? *pooling : *kernels["convolution"][0];
    const Value x = first.inputs[0];
    CHECK(shape(x) == net.x);
    CHECK(shape(first.inputs[1]) == net.w);
    for (const LoweredKernel* patches : kernels["patches"]) {
      const Value made = patches->outputs[0];
      CHECK((made == x || made == first.inputs[1]));
      // Those of images read the data set's, and nobody else does.
      CHECK((patches->prologue() != nullptr) == (made == x));
    }
    const LoweredKernel& gradient = pooled ? *spreading : *kernels["convolution_weight_gradient"].back();
    CHECK((pooled ? gradient.inputs.back() : gradient.inputs[0]) == x);
    CHECK(kernels["depth_to_space"][0]->inputs[0] == gradient.outputs[0]);
  }
}

TEST_CASE("outputs of nets with batch norm on a GPU have it in their convolutions, made once of variables alone") {
  const std::string example = GENERATE("resnet18", "vgg16-bn", "mobilenet-v2"), dtype = GENERATE("f32", "f16");
  const Lowered lowered =
      lower(graph_of("bench/" + example + ".yaml", dtype, false).graph, cuda::gpu_lowering(true, false));
  INFO(example << to_string(lowered));
  std::set<Value> kept;
  int convolutions = 0;
  for (const LoweredKernel& kernel : lowered.kernels) {
    convolutions += kernel.convolution() == ConvolutionKind::forward && kernel.bias();
    if (!kernel.is_once()) {
      if (kernel.fused) CHECK(kernel.fused->to_string(lowered.graph).find("rsqrt") == std::string::npos);
      continue;
    }
    // Such kernels run before all others.
    for (Value input : kernel.inputs) {
      const Value from = lowered.storage[size_t(input.id)];
      CHECK((lowered.graph.producer(from).op->traits.leaf == LeafKind::variable || kept.count(from)));
    }
    for (Value output : kernel.outputs) kept.insert(lowered.storage[size_t(output.id)]);
  }
  // As many as the nets have, by their papers: 17 and 3 beside blocks whose size changes, 13, 52.
  CHECK(convolutions == (example == "resnet18" ? 20 : example == "vgg16-bn" ? 13 : 52));
  for (Value value : kept) CHECK(is_read_later(lowered, lowered.buffers[size_t(value.id)]));
}

TEST_CASE("products and convolutions on a GPU add arrays to their results where no other kernel would") {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64})
    for (const AddendCase& c : addend_cases()) {
      const Lowered lowered = lower(build_branches(c.build, dtype), cuda::gpu_lowering(true, false));
      INFO(c.name << " in " << text(dtype) << "\n" << to_string(lowered));
      const auto taken = std::ranges::count_if(lowered.kernels, [](const auto& k) { return bool(k.addend()); });
      CHECK(taken == (dtype == DType::f64 || (dtype == DType::f32 && !c.exact) ? 0 : c.taken));
      CHECK(read_too_early(lowered) == -1);
    }
}

TEST_CASE("outputs of residual nets on a GPU have no kernels that only add") {
  const auto [example, blocks] = GENERATE(table<std::string, int>({{"resnet18", 8}, {"resnet50", 16}}));
  const Lowered lowered =
      lower(graph_of("bench/" + example + ".yaml", "f16", false).graph, cuda::gpu_lowering(true, false));
  INFO(example << to_string(lowered));
  // A fused kernel adds in the last block, as it makes the mean there.
  CHECK(std::ranges::count_if(lowered.kernels, [](const auto& k) { return k.addend() && k.relu(); }) == blocks - 1);
}

TEST_CASE("a step of mnist-small on a GPU is nine kernels") {
  const Lowered lowered = step_of("mlp/mnist-small.yaml", "f32");
  INFO(to_string(lowered));
  // The batch; two products; softmax with the cost; the second layer's gradients, relu's derivative with the product by
  // its input; the first's; the finite check; the update.
  CHECK(lowered.kernels.size() == 9);
}

TEST_CASE("what a kernel on a GPU is given is alive while it runs, and so no library works there") {
  size_t checked = 0;
  for (const char* example : {"bench/vgg-a.yaml", "bench/googlenet.yaml", "bench/lenet.yaml", "mlp/mnist-small.yaml"})
    for (const char* datatype : {"f32", "tf32", "f16"}) {
      INFO(example << " in " << datatype);
      const bool tf32 = datatype == std::string("tf32");
      const Lowered lowered = step_of(example, tf32 ? "f32" : datatype, tf32);
      std::map<std::string, int> scalars;
      cuda::SourceContext context{lowered, scalars, {}, 0, {}, {}};
      for (size_t k = 0; k < lowered.kernels.size(); ++k)
        for (Value value : arrays_of(lowered.kernels[k], context)) {
          const Buffer& buffer = lowered.buffers[size_t(lowered.storage[size_t(value.id)].id)];
          const bool alive = buffer.first <= int(k) && int(k) <= buffer.last;
          CHECK((buffer.bytes == 0 || alive));
          checked += buffer.bytes > 0;
        }
    }
  CHECK(checked > 2000);
}

TEST_CASE("a run on a GPU reads nothing that another program may have written over") {
  size_t shared = 0, kept = 0;
  for (const char* example : {"bench/vgg-a.yaml", "bench/googlenet.yaml", "bench/lenet.yaml", "mlp/mnist-small.yaml"})
    for (const char* datatype : {"f32", "bf16"}) {
      INFO(example << " in " << datatype);
      Lowered lowered = step_of(example, datatype);
      place_shared(lowered, std::vector<size_t>(lowered.kernels.size(), 1000));
      std::set<Value> written;
      const auto is_passing = [&](Value value) {
        const Buffer& buffer = lowered.buffers[size_t(lowered.storage[size_t(value.id)].id)];
        return buffer.bytes > 0 && !is_read_later(lowered, buffer);
      };
      for (const LoweredKernel& kernel : lowered.kernels) {
        for (Value value : kernel.inputs) {
          if (!lowered.storage[size_t(value.id)] || !is_passing(value)) continue;
          CHECK(!kernel.is_once());
          CHECK(written.count(lowered.storage[size_t(value.id)]));
          ++shared;
        }
        for (Value value : kernel.outputs) {
          const Value place = lowered.storage[size_t(value.id)];
          written.insert(place);
          if (!lowered.buffers[size_t(place.id)].bytes) continue;
          if (kernel.is_once()) CHECK(!is_passing(value));
          kept += !is_passing(value);
        }
      }
      for (const auto& [name, value] : lowered.graph.outputs())
        CHECK((!lowered.storage[size_t(value.id)] || !is_passing(value)));
    }
  CHECK(shared > 1000);
  CHECK(kept > 16);
}
