#include "neon/train/gpu_room.h"

#include <algorithm>

namespace neon {

namespace {

constexpr double kShareToPlan = 0.95;  // of what is free: the driver needs a little for kernels and launches

GpuModule& module_in_use() {
  std::string why_not;
  return *gpu_module(why_not);
}

}  // namespace

GpuNeeds::GpuNeeds(const DeviceOptions& options) : options_(options) {}

void GpuNeeds::add_program(const Graph& graph, size_t own, bool own_variables, bool chooses) {
  DeviceOptions device = options_;
  device.timed = device.timed && chooses;
  const MemoryNeeds needs = module_in_use().needs_of(graph, device);
  if (own_variables) held_ += needs.variables;
  most_ = std::max(most_, held_ + shared_ + needs.passing);
  held_ += needs.own + own;
  shared_ = std::max(shared_, needs.shared);
}

void GpuNeeds::add_evaluation(const Experiment& experiment, const DataLayout& layout, const Split& split,
                              StepOptions options, bool own_variables) {
  options.batch = std::min(options.batch, split.size());
  DataLayout own = layout;
  own.dtype = split.dtype();
  const FeedBytes feed =
      feed_bytes(split, {.batch = options.batch, .weight = options.dtype == DType::f64 ? DType::f64 : DType::f32});
  const StepGraph graph = evaluation_graph(experiment.last_phase(), experiment.metrics(), own, feed.rows, options);
  add_program(graph.graph, feed.each, own_variables, false);
  hold(feed.shared);
}

size_t GpuNeeds::bytes() const { return std::max(most_, held_ + shared_); }

std::string room_text(const RoomAsked& asked, const DeviceOptions& device) {
  const size_t free = module_in_use().free_bytes(device.gpu_index);
  const auto fits = [&](int64_t samples) {
    try {
      return double(asked.bytes(samples)) < kShareToPlan * double(free);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::config) throw;
      return false;  // batch norm takes no batch of one sample
    }
  };
  int64_t good = 0, bad = asked.samples;
  while (bad - good > 1) {
    const int64_t middle = (good + bad) / 2;
    (fits(middle) ? good : bad) = middle;
  }
  const std::string out =
      text(". ", asked.what, " of ", asked.samples, asked.samples == 1 ? " sample plan " : " samples plan ",
           bytes_text(double(asked.bytes(asked.samples))), " for ", asked.of, " in all, of ", bytes_text(double(free)),
           " that are free; ");
  if (good == 0) return out + "not even a batch of 1 fits";
  const std::string mend = *asked.option ? text(" (", asked.option, good, ")") : "";
  return text(out, "about ", good, good == 1 ? " sample" : " samples", " would fit", mend);
}

}  // namespace neon
