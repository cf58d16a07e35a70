// Classes of neon 0.9 that neon lacks, some of them for now. Each row becomes an error that names the nearest thing.
#include "neon/spec/old/old_class.h"

namespace neon {

namespace {

const OldClasses missing(std::vector<OldMissing>{
    {"models.BalanceMP",
     "no file of 0.9 had it; models.Balance has two paths beside the reconstruction, `outputs` may have more"},
    {"layers.WeightLayer", "it is the base of layers with weights; write layers.FCLayer or layers.ConvLayer"},
    {"experiments.Experiment", "it is the base of FitExperiment and FitPredictErrorExperiment; write one of these"},
    {"experiments.GenOutputExperiment", "0.9 named it, but did not have it; neon predict prints a net's outputs"},
    {"experiments.WriteErrorToFile", "0.9 named it, but did not have it; -o FILE writes results"},
    {"datasets.DelimFiles",
     "0.9 took live samples from shared memory with it, and no files; CSV with its delimiter reads those"},
});

}  // namespace

}  // namespace neon
