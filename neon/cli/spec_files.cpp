#include "neon/cli/spec_files.h"

#include "neon/cli/best_state.h"
#include "neon/cli/run_files.h"
#include "neon/cli/run_place.h"
#include "neon/cli/run_predictions.h"
#include "neon/train/checkpoint.h"
#include "neon/train/terminal.h"

namespace neon {

void check_run_files(const CommandLine& line, const Experiment& experiment, const RunOptions& options) {
  if (!options.save_path.empty()) check_names(options), check_place(options.save_path);
  if (!options.output_file.empty()) check_place(options.output_file);
  check_outputs(line, options, {experiment, options});
  const bool makes_folder = wants_run_folder(line);
  experiment.placing([&] {
    for (const std::string& message : check_best_state(line, experiment, options, makes_folder)) print_message(message);
    for (const std::string& message : check_predictions_place(line, experiment, options, makes_folder))
      print_message(message);
  });
}

}  // namespace neon
