#include "neon/train/run_folder.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>

#include "neon/core/paths.h"
#include "neon/core/version.h"
#include "neon/spec/yaml.h"
#include "neon/train/atomic_file.h"

namespace neon {

namespace {

namespace fs = std::filesystem;

// The N of "NAME-N"; 0 for any other name.
int64_t number_of_run(const std::string& folder, const std::string& name) {
  if (!folder.starts_with(name + "-")) return 0;
  const char* const begin = folder.data() + name.size() + 1;
  const char* const end = folder.data() + folder.size();
  int64_t number = 0;
  const auto [at, error] = std::from_chars(begin, end, number);
  return error == std::errc() && at == end && number > 0 && number < 1'000'000'000 ? number : 0;
}

int64_t highest_number(const std::string& name) {
  int64_t highest = 0;
  std::error_code error;
  for (fs::directory_iterator at(kRunsFolder, error), end; !error && at != end; at.increment(error))
    highest = std::max(highest, number_of_run(at->path().filename().string(), name));
  return highest;
}

}  // namespace

std::string make_run_folder(const std::string& name) {
  constexpr int kMostTries = 1000;
  int64_t number = 0;
  int error = 0;
  for (int attempt = 0; attempt < kMostTries; ++attempt) {
    if (mkdir(kRunsFolder, 0777) != 0 && errno != EEXIST)
      fail(ErrorKind::failed, "the folder ", kRunsFolder, " cannot be made: ", system_message(errno));
    number = std::max(number, highest_number(name)) + 1;
    const std::string folder = text(kRunsFolder, "/", name, "-", number);
    if (mkdir(folder.c_str(), 0777) == 0) return folder;
    error = errno;
    // Another run took the number, or removed a folder `runs` that it had made in vain.
    if (error != EEXIST && error != ENOENT) break;
  }
  fail(ErrorKind::failed, "a folder for the run cannot be made in ", kRunsFolder, ": ", system_message(error));
}

std::string name_of_run(const std::string& folder) {
  const std::string whole = fs::path(folder).filename().string();
  const size_t dash = whole.rfind('-');
  return dash != whole.npos && dash > 0 && number_of_run(whole, whole.substr(0, dash)) > 0 ? whole.substr(0, dash)
                                                                                           : whole;
}

std::string newest_checkpoint(const std::vector<std::string>& names) {
  std::string newest;
  fs::file_time_type when;
  std::error_code error;
  for (fs::directory_iterator at(kRunsFolder, error), end; !error && at != end; at.increment(error)) {
    std::string first;
    for (const std::string& name : names) {
      std::error_code absent;
      const auto saved = fs::last_write_time(at->path() / name, absent);
      if (absent) continue;
      if (first.empty()) first = (at->path() / name).string();
      if (!newest.empty() && saved < when) continue;
      newest = first;
      when = saved;
    }
  }
  return newest;
}

std::string checkpoint_at(const std::string& path, const std::vector<std::string>& names) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return path;
  for (const std::string& name : names)
    if (const std::string file = join_path(path, name); fs::exists(file, error)) return file;
  fail(ErrorKind::data, path, ": no ", join(names, " or "),
       " in this folder; expected a run's folder, or a checkpoint");
}

bool saves_in_run_folder(const RunOptions& options) {
  return !options.run_folder.empty() && options.save_path == join_path(options.run_folder, kLastFile);
}

void write_run_spec(const Experiment& experiment, const RunOptions& options) {
  const std::string content = text("# The spec of ", options.run_folder, " with every default, as neon ", version(),
                                   " trained it.\n", write_yaml(experiment.resolved(options)));
  const std::string path = join_path(options.run_folder, kSpecFile);
  const FileHandle file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file && errno == EEXIST) return;  // the run goes on
  if (const int error = file ? write_at(file, 0, content.data(), content.size()) : errno)
    fail(ErrorKind::failed, "cannot write ", path, ": ", system_message(error));
}

}  // namespace neon
