// Names of neon 1.0 to 2.6 that have no class here: messages advise what has their place (tools/vocabulary_names.txt).
#include "neon/core/registry.h"

namespace neon {

namespace {

constexpr const char* kImages = "write `ImageFolder`, `ImageList` or `Shards`";
constexpr const char* kArrays = "write `NPY`, `NPZ`, `HDF5` or `CSV`";
constexpr const char* kText = "write `PTB`, which has all three splits: train, valid and test";
constexpr const char* kSentences =
    "neon does not read this set: features of images with sentences, from a server that is gone";

constexpr ForeignName kOlderNames[] = {
    {"layer", "ResidualModule", "write `MergeSum: {layers: [[...], SkipNode]}`"},
    {"layer", "Encoder", "write `Seq2Seq: {encoder: [...], decoder: [...]}`"},
    {"layer", "Decoder", "write `Seq2Seq: {encoder: [...], decoder: [...]}`"},
    {"layer", "SkipThought", "neon has no such net; `Seq2Seq` has one encoder and one decoder"},
    {"cost", "GANCost", "write `rule: Adversarial` in place of `cost`, and the layer `GenerativeAdversarial`"},
    {"cost", "GeneralizedGANCost",
     "write `rule: Adversarial` in place of `cost`, and the layer `GenerativeAdversarial`"},
    {"metric", "ObjectDetection", "write `MeanAveragePrecision`"},
    {"callback", "CloudMetricsCallback", "leave it out: `neon plot` shows the results of runs"},
    {"callback", "EarlyStopCallback", "write `EarlyStop`"},
    {"callback", "GANCostCallback", "leave it out: the option -o FILE writes the costs of both players"},
    {"callback", "GANPlotCallback", "write `GANPlot`"},
    {"callback", "HistCallback", "write `Hist`"},
    {"callback", "LossCallback", "leave it out: a run evaluates after each epoch, or with --eval_freq N"},
    {"callback", "MetricCallback", "give the spec `metrics: [...]`"},
    {"callback", "MultiLabelStatsCallback", "give the spec `metrics: [MultiLabelStats]`"},
    {"callback", "ProgressBarCallback", "leave it out: a run shows its progress"},
    {"callback", "RunTimerCallback", "leave it out: the option -o FILE writes times"},
    {"callback", "SerializeModelCallback", "give the option -s FILE, and --serialize N for every N epochs"},
    {"callback", "TrainCostCallback", "leave it out: the option -o FILE writes the cost of each step"},
    {"callback", "TrainLoggerCallback", "leave it out: the option -l FILE writes a log"},
    {"callback", "ValidationCallback", "leave it out: a run evaluates after each epoch, or with --eval_freq N"},
    {"callback", "WatchTickerCallback", "leave it out: `neon predict` prints the sequences of samples"},
    {"dataset", "ptb-train", kText},
    {"dataset", "ptb-valid", kText},
    {"dataset", "ptb-test", kText},
    {"dataset", "QA", "write `BABI`"},
    {"dataset", "Ticker", "write `CopyTask`, `RepeatCopyTask` or `PrioritySortTask`"},
    {"dataset", "ArrayIterator", kArrays},
    {"dataset", "DataIterator", kArrays},
    {"dataset", "TextNMT", "neon does not read this set; `Seq2Seq` learns from `Reversal`, say"},
    {"dataset", "SICK", "neon does not read this set, which judged SkipThought's sentences"},
    {"dataset", "Flickr8k", kSentences},
    {"dataset", "Flickr30k", kSentences},
    {"dataset", "Coco", kSentences},
    {"dataset", "DUMMY", "write `UniformRandom`"},
    {"dataset", "ImgMaster", kImages},
    {"dataset", "ImageLoader", kImages},
    {"dataset", "DataLoader", kImages},
    {"dataset", "AeonDataLoader", kImages},
    {"dataset", "ImageParams", "give a set of images `size`, and the spec `augment: [...]`"},
    {"dataset", "ImageIngestParams", "neon data pack has options for the sizes of photos"},
    {"dataset", "VideoParams", "neon reads volumes as arrays: write `NPY`, `NPZ` or `HDF5`"},
    {"dataset", "AudioParams", "neon reads frames of sound as arrays: write `NPY`, `NPZ` or `HDF5`"},
    {"dataset", "PASCALVOCTrain", "write `BoxImages`"},
    {"dataset", "PASCALVOCInference", "write `BoxImages`; `neon predict` finds boxes in images"},
    {"dataset", "OneHot", "write the layer `OneHot`"},
    {"dataset", "PixelWiseOneHot", "give targets as images of classes, and `PixelwiseSoftmax` to the last layer"},
    {"dataset", "TypeCast", "leave it out: a data set knows the types of its numbers"},
    {"dataset", "Retuple", "leave it out: inputs and targets follow from the data set"},
    {"dataset", "BGRMeanSubtract", "give the spec `normalize: {mean: [...]}`"},
    {"dataset", "ValueNormalize", "give the spec `normalize: true`"},
    {"dataset", "DumpImage", "leave it out: `neon data preview SPEC PNG` shows samples"},
};
[[maybe_unused]] const bool kOlderAdded = (add_foreign_names(kOlderNames), true);

}  // namespace

}  // namespace neon
