#include "neon/cli/run_place.h"

#include <cstdlib>
#include <filesystem>

#include "neon/cli/rank_process.h"
#include "neon/cli/verb.h"
#include "neon/core/paths.h"
#include "neon/train/atomic_file.h"
#include "neon/train/rank_agreement.h"
#include "neon/train/run_folder.h"
#include "neon/train/safetensors.h"
#include "neon/train/terminal.h"

namespace neon {

namespace {

namespace fs = std::filesystem;

bool is_there(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// "" and a warning where it cannot be made: a net trains in a folder that cannot be written, too.
std::string make_folder(const std::string& name, const RunOptions& options) {
  try {
    check_names(options);
    return make_run_folder(name);
  } catch (const Error& error) {
    print_message(text("warning: no run folder: ", error.what(), "; ",
                       options.save_path.empty() ? "nothing of this run is saved. -s FILE saves it"
                                                 : "the run writes only the files that options name"));
    return "";
  }
}

}  // namespace

bool wants_run_folder(const CommandLine& line) {
  const char* const none = std::getenv("NEON_NO_RUN_FOLDER");
  return !line.of_verb.no_run_folder && !(none && *none);
}

RunPlace::RunPlace(const CommandLine& line, const std::string& name, RunOptions& options) {
  if (!wants_run_folder(line)) return;
  Ranks* const ranks = own_ranks();
  const bool leads = !ranks || ranks->leads();
  if (leads) made_ = make_folder(name, options);
  options.run_folder = ranks ? first_text(*ranks, made_) : made_;
  if (options.run_folder.empty()) return;
  // The names of a run that began elsewhere are those of its folder then.
  if (options.run_dir != current_dir()) options.run_folder = join_path(current_dir(), options.run_folder);
  for (const FolderFile& file : kFolderFiles)
    if ((options.*file.option).empty()) options.*file.option = join_path(options.run_folder, file.name);
  write_as_rank(options);
}

RunPlace::~RunPlace() {
  if (made_.empty()) return;
  std::error_code ignored;
  fs::remove_all(made_, ignored);
  fs::remove(kRunsFolder, ignored);  // unless other runs are there
}

void RunPlace::settle(const RunOptions& options) {
  if (made_.empty()) return;
  print_message("writes " + made_);
  for (const FolderFile& file : kFolderFiles) {
    const std::string link = join_path(made_, file.name), &path = options.*file.option;
    if (path.empty() || path == link) continue;
    std::error_code error;
    const fs::path target = fs::proximate(fs::absolute(path, error), fs::absolute(made_, error), error);
    if (!error) fs::create_symlink(target, link, error);
    if (error) print_message(text("warning: no link ", link, " to ", path, ": ", error.message()));
  }
  made_.clear();
}

std::string run_name(const std::string& spec) {
  constexpr size_t kMostBytes = 100;
  if (is_read_once(spec)) return "run";
  std::string name = fs::path(spec).stem().string();
  if (name.size() <= kMostBytes) return name;
  name.resize(kMostBytes);
  while (!is_utf8(name)) name.pop_back();
  return name;
}

namespace {

bool was_given(const CommandLine& line, const char* field) { return line.run_options.find(field) != nullptr; }

// The folder in which the checkpoint is the last one, as the run names it and as it is now.
struct FolderNow {
  std::string then, here;
};

// Files that lie in the folder itself are the run's own, whatever places it had for them.
void take_own_files(const CommandLine& line, const std::string& here, RunOptions& options) {
  std::error_code ignored;
  for (const FolderFile& file : kFolderFiles)
    if (const std::string own = join_path(here, file.name);
        !was_given(line, file.field) && fs::is_regular_file(fs::symlink_status(own, ignored)))
      options.*file.option = own;
}

void move_into(const CommandLine& line, const FolderNow& folder, RunOptions& options) {
  for (const FolderFile& file : kFolderFiles) {
    std::string& path = options.*file.option;
    const bool given = was_given(line, file.field);
    if (!given && (file.option == &RunOptions::save_path || path == join_path(folder.then, file.name)))
      path = join_path(folder.here, file.name);
  }
  options.run_folder = folder.here;
}

// Without the folder, what is in it stays as it is.
void leave_folder(const CommandLine& line, RunOptions& options) {
  for (const FolderFile& file : kFolderFiles) {
    std::string& path = options.*file.option;
    if (file.option != &RunOptions::save_path && !was_given(line, file.field) &&
        path == join_path(options.run_folder, file.name))
      path.clear();
  }
  options.run_folder.clear();
}

// Whether files in the folder may be written: it is that of this checkpoint, and the user's own.
bool owns_folder(const OpenedRun& opened, const std::string& path, const RunOptions& options) {
  std::error_code ignored;
  return fs::equivalent(join_path(options.run_folder, kLastFile), options.save_path, ignored) &&
         (opened.run.is_own || lies_within(options.run_folder, folder_of(follow_links(path))));
}

// Whether the best net of a folder is one of this run.
bool has_best_of(const std::string& folder, const Position& position) {
  const std::string best = join_path(folder, kBestFile);
  if (position.run.empty() || !is_there(best)) return false;
  try {
    const auto metadata = read_safetensors(best).metadata;
    const auto found = metadata.find("neon.run");
    return found != metadata.end() && found->second == position.run;
  } catch (const Error&) {
    return false;  // it cannot be read, and stays as it is
  }
}

// A run that went on without its folder, and whose last checkpoint is still there, takes the folder again. Any folder
// may have a spec.yaml; that of the run has its best net.
void take_folder_again(const CommandLine& line, const OpenedRun& opened, const std::string& path, RunOptions& options) {
  const std::string here = folder_of(path);
  if (!wants_run_folder(line) || was_given(line, "save_path") || file_name_of(path) != kLastFile) return;
  if (!is_there(join_path(here, kSpecFile)) || !has_best_of(here, opened.run.position)) return;
  RunOptions placed = options;
  placed.run_folder = here;
  if (!owns_folder(opened, path, placed)) return;
  take_own_files(line, here, placed);
  options = placed;
  print_message(text("note: writes to the run folder ", here, " again; its files lack the epochs that ran without it"));
}

}  // namespace

std::string place_resumed(const CommandLine& line, const OpenedRun& opened, const std::string& path,
                          RunOptions& options) {
  if (options.run_folder.empty()) {
    take_folder_again(line, opened, path, options);
    return "";
  }
  const std::string then = options.run_folder, name = file_name_of(path);
  std::string here = folder_of(path);
  std::error_code ignored;
  if (here == "." || options.run_dir != current_dir()) here = fs::canonical(here, ignored).string();
  const bool in_folder = is_there(join_path(here, kSpecFile));
  if (in_folder && name != kLastFile && wants_run_folder(line) && !was_given(line, "save_path")) {
    leave_folder(line, options);
    options.save_path.clear();
    return name_of_run(then);
  }
  if (in_folder && name == kLastFile) take_own_files(line, here, options);
  if (in_folder && name == kLastFile && saves_in_run_folder(opened.run.options)) move_into(line, {then, here}, options);
  if (wants_run_folder(line) && owns_folder(opened, path, options)) return "";
  const bool saves_there = options.save_path == join_path(options.run_folder, kLastFile);
  print_message(text("note: goes on without the run folder ", options.run_folder, ", ",
                     wants_run_folder(line) ? text("whose last checkpoint is not ", options.save_path)
                     : saves_there          ? text("where only ", kLastFile, " changes")
                                            : "which stays as it is"));
  leave_folder(line, options);
  return "";
}

std::string checkpoint_operand(const CommandLine& line, const std::vector<std::string>& names) {
  if (!line.operands.empty()) return checkpoint_at(only_operand(line), names);
  const std::string path = newest_checkpoint(names);
  if (path.empty())
    fail(ErrorKind::config, "nothing to work on: no run in ", kRunsFolder,
         "/ has a checkpoint; usage: ", usage_of(*find_verb(line.verb)), " (neon ", line.verb, " --help says more)");
  print_message(text("takes ", path, ", of the newest run"));
  return path;
}

}  // namespace neon
