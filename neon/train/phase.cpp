#include "neon/train/phase.h"

namespace neon {

Phase training_phase(const RunSetup& setup) {
  Phase phase;
  phase.split = &setup.data.train;
  phase.order = setup.data.streams                ? SampleOrder::streams
                : setup.experiment.params.shuffle ? SampleOrder::drawn
                                                  : SampleOrder::as_given;
  phase.graph = [&setup](int64_t batch, const DataLayout& layout) {
    StepOptions options = setup.step;
    const bool keeps_places = bool(setup.data.streams);
    options.share = share_of(batch, keeps_places ? setup.step.batch : batch, setup.rank());
    options.batch = options.share.count;
    options.weight = double(batch) / double(setup.step.batch);
    options.streams = share_of(setup.step.batch, setup.step.batch, setup.rank()).count;
    const ExperimentParams& params = setup.experiment.params;
    return training_graph(setup.experiment.network(), *params.cost, *params.optimizer, layout, options);
  };
  return phase;
}

}  // namespace neon
