// The command line's options of a run, apart from the spec. Saved with the run, so that it can go on.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "neon/core/params.h"
#include "neon/train/save_epochs.h"

namespace neon {

// The seed of a run that is to be deterministic and is given none.
constexpr int64_t kDeterministicSeed = 0;
// RunOptions::rounding of -u without a number.
constexpr int64_t kUsualRounding = -1;

struct RunOptions {
  std::string data_dir, save_path, model_file, output_file, log_file, run_folder, backend, datatype, fixed_point,
      spec_dir, run_dir;
  std::optional<int64_t> epochs, batch_size, rng_seed, eval_freq;
  SaveEpochs serialize;
  int64_t history = 1, device_id = 0, rounding = 0;
  bool caffe = false, deterministic = false, tf32 = false, progress_bar = true;
  static void describe(auto&& p) {
    p("data_dir", &RunOptions::data_dir, "Folder to find data sets in and to download them to.");
    p("save_path", &RunOptions::save_path, "Checkpoint to write.");
    p("model_file", &RunOptions::model_file, "Checkpoint to take the first weights from.");
    p("output_file", &RunOptions::output_file, "Metrics file to write.");
    p("log_file", &RunOptions::log_file, "Log file to write.");
    p("run_folder", &RunOptions::run_folder, "Folder of the run, for its best checkpoint and its table of results.");
    p("spec_dir", &RunOptions::spec_dir, "Folder of the spec, to find relative paths of data in.");
    p("run_dir", &RunOptions::run_dir, "Folder in which the run began; relative names of files refer to it.");
    p("backend", &RunOptions::backend, "Device to compute on: cpu (also written mkl) or gpu (mgpu).",
      one_of({"", "cpu", "gpu", "mkl", "mgpu"}));
    p("datatype", &RunOptions::datatype, "Type of activations and weights.", one_of({"", "f32", "f64", "f16", "bf16"}));
    p("fixed_point", &RunOptions::fixed_point,
      "Emulated fixed-point type of all results: all bits and those behind the point.");
    p("epochs", &RunOptions::epochs, "Passes over the training set.", closed(1, 1e9));
    p("batch_size", &RunOptions::batch_size, "Samples in a step.", at_least(1));
    p("rng_seed", &RunOptions::rng_seed, "Seed of all random numbers.", at_least(0));
    p("eval_freq", &RunOptions::eval_freq, "Epochs between evaluations.", at_least(1));
    p("serialize", &RunOptions::serialize,
      "Epochs between checkpoints, or the epochs after which to save: 3,10,20, or one as 3, with a comma.",
      at_least(1));
    p("history", &RunOptions::history, "Older checkpoints to keep.", closed(0, 1e6));
    p("device_id", &RunOptions::device_id, "Number of the GPU, from 0.", closed(0, 1000));
    p("rounding", &RunOptions::rounding,
      "Bits of mantissa that updates keep, by stochastic rounding; 0: all, -1: 10, or 7 for bf16.", at_least(-1));
    p("progress_bar", &RunOptions::progress_bar, "Shows progress.");
    p("caffe", &RunOptions::caffe, "Uses Caffe's output sizes and means of pooling, and its scaling of dropout.");
    p("deterministic", &RunOptions::deterministic,
      "Chooses only deterministic algorithms; without a seed, uses seed 0.");
    p("tf32", &RunOptions::tf32, "Computes f32 products on a GPU from operands with 10 bits of mantissa.");
  }
};

}  // namespace neon
