#include "neon/cli/earlier_runs.h"

#include <filesystem>

#include "neon/cli/run_place.h"
#include "neon/core/paths.h"
#include "neon/train/run_folder.h"
#include "neon/train/terminal.h"

namespace neon {

namespace fs = std::filesystem;

KeptFiles::KeptFiles(const RunOptions& options) {
  std::error_code error, ignored;
  for (fs::directory_iterator at(kRunsFolder, error), end; !error && at != end; at.increment(error)) {
    if (!options.run_folder.empty() && fs::equivalent(at->path(), options.run_folder, ignored)) continue;
    for (const FolderFile& file : kFolderFiles) {
      const std::string link = join_path(at->path().string(), file.name), &path = options.*file.option;
      if (path.empty() || !fs::is_symlink(link, ignored) || !fs::equivalent(link, path, ignored)) continue;
      keep(link, file.option == &RunOptions::log_file);
    }
  }
}

// A checkpoint and a metrics file are made anew, so another name for the old file keeps it; a log grows.
void KeptFiles::keep(const std::string& link, bool grows) {
  std::error_code error;
  const std::string target = fs::read_symlink(link, error).string(), own = link + ".kept";
  const fs::path file = fs::canonical(link, error);
  if (!error && !grows) fs::create_hard_link(file, own, error);
  if (error || grows) error.clear(), fs::copy_file(file, own, error);
  if (!error) fs::rename(own, link, error);
  if (error) print_message(text("warning: ", link, " leads to a file that this run writes over: ", error.message()));
  else links_.push_back({link, target});
}

KeptFiles::~KeptFiles() {
  std::error_code ignored;
  for (const Link& link : links_)
    if (fs::remove(link.path, ignored)) fs::create_symlink(link.target, link.path, ignored);
}

void KeptFiles::settle() {
  for (const Link& link : links_)
    print_message(text("note: ", link.path, " is a file of its own now, as this run writes over the one it led to"));
  links_.clear();
}

}  // namespace neon
