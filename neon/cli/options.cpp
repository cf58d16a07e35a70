#include "neon/cli/options.h"

#include <algorithm>

#include "neon/cli/verb.h"

namespace neon {

// A namespace of its own, since `run` and `verb` mean other things elsewhere.
namespace option_table {

using enum Holder;

constexpr Option kOptions[] = {
    {"-b,--backend", "cpu|gpu", run, "backend", takes_device,
     "Device to compute on. Default: the first GPU that works, else the CPU."},
    {"-i,--device_id", "N", run, "device_id", takes_device,
     "GPU by its number, from 0. Without -b it implies -b gpu. Default: the first GPU that works."},
    {"-d,--datatype", "f32|f64|f16|bf16", run, "datatype", takes_device,
     "Type of activations and weights. Default: the spec's, else f32."},
    {"-w,--data_dir", "FOLDER", run, "data_dir", takes_data,
     "Folder to find data sets in and to download them to. Default: NEON_DATA_DIR, else the cache folder."},
    {"-r,--rng_seed", "N", run, "rng_seed", takes_data | takes_seed,
     "Seed of all random numbers; the same seed repeats a run. Default: the spec's, else a new one for each run."},
    {"-z,--batch_size", "N", run, "batch_size", takes_data, "Samples in a step. Default: the spec's, else 128."},
    {"-e,--epochs", "N", run, "epochs", takes_training, "Passes over the training set. Default: the spec's, else 10."},
    {"--model_file", "FILE", run, "model_file", takes_training,
     "Start from this checkpoint's weights; where the run averaged them (ema), from the averages."},
    {"-u,--rounding", "BITS", run, "rounding", takes_training,
     "Round updates stochastically to BITS of mantissa. Without a number: 10, for bf16 7."},
    {"-s,--save_path", "FILE", run, "save_path", takes_files,
     "Save checkpoints (.safetensors) under this name, the newest always whole."},
    {"--serialize", "N", run, "serialize", takes_files,
     "Epochs between checkpoints, or the epochs after which to save: 3,10,20. Default: 1. Saves to "
     "neon_model.safetensors without -s."},
    {"-H,--history", "N", run, "history", takes_files,
     "Older checkpoints to keep beside the newest. Default: 1. Saves to neon_model.safetensors without -s."},
    {"-o,--output_file", "FILE", run, "output_file", takes_files, "Write the metrics of the run to this HDF5 file."},
    {"-l,--log", "FILE", run, "log_file", takes_files, "Write a log. Without a name: neon_log.txt."},
    {"--eval_freq", "N", run, "eval_freq", takes_files,
     "Epochs between evaluations; also written -eval. Default: 1, but only after the last epoch where the test set "
     "is "
     "larger than 30 % of the training set."},
    {"--top_k",
     "N",
     verb,
     "top_k",
     0,
     "Classes to print for each sample, by default 1; of a text, the likeliest tokens to draw from, by default all.",
     {"predict", "sample"}},
    {"--prompt", "WORDS", verb, "prompt", 0, "Beginning of the text. Default: a line's end.", {"sample"}},
    {"--length", "N", verb, "length", 0, "Tokens that follow the prompt. Default: 500.", {"sample"}},
    {"--temperature",
     "X",
     verb,
     "temperature",
     0,
     "Below 1, likely tokens become likelier, above 1 less likely; 0: always the likeliest. Default: 1.",
     {"sample"}},
    {"--top_p",
     "SHARE",
     verb,
     "top_p",
     0,
     "Draw from the likeliest tokens that together have this probability. Default: 1, all tokens.",
     {"sample"}},
    {"--beam",
     "N",
     verb,
     "beam",
     0,
     "Go on with N texts at once, and print the likeliest at the end. Default: 1.",
     {"sample"}},
    {"--format",
     "csv|json",
     verb,
     "format",
     0,
     "Form of the results. Default: csv for predictions, a line to read for an evaluation.",
     {"predict", "eval"}},
    {"--report",
     "",
     verb,
     "report",
     0,
     "With --format: print precision, recall, F1, confusion and calibration, or residuals, too.",
     {"eval"}},
    {"--iterations", "N", verb, "iterations", 0, "Steps to time. Default: 200.", {"bench"}},
    {"--overwrite",
     "",
     verb,
     "overwrite",
     0,
     "Let outputs replace files that neon did not write.",
     {"train", "resume", "check", "data preview", "sample"}},
    {"--no_run_folder", "", verb, "no_run_folder", takes_files,
     "Make no folder runs/NAME-N for the run; NEON_NO_RUN_FOLDER in the environment does the same."},
    {"--passes", "", verb, "passes", 0, "List the passes, and what each changed.", {"program"}},
    {"--resolved", "", verb, "resolved", 0, "Print the spec with every default.", {"check"}},
    {"--size",
     "N",
     verb,
     "size",
     0,
     "Side in pixels to bring images to, with --pixels. Default: the spec's; 0 keeps each size.",
     {"data pack"}},
    {"--pixels", "", verb, "pixels", 0, "Store pixels instead of the files.", {"data pack"}},
    {"--skip_bad", "", verb, "skip_bad", 0, "Leave damaged images out.", {"data pack"}},
    {"--count",
     "N",
     verb,
     "count",
     0,
     "Images to show. Default: 64; of data preview at most a batch.",
     {"data preview", "sample"}},
    {"--as", "man|bash|zsh|fish", verb, "as", 0, "Print the man page, or a shell's completion.", {"help"}},
    {"--set", "KEY=VALUE", line, "set", 0,
     "Change the spec: --set layers[0].nout=50, or --set layers.NAME.nout=50. May be given several times."},
    {"-c,--config", "FILE", line, "config", 0, "Read options from a file, one `name = value` a line."},
    {"-v,--verbose", "", line, "verbose", 0,
     "Print notes on the spec; with bench the time of each kernel. -vv: a summary of the step's program. -vvv: all "
     "of "
     "it."},
    {"--no_progress_bar", "", line, "progress_bar", 0, "Print no progress lines."},
    {"--caffe", "", line, "caffe", 0, "Use Caffe's output sizes of pooling and its scaling of dropout."},
    {"--deterministic", "", line, "deterministic", 0,
     "Choose only deterministic algorithms. Without -r the seed is 0."},
    {"--tf32", "", line, "tf32", 0,
     "Compute f32 products on a GPU from operands with 10 bits of mantissa: faster, less exact."},
    {"-g,--gpu", "cpu|gpu", old, "gpu", takes_device, "neon 0.9's name of -b."},
    {"-m,--max_devices", "N", old, "max_devices", takes_device,
     "Train on N devices, each with its share of every batch. With -b cpu: N processes on this host."},
    {"-h,--help", "", line, "help", 0, "Print this help; after a verb, the verb's."},
    {"--version", "", line, "version", 0, "Print the version."},
};

}  // namespace option_table

std::span<const Option> all_options() { return option_table::kOptions; }

bool takes(const Verb& verb, const Option& option) {
  if (option.groups) return verb.takes & option.groups;
  return option.verbs[0].empty() || std::ranges::count(option.verbs, verb.name);
}

}  // namespace neon
