#include "neon/cli/sample_made.h"

#include "models/adversarial.h"
#include "models/generation.h"
#include "neon/cli/image_sheet.h"

namespace neon {

namespace {

constexpr int64_t kImages = 64;

}  // namespace

bool makes_samples(const OpenedRun& opened) {
  Container* const container = opened.experiment->network().last().layer->container();
  return container && container->adversarial();
}

std::string draw_made_samples(const CommandLine& line, const OpenedRun& opened, const std::string& path,
                              const std::string& png) {
  check_caffe(line, opened, path);
  if (!png.ends_with(".png"))
    fail(ErrorKind::config, in_quotes(png), ": the images are a PNG file; give a name that ends with .png");
  const SampleMeaning& meaning = opened.run.meaning;
  const Shape& sample = meaning.sample;
  if (!meaning.is_image() || (sample[0] != 1 && sample[0] != 3))
    fail(ErrorKind::config, path, ": a sheet is of images (1, H, W) or (3, H, W), the net makes ", sample);
  if (!line.of_verb.overwrite) check_preview_place(png);
  RunOptions options = options_of(line, opened), asked = line.run();
  options.rounding = 0;  // of updates alone
  if (asked.backend.empty()) asked.backend = "cpu";
  choose_backend(line, asked, *opened.experiment);
  StepOptions step = step_options(options, opened.experiment->params);
  step.batch = line.of_verb.count.value_or(kImages);
  step.seed = uint64_t(asked.rng_seed.value_or(0));
  DataLayout data;
  data.meaning() = meaning;
  const StepGraph graph = made_samples_graph(opened.experiment->network(), data, step);
  Variables variables;
  DeviceOptions device = device_options(asked, *opened.experiment);
  device.timed = false;
  const auto program = compile_program(graph.graph, variables, device);
  declare_variables(graph.graph, variables);
  restore_variables(sound_weights(opened, path), path, variables, true);
  variables.to_device();
  program->run(0);
  const Tensor x = program->output("x");
  // Samples that were bytes have a range of their own; others are as wide as these are.
  write_sheet(x, meaning.scale != 1 && meaning.means.empty() ? range_of_bytes(meaning) : range_of(x), png);
  return text("wrote ", png, ": ", step.batch, " images of ", sample, ", seed ", step.seed);
}

}  // namespace neon
