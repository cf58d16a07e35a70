// The files that a run may write: each check refuses with a message, before anything is touched.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "neon/cli/command_line.h"
#include "neon/cli/read_places.h"
#include "neon/train/options.h"

namespace neon {

struct NamedFile {
  std::string what, path;
  bool is_checkpoint;
};

// A log in the spec or metrics over a checkpoint would lose it. Only checkpoints may be read and written under one
// name. The operand is the spec, or the checkpoint of a run that goes on.
void check_files_differ(const RunOptions& options, const NamedFile& operand);

// A checkpoint may be somebody else's. A file that it names is written only if it lies in the checkpoint's own folder
// or below, links followed; every other one must be named on the command line. `path` is the checkpoint. Throws a
// config error that names the options to give.
void check_stored_names(const CommandLine& line, const RunOptions& options, const std::string& path);

// The files that a run writes, for a line that says so: "m.safetensors, run.h5".
std::string written_files(const RunOptions& options);

// Refuses a resumed run whose folders are gone: its files are not made anew elsewhere without a word.
void check_folders(const CommandLine& line, const RunOptions& options);

// No output replaces a file that neon did not write: -s wants a checkpoint there or nothing, -o a metrics file, -l a
// log. Throws a data error for any other file, unless --overwrite is given, and a config error for a name of unfinished
// files. With --overwrite, too, -s replaces files of weights alone, and no output replaces data that the run reads.
void check_outputs(const CommandLine& line, const RunOptions& options, const ReadPlaces& read);
// With --overwrite, sets such files aside until the run begins.
class ClearedOutputs {
 public:
  ClearedOutputs() = default;
  ClearedOutputs(ClearedOutputs&&) = default;
  ClearedOutputs& operator=(ClearedOutputs&&) = default;
  ~ClearedOutputs();
  // The run begins: the files are gone for good. Before that they come back with the end of this object.
  void settle();

 private:
  friend ClearedOutputs clear_outputs(const CommandLine& line, const RunOptions& options);
  std::vector<std::pair<std::string, std::string>> aside_;  // path, and the name that the file has meanwhile
};
ClearedOutputs clear_outputs(const CommandLine& line, const RunOptions& options);

// The curves of a run, `then`, are not written over by another that began as a copy of it or from an older checkpoint;
// `path` is what it goes on from.
void check_metrics_are_its_own(const CommandLine& line, const RunOptions& then, const RunOptions& now,
                               const std::string& path);

}  // namespace neon
