#include "neon/train/made_images.h"

#include "models/generation.h"
#include "neon/train/image_sheet.h"
#include "neon/train/run_state.h"

namespace neon {

SheetProgram::SheetProgram(const Network& network, const SampleMeaning& meaning, const StepOptions& options,
                           Variables& variables, const DeviceOptions& device)
    : meaning_(meaning) {
  DataLayout data;
  data.meaning() = meaning;
  const StepGraph graph = made_samples_graph(network, data, options);
  DeviceOptions of_program = device;
  of_program.name = "the generator";
  of_program.timed = false;
  program_ = compile_program(graph.graph, variables, of_program);
  declare_variables(graph.graph, variables);
}

void SheetProgram::draw(const std::string& path) {
  program_->run(0);
  const Tensor x = program_->output("x");
  // Samples that were bytes have a range of their own; others are as wide as these are.
  write_sheet(x, meaning_.scale != 1 && meaning_.means.empty() ? range_of_bytes(meaning_) : range_of(x), path);
}

std::string MadeSheets::draw(const RunSetup& setup, const Position& position, Variables& variables, Listener& listener,
                             const EpochEnd& end) {
  if (end.sheet.empty() || !setup.leads()) return "";
  const WorkAlone alone(setup.ranks);
  StepOptions options = setup.step;
  options.batch = end.sheet_images;
  const bool averaged = options.ema_decay > 0;
  try {
    check_preview_place(end.sheet);
    if (!program_)
      program_ = std::make_unique<SheetProgram>(setup.experiment.network(), setup.data, options,
                                                averaged ? averages_ : variables, setup.device(position, listener));
    if (averaged) {
      for (const auto& [name, tensor] : averages_.all())
        averages_.at(name).copy_from(variables.at(variables.has(name + "/ema") ? name + "/ema" : name));
      averages_.to_device();
    }
    program_->draw(end.sheet);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace neon
