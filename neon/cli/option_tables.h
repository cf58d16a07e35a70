// The options that have values, by table: what each is called, whose parameter it is, what --help says of it.
#pragma once
#include <array>
#include <string>
#include <string_view>

#include "neon/core/params.h"

namespace neon {

// What a verb must have to do for an option to mean something: anything, a training step (eval has none), or a whole
// run that writes its files (bench and summary have none).
enum class Needs { nothing, training, a_run };

// Options whose value belongs to RunOptions.
struct RunOption {
  const char* flags;
  const char* field;
  const char* help;
  Needs needs = Needs::nothing;
};
inline constexpr RunOption kRunOptions[] = {
    {"-w,--data_dir", "data_dir", "folder that data sets are in, and fetched to"},
    {"-e,--epochs", "epochs", "passes over the training set (the spec's, else 10)", Needs::training},
    {"-s,--save_path", "save_path", "checkpoint, always the newest (.safetensors)", Needs::a_run},
    {"--serialize", "serialize", "epochs between checkpoints (1); saves without -s, too: neon_model.safetensors",
     Needs::a_run},
    {"--model_file", "model_file", "checkpoint whose weights to begin with, or their running means (ema)",
     Needs::training},
    {"-l,--log", "log_file", "log file; neon_log.txt without a name", Needs::a_run},
    {"-o,--output_file", "output_file", "metrics file (HDF5)", Needs::a_run},
    {"--eval_freq", "eval_freq",
     "epochs between evaluations (1, but all where the test set has 0.3 of the training set's samples); also -eval",
     Needs::a_run},
    {"-H,--history", "history", "older checkpoints kept beside the newest (1); saves without -s, as --serialize",
     Needs::a_run},
    {"-b,--backend", "backend", "cpu or gpu"},
    {"-i,--device_id", "device_id",
     "which GPU, else the first that can be used; without -b it asks for that one, as -b gpu does"},
    {"-r,--rng_seed", "rng_seed", "seed of all random numbers"},
    {"-u,--rounding", "rounding",
     "round updates by chance, to this many bits of mantissa; 10 (bf16: 7) without a number", Needs::training},
    {"-d,--datatype", "datatype", "f32, f64, f16 or bf16"},
    {"-z,--batch_size", "batch_size", "samples in a step (the spec's, else 128)"},
};

// What older neons had other options for.
struct OldOptions {
  std::string gpu;
  int64_t max_devices = 1;
  static void describe(auto&& p) {
    p("gpu", &OldOptions::gpu, "As -b, or a backend of neon 0.9.",
      one_of({"cpu", "gpu", "mkl", "mgpu", "cudanet", "nervanagpu"}));
    p("max_devices", &OldOptions::max_devices, "How many GPUs at most.", at_least(1));
  }
};
inline constexpr RunOption kOldOptions[] = {
    {"-g,--gpu", "gpu", "neon 0.9's name of -b"},
    {"-m,--max_devices", "max_devices", "how many GPUs at most"},
};

// Options whose value belongs to VerbOptions.
struct VerbOption {
  const char* flags;
  const char* field;
  const char* help;
  std::array<std::string_view, 2> verbs;  // "data pack": of neon data's
};
inline constexpr VerbOption kVerbOptions[] = {
    {"--top_k", "top_k", "classes given for each prediction", {"predict"}},
    {"--format", "format", "csv or json, of predictions and evaluations", {"predict", "eval"}},
    {"--iterations", "iterations", "steps that bench times", {"bench"}},
    {"--size", "size", "with data pack: side to which images are brought", {"data pack"}},
    {"--pixels", "pixels", "with data pack: store pixels instead of the files", {"data pack"}},
    {"--skip_bad", "skip_bad", "with data pack: leave damaged images out", {"data pack"}},
    {"--count",
     "count",
     "with data preview: how many images; without it the first batch, of which at most 64",
     {"data preview"}},
    {"--resolved", "resolved", "with check: print the spec with every default", {"check"}},
};

// What --help begins with.
inline constexpr const char* kUsage =
    "neon trains neural networks from a YAML spec.\n\n"
    "  neon [OPTIONS] SPEC            train\n"
    "  neon check SPEC                look for mistakes and for the data; train nothing\n"
    "  neon summary SPEC              the layers, their shapes, parameters and work\n"
    "  neon program SPEC              the lowered training step\n"
    "  neon bench SPEC                time the training step\n"
    "  neon resume CHECKPOINT         go on with a run\n"
    "  neon eval CHECKPOINT           cost and metrics on the test set\n"
    "  neon predict CHECKPOINT FILE   outputs for samples: a CSV, NPY, IDX or image file, a folder or .tar of images, "
    "- for stdin\n"
    "  neon data list                 the data sets, and whether they are here\n"
    "  neon data fetch NAME           download one\n"
    "  neon data check PATH           read every image of a folder, archive, list, packed folder or spec; list\n"
    "                                 the damaged ones\n"
    "  neon data stats SPEC           classes, and means and deviations of channels\n"
    "  neon data pack PATH FOLDER     images of a folder, archive, list (FILE,CLASS) or spec as shards\n"
    "  neon data preview SPEC PNG     the first batch as the net sees it, augmented, on one sheet\n"
    "  neon doctor                    what was found here, and why a GPU is not used\n"
    "  neon help NAME                 a layer, optimizer, data set ... and its parameters\n";

}  // namespace neon
