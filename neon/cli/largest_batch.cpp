#include "neon/cli/largest_batch.h"

#include <algorithm>

#include "neon/core/error.h"
#include "neon/core/text.h"

namespace neon {

namespace {

// Two digits of a number, which is as much as an estimate tells.
int64_t two_digits(int64_t n) {
  int64_t unit = 1;
  while (n / unit >= 100) unit *= 10;
  return n / unit * unit;
}

}  // namespace

std::string note_of_room(double free, const Lowered& lowered) {
  return text("note    only ", bytes_text(free), " are free here; the net's largest array is ", largest_array(lowered));
}

std::string largest_batch(const Experiment& experiment, const DataLayout& layout, StepOptions step,
                          const BatchRoom& room) try {
  const auto batch = double(step.batch);
  step.batch *= 2;
  const Graph larger = training_graph(experiment.last_phase(), layout, step).graph;
  const double each = (double(lower(larger, cpu::lower_options()).arena_bytes) - room.step) / batch;
  const double most = each > 0 ? batch + (room.free - room.fixed - room.step) / each : double(layout.train_size);
  const auto samples = int64_t(std::clamp(most, 0.0, double(layout.train_size)));
  const bool all = samples == layout.train_size;
  return text("batch   up to ", all ? "all " : "about ", all ? samples : two_digits(samples), " samples fit into the ",
              bytes_text(room.free), " that are free");
} catch (const Error&) {  // an array of twice this batch has too many numbers
  return "batch   fewer samples than twice this batch fit: its arrays would be too large";
}

}  // namespace neon
