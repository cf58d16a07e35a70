#include "neon/cli/sample_made.h"

#include "models/adversarial.h"
#include "models/generation.h"
#include "neon/cli/heeded_parts.h"
#include "neon/cli/sample_sheet.h"
#include "neon/train/image_sheet.h"
#include "neon/train/made_images.h"

namespace neon {

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
  if (!makes_images(opened.experiment->network(), meaning))
    fail(ErrorKind::config, path, ": a sheet is of images (1, H, W) or (3, H, W), the net makes ", meaning.sample);
  if (!line.of_verb.overwrite) check_preview_place(png);
  RunOptions options = options_of(line, opened), asked = line.run();
  options.rounding = 0;  // of updates alone
  if (asked.backend.empty()) asked.backend = "cpu";
  choose_backend(line, asked, *opened.experiment);
  StepOptions step = step_options(options, opened.experiment->params);
  step.batch = line.of_verb.count.value_or(kSheetImages);
  step.seed = uint64_t(asked.rng_seed.value_or(0));
  check_graph_heeded(line.verb, opened, [&](const Experiment& of) {
    DataLayout layout;
    layout.meaning() = meaning;
    return made_samples_graph(of.network(), layout, step).graph;
  });
  Variables variables;
  SheetProgram program(opened.experiment->network(), meaning, step, variables,
                       device_options(asked, *opened.experiment));
  restore_variables(sound_weights(opened, path), path, variables, true);
  variables.to_device();
  program.draw(png);
  return text("wrote ", png, ": ", step.batch, " images of ", meaning.sample, ", seed ", step.seed);
}

}  // namespace neon
