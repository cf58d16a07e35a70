#include "neon/cli/best_state.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "neon/cli/output_place.h"
#include "neon/core/key_error.h"
#include "neon/core/paths.h"
#include "neon/train/best_checkpoint.h"
#include "neon/train/run_folder.h"
#include "neon/train/safetensors_header.h"

namespace neon {

namespace {

// The files that callbacks name, in their order.
std::vector<std::string> files_of(const Experiment& experiment) {
  std::vector<std::string> out;
  for (const auto& callback : experiment.params.callbacks) {
    const Setting& resolved = callback.resolved();
    if (!resolved.is_map() || class_name_of(callback) != "SaveBestState") continue;
    const Setting* const path = resolved.entries.at(0).value.find("path");
    if (path && !path->value.empty()) out.push_back(path->value);
  }
  return out;
}

// Whether two paths lead to one file, which need not be there.
bool is_same_place(const std::string& a, const std::string& b) {
  const auto place = [](const std::string& path) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path));
  };
  return place(a) == place(b);
}

// Refuses a file that no run with this callback has written; with `overwrite`, a file without weights.
void check_best_place(const std::string& path, bool overwrite) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored) || std::filesystem::file_size(path, ignored) == 0) return;
  if (!may_be_checkpoint(path))
    fail(ErrorKind::data, "SaveBestState: path: ", path,
         " exists and is no checkpoint; give another name, or remove it");
  if (overwrite) return;
  bool own = false;
  try {
    const auto& metadata = SafetensorsReader(path).header().metadata;
    const auto spec = metadata.find("neon.spec");
    own = spec != metadata.end() && spec->second.find("SaveBestState") != std::string::npos;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::data) throw;
  }
  if (!own)
    fail(ErrorKind::data, "SaveBestState: path: ", path,
         " exists, and no run with this callback wrote it; give another name, remove it, or give --overwrite");
}

}  // namespace

std::vector<std::string> check_best_state(const CommandLine& line, const Experiment& experiment,
                                          const RunOptions& options, bool has_folder) {
  std::vector<std::string> out;
  for (const std::string& path : files_of(experiment)) {
    const std::filesystem::path relative(path);
    if (relative.is_absolute() || std::ranges::count(relative, std::filesystem::path("..")) > 0 ||
        !lies_within(path, current_dir()))
      fail_about("callbacks", "SaveBestState: path: ", path,
                 " leads out of the current folder; give a name in it, and copy the file where it belongs");
    for (const auto& [option, written] : {std::pair{"-s", options.save_path},
                                          {"-o", options.output_file},
                                          {"--log", options.log_file},
                                          {"--model_file", options.model_file}})
      if (!written.empty() && is_same_place(path, written))
        fail_about("callbacks", "SaveBestState: path: ", path, " is the file of ", option,
                   "; give the best net a file of its own");
    if (!has_folder)
      out.push_back(text("warning: SaveBestState writes no ", path,
                         ": the best net is kept in a run's folder alone, and this run has none"));
    else check_best_place(path, line.of_verb.overwrite);
  }
  return out;
}

std::vector<std::string> write_best_state(const Experiment& experiment, const RunOptions& options) {
  std::vector<std::string> out;
  if (options.run_folder.empty()) return out;
  const std::string best = join_path(options.run_folder, kBestFile);
  std::error_code ignored;
  for (const std::string& path : files_of(experiment)) {
    if (!std::filesystem::exists(best, ignored)) {
      out.push_back(
          text("warning: SaveBestState writes no ", path, ": the run has no best net, as no evaluation was done"));
      continue;
    }
    try {
      make_folder_of(path);
      const std::string warning = BestCheckpoint(path).take(best);
      out.push_back(warning.empty() ? text("wrote ", path, ": the best net, ", best) : warning);
    } catch (const Error& error) {
      out.push_back(text("warning: SaveBestState: ", error.what()));
    }
  }
  return out;
}

}  // namespace neon
