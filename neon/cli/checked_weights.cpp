#include "neon/cli/checked_weights.h"

#include "neon/train/batch_feed.h"
#include "neon/train/initial_values.h"
#include "neon/train/run_state.h"
#include "neon/train/taken_weights.h"
#include "neon/train/terminal.h"
#include "neon/train/torch_weights.h"

namespace neon {

std::vector<NamedTensor> check_weights(const Experiment& experiment, const RunOptions& options, const DataCheck& check,
                                       const StepOptions& step, const StepGraph& graph) {
  const std::string& path = options.model_file;
  if (path.empty()) {
    for (const Parameter& p : graph.parameters)
      if (!p.vectors.empty()) find_vectors(p, options);
    return {};
  }
  std::vector<std::string> messages;
  const bool last = check.channels_last || !step.augment.empty();
  const TakingNet net{experiment.network(), graph, check, options.caffe, last, experiment.params.outputs};
  const TensorFile file = load_weights(path, net, messages);
  for (const std::string& message : messages) print_message(message);
  Variables variables;
  declare_variables(graph.graph, variables);
  set_initial_values(graph, seed_of(experiment, options), variables);  // rows of a tensor may be taken
  const TakenWeights taken = take_weights(file, path, net, variables);
  print_message(text(path, ": ", taken.line()));
  for (const std::string& note : taken.notes) print_message(note);
  std::vector<NamedTensor> out;
  for (const std::string& name : taken.taken) out.push_back({name, variables.at(name)});
  return out;
}

}  // namespace neon
