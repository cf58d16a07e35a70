#include "neon/cli/data_preview.h"

#include <algorithm>
#include <cstring>

#include "neon/cli/sample_sheet.h"
#include "neon/train/batch_feed.h"
#include "neon/train/image_sheet.h"
#include "neon/train/learned_images.h"

namespace neon {

namespace {

// The images (count,H,W,C) of the first steps.
Tensor first_images(const Data& data, const StepOptions& step, SampleOrder order, int64_t count) {
  FeedOptions feeding;
  feeding.batch = step.batch;
  feeding.seed = step.seed;
  feeding.order = order;
  if (!data.targets.empty()) feeding.labels = labels_to_draw_by(order, data.train, data.targets);
  feeding.samples = true;
  const auto feed = make_feed(data.train, feeding);
  DataLayout layout = layout_of(data);
  layout.held = feed->rows();
  const Graph graph = batch_graph(layout, step);
  Variables variables;
  const auto program = compile_for_cpu(graph, variables, {});
  learn_from_images(step, data, variables);
  feed->bind(*program);
  Tensor out;
  for (int64_t number = 0; number * step.batch < count; ++number) {
    feed->next(*program, number);
    program->run(uint64_t(number));
    const Tensor x = program->output("x");
    if (number == 0) out = Tensor(x.dtype(), Shape{count}.concat(x.shape().slice(1, 4)));
    const int64_t first = number * step.batch, rows = std::min(step.batch, count - first);
    std::memcpy(out.rows(first, rows).data(), x.data(), x.rows(0, rows).bytes());
  }
  return out;
}

}  // namespace

std::string write_preview(const Experiment& experiment, const Data& data, const RunOptions& options,
                          std::optional<int64_t> count, const std::string& path) {
  if (!data.is_image() || (data.sample[0] != 1 && data.sample[0] != 3))
    fail(ErrorKind::config, "preview shows images (1, H, W) and (3, H, W), the samples are ", data.sample);
  StepOptions step = step_options(options, experiment.params);
  step.seed = uint64_t(options.rng_seed.value_or(experiment.params.rng_seed.value_or(0)));
  step.dtype = DType::f32;
  check_batch(options, step, layout_of(data));
  const int64_t whole = data.train.size() / step.batch * step.batch;  // images of whole batches of an epoch
  if (count.value_or(1) > whole)
    fail(ErrorKind::config, "--count ", *count, ": the whole batches of an epoch have ", whole, " images");
  const int64_t shown = count.value_or(std::min(step.batch, kSheetImages));
  const Tensor x = first_images(data, step, experiment.params.order(), shown);
  write_sheet(x, data.train.dtype() == DType::u8 ? range_of_bytes(data) : range_of(x), path);
  return text("the first ", shown, " images of training with seed ", step.seed, ", in batches of ", step.batch);
}

}  // namespace neon
