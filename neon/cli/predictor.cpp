#include "neon/cli/predictor.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "neon/train/gpu_room.h"

namespace neon {

Predictor::Predictor(const CommandLine& line, const OpenedRun& opened, const StoredData& stored, std::string path)
    : opened_(opened), stored_(stored), path_(std::move(path)), weights_(sound_weights(opened, path_)) {
  RunOptions options = options_of(line, opened);
  options.rounding = 0;  // of updates alone
  step_ = step_options(options, opened.experiment->params);
  // A few samples are done before a GPU has woken up, so it is used only where it is asked for.
  RunOptions asked = line.run();
  if (asked.backend.empty()) asked.backend = "cpu";
  choose_backend(line, asked, *opened.experiment);
  device_ = device_options(asked, *opened.experiment);
  device_.timed = false;  // as for any evaluation
  indices_ = Tensor(DType::i32, {kMost});
  for (int64_t i = 0; i < kMost; ++i) indices_.set(i, double(i));
}

DataLayout Predictor::layout(DType dtype, int64_t samples) const {
  DataLayout out;
  out.meaning() = stored_.meaning();
  out.dtype = dtype;
  out.train_size = samples;
  return out;
}

std::unique_ptr<Program> Predictor::compile(DType dtype, int64_t batch) {
  const Network& network = opened_.experiment->network();
  const auto graph_of = [&](int64_t samples) {
    StepOptions step = step_;
    step.batch = samples;
    return evaluation_graph(network, nullptr, {}, layout(dtype, samples), samples, step);
  };
  const auto bytes = [&](int64_t fewer) {
    GpuNeeds needs(device_);
    needs.add_program(graph_of(fewer).graph, 0, true, false);
    needs.hold(size_t(fewer) * (size_t(stored_.sample.elements()) * size_of(dtype) + sizeof(int32_t)));
    return needs.bytes();
  };
  const bool first = programs_.empty();
  const StepGraph graph = graph_of(batch);
  std::unique_ptr<Program> out;
  const auto let_go = [&] {
    out.reset();
    programs_.clear();
    variables_ = {};
  };
  telling_room(device_, [&] { out = compile_program(graph.graph, variables_, device_); }, let_go,
               {.what = "Predictions", .samples = batch, .option = "", .bytes = bytes});
  if (first) {
    declare_variables(graph.graph, variables_);
    restore_variables(weights_, path_, variables_, true);
    variables_.to_device();
  }
  out->bind("indices", indices_.data());
  return out;
}

Predictor::Compiled& Predictor::compiled(DType dtype, int64_t samples) {
  if (const auto found = programs_.find(dtype); found != programs_.end() && found->second.back().batch >= samples)
    return *std::ranges::find_if(found->second, [&](const Compiled& one) { return one.batch >= samples; });
  // The first of a type is of its own size; later ones are of powers of two, so that a few programs do.
  const int64_t batch = programs_.contains(dtype) ? int64_t(std::bit_ceil(uint64_t(samples))) : samples;
  std::unique_ptr<Program> program = compile(dtype, batch);
  return programs_[dtype].emplace_back(batch, std::move(program));
}

Tensor Predictor::run(const Tensor& samples) {
  const int64_t count = samples.shape()[0];
  Compiled& with = compiled(samples.dtype(), count);
  const Tensor* all = &samples;
  if (count < with.batch) {
    filled_ = Tensor(samples.dtype(), Shape{with.batch}.concat(samples.shape().slice(1, samples.shape().rank())));
    const size_t each = samples.bytes() / size_t(count);
    for (int64_t i = 0; i < with.batch; ++i)
      std::memcpy(filled_.rows(i, 1).data(), samples.rows(std::min(i, count - 1), 1).data(), each);
    all = &filled_;
  }
  with.program->bind("data", all->data());
  with.program->run(0);
  if (with.program->lowered().graph.outputs().contains("predicted")) predicted_ = with.program->output("predicted");
  if (with.program->lowered().graph.outputs().contains("own")) own_ = with.program->output("own");
  return with.program->output("y");
}

}  // namespace neon
