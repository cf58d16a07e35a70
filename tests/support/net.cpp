#include "tests/support/net.h"

#include <catch2/catch.hpp>
#include <cmath>

using namespace neon;

namespace neon_test {

DataLayout NetData::layout() const {
  DataLayout out;
  out.dtype = inputs.dtype();
  out.target_is_input = targets.empty();
  out.target_dtype = targets.dtype();
  out.sample = inputs.shape().slice(1, inputs.shape().rank());
  if (!out.target_is_input) out.target = targets.shape().slice(1, targets.shape().rank());
  out.train_size = inputs.shape()[0];
  out.classes = classes;
  if (classes > 0 && out.target.rank() == 2) out.label_of = LabelOf::pixel;
  out.tokens = tokens;
  out.sequence = sequence || tokens > 0;
  out.streams = streams;
  const auto pads = [&](double x) { return tokens > 0 ? x < 0 : std::isnan(x); };
  for (int64_t i = 0; out.sequence && i < inputs.elements(); ++i) out.ragged = out.ragged || pads(inputs.at(i));
  out.end_class = end_class;
  if (out.sequence && out.target.elements() > 1) out.label_of = label_of;
  return out;
}

Network network_of(const Setting& layers) {
  Problems problems;
  Network out(layers, problems);
  problems.throw_if_any();
  return out;
}

TrainingRun::TrainingRun(const Network& network, const Cost& cost, const Optimizer& optimizer, const NetData& data,
                         const StepOptions& options, const DeviceOptions& device)
    : graph(training_graph(network, cost, optimizer, data.layout(), options)),
      samples_(size_t(options.batch)),
      accumulate_(options.accumulate) {
  program_ = compile_program(graph.graph, variables, device);
  program_->bind("data", data.inputs.data());
  program_->bind("targets", data.targets.data());
}

double TrainingRun::step(std::vector<int32_t> samples, const Progress& at, bool apply) {
  REQUIRE(samples.size() == samples_.size());
  samples_ = std::move(samples);
  program_->bind("indices", samples_.data());
  for (size_t k = 0; k < graph.optimizers.size(); ++k)
    program_->set_scalar(text("rate/", k), graph.optimizers[k]->rate_at(at));
  program_->set_scalar("update", double(updates_ + 1));
  program_->set_scalar("epoch", double(at.epoch));
  program_->set_scalar("apply", apply ? 1 : 0);
  program_->set_scalar("mean", 1 / double(accumulate_));
  program_->set_scalar("loss_scale", loss_scale);
  program_->set_scalar(kStreamStart, streams_begin ? 1 : 0);
  program_->run(++runs_);
  if (apply) ++updates_;
  return program_->output("cost").at(0);
}

}  // namespace neon_test
