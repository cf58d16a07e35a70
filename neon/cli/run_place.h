// The places of a run's files: a folder of its own (neon/train/run_folder.h), except for files that options place
// elsewhere.
#pragma once
#include <string>

#include "neon/cli/command_line.h"
#include "neon/cli/session.h"
#include "neon/train/run_folder.h"

namespace neon {

// The files of a run that an option may place outside its folder.
struct FolderFile {
  const char* field;
  std::string RunOptions::*option;
  const char* name;
};
constexpr FolderFile kFolderFiles[] = {{"save_path", &RunOptions::save_path, kLastFile},
                                       {"output_file", &RunOptions::output_file, kRunMetricsFile},
                                       {"log_file", &RunOptions::log_file, kRunLogFile}};

// The folder of a new run. Made when the data are there, so that a run that cannot begin leaves nothing behind.
class RunPlace {
 public:
  RunPlace() = default;
  // Makes the folder and gives the options names in it for the last checkpoint, the metrics and the log, where they
  // have none. A folder that cannot be made is a warning. With --no_run_folder, or NEON_NO_RUN_FOLDER in the
  // environment, nothing happens. Ranks call this together, and the leading one makes the folder.
  RunPlace(const CommandLine& line, const std::string& name, RunOptions& options);
  RunPlace(const RunPlace&) = delete;
  ~RunPlace();
  // The run begins: the folder stays, and gets links to the files that lie elsewhere.
  void settle(const RunOptions& options);

 private:
  std::string made_;  // "": nothing is to be removed
};

// Whether a new run gets a folder.
bool wants_run_folder(const CommandLine& line);

// The name of the runs of a spec: that of its file, without folder and suffix.
std::string run_name(const std::string& spec);

// Files of a run that goes on from the checkpoint at `path`. Names of files in the run's folder become those of the
// folder in which the checkpoint lies, so that a folder may be moved or copied. A folder that is gone, of another
// checkpoint or of another user is left, with a note. Returns the name for a new run's folder, where the checkpoint is
// the best or an older one of its run and so begins another, else "".
std::string place_resumed(const CommandLine& line, const OpenedRun& opened, const std::string& path,
                          RunOptions& options);

// The only operand, of a run's folder the first of these names that is there; without an operand the same of the newest
// run in runs/, with a message. A config error where there is no run.
std::string checkpoint_operand(const CommandLine& line, const std::vector<std::string>& names);

}  // namespace neon
