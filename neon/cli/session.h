// Most verbs begin with these: a spec or a checkpoint, its experiment, its data.
#pragma once
#include <memory>
#include <thread>

#include "backends/device/device.h"
#include "neon/cli/command_line.h"
#include "neon/spec/search_range.h"
#include "neon/train/run_state.h"

namespace neon {

// The one operand. A config error with the verb's usage where it is missing or not alone.
const std::string& only_operand(const CommandLine& line);

struct OpenedSpec {
  std::unique_ptr<Experiment> experiment;
  std::string folder;              // of the spec
  Setting options;                 // of a run, as a file of neon 0.9 names them
  std::vector<SearchRange> unset;  // ranges that count, and got their middle
  std::string notation;            // "0.9", "native"
};
// The values that --value gives to ranges.
std::map<std::string, std::string> values_of(const CommandLine& line);
OpenedSpec open_spec(const CommandLine& line, const std::string& path);
// Options of the command line, and those that only the spec names.
RunOptions options_of(const CommandLine& line, const OpenedSpec& spec);

struct OpenedRun {
  StoredRun run;
  Setting spec;  // as --set has it now; run.spec is as it was
  std::unique_ptr<Experiment> experiment;
};
// A checkpoint, its spec changed by --set.
OpenedRun open_checkpoint(const CommandLine& line, const std::string& path);
// The options of its run with what is given anew in their place. The names of files are those of the folder in which it
// began; in another one all names are absolute.
RunOptions options_of(const CommandLine& line, const OpenedRun& opened);
// Throws a config error where --caffe differs from the way that the weights were trained, Caffe's or neon's.
void check_caffe(const CommandLine& line, const OpenedRun& opened, const std::string& path);

// For verbs whose work counts more than their words: they go on after a reader of stdout or stderr has gone (| head),
// and write nothing more there.
void outlive_closed_pipes();

// The weights of a checkpoint's net, for evaluations: running means where the run kept some. Throws a diverged error if
// one is not finite.
TensorFile sound_weights(const OpenedRun& opened, const std::string& path);

// Bytes that are free for a run, on the GPU too where one is chosen.
double room_for(const RunOptions& options);
// The seed that data sets draw by: of the options, else of the spec, else 0.
uint64_t seed_of(const Experiment& experiment, const RunOptions& options);
// Where data sets are looked for; `warnings` must outlive it.
DataContext data_context(const RunOptions& options, const std::string& folder, uint64_t seed,
                         std::vector<std::string>& warnings);
// Whether a missing data set may be downloaded: only into a folder that the user names or has by default, never into
// one that a checkpoint names.
bool may_fetch(const CommandLine& line, const RunOptions& options);
// The run of a checkpoint, for reading its data set. It keeps what the spec measured on its training set. A run that
// goes on also keeps whether samples are streamed, where the spec leaves that to the free memory.
struct FormerRun {
  const StoredRun& run;
  bool goes_on, may_fetch;
  std::optional<ReadLimits> limits;
  bool other_samples = false;  // samples of another place, which need not have all classes
};
// Keeps the vocabulary, codes of columns, units and size of images that the net was trained with, whatever the data
// have.
void keep_meaning(const FormerRun& former, DataContext& context);
// The data set of an experiment, read; relative paths are looked for in `folder` too. Warnings are printed. Where the
// GPU is chosen, whether samples held in memory stay there is settled.
Data load_data(const Experiment& experiment, const RunOptions& options, const std::string& folder,
               const FormerRun* former = nullptr);
// The same without reading samples.
DataCheck check_data(const Experiment& experiment, const RunOptions& options, const std::string& folder);

void print_warnings(const std::vector<std::string>& warnings);

constexpr const char* kCpuHint = "; -b cpu runs on the CPU";

// Sets options.backend to cpu or gpu: by -b or -i, else by the spec, else the GPU where one can be used; a note says
// why one that is there cannot. Without -i, the first of several that can be used is taken. Returns whether a GPU
// was asked for, and throws a device error that says why when that cannot be used. A --tf32 of the line that means
// nothing there is a config error where the user chose so, and else a note.
bool choose_backend(const CommandLine& line, RunOptions& options, const Experiment& experiment);
// After choose_backend: threads that wake the GPU up while samples are read, where the run is to be on one. An error
// that ends the run is printed once they have ended.
[[nodiscard]] std::vector<std::jthread> wake_gpu(const RunOptions& options, const Experiment& experiment);
// After choose_backend.
DeviceOptions device_options(const RunOptions& options, const Experiment& experiment);

// Prints that the GPU is not used, and why.
void note_unused_gpu(const std::string& why);
void note_unused_tf32(const std::string& where);

// What `make` makes for the chosen backend. Where a GPU that nobody asked for lacks one of CUDA's libraries, a note
// says so, and it is made for the CPU.
auto on_device_or_cpu(RunOptions& options, bool asked_for_gpu, auto&& make) {
  try {
    return make();
  } catch (const MissingLibrary& missing) {
    if (asked_for_gpu) fail(ErrorKind::device, missing.what(), kCpuHint);
    note_unused_gpu(missing.what());
    if (options.tf32) note_unused_tf32("on the CPU");
  }
  options.backend = "cpu";
  return make();
}

}  // namespace neon
