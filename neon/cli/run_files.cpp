#include "neon/cli/run_files.h"

#include <unistd.h>

#include <filesystem>
#include <vector>

#include "neon/cli/output_place.h"
#include "neon/core/error.h"
#include "neon/core/paths.h"
#include "neon/core/text.h"
#include "neon/train/atomic_file.h"
#include "neon/train/checkpoint_verify.h"
#include "neon/train/log_file.h"
#include "neon/train/metrics_file.h"
#include "neon/train/terminal.h"

namespace neon {

void check_files_differ(const RunOptions& options, const NamedFile& operand) {
  std::vector<NamedFile> files;
  auto add = [&](const std::string& what, const std::string& path, bool is_checkpoint = false) {
    if (path.empty()) return;
    std::error_code error;
    auto real = std::filesystem::absolute(path, error);
    if (!error) real = std::filesystem::weakly_canonical(real, error);
    files.push_back({text(what, ' ', path), error ? path : real.string(), is_checkpoint});
  };
  auto add_with_part = [&](const std::string& option, const std::string& path, bool is_checkpoint) {
    add(option, path, is_checkpoint);
    if (!path.empty()) add(text("the unfinished ", option), path + ".part");
  };
  add(operand.what, operand.path, operand.is_checkpoint);
  add("--model_file", options.model_file, true);
  add_with_part("-s", options.save_path, true);
  add_with_part("-o", options.output_file, false);
  add("-l", options.log_file);
  for (size_t i = 0; i < files.size(); ++i)
    for (size_t j = i + 1; j < files.size(); ++j)
      if (files[i].path == files[j].path && !(files[i].is_checkpoint && files[j].is_checkpoint))
        fail(ErrorKind::config, files[i].what, " and ", files[j].what, " are the same file; give each its own");
}

namespace {

// The folder is this run's own by now (run_place.h).
bool lies_in_run_folder(const std::string& file, const RunOptions& options) {
  return !options.run_folder.empty() && lies_within(file, options.run_folder);
}

}  // namespace

void check_stored_names(const CommandLine& line, const RunOptions& options, const std::string& path) {
  const std::string folder = folder_of(follow_links(path));
  std::vector<std::string> outside, mend;
  const auto check = [&](const char* field, const std::string& file, const char* what, const char* option) {
    if (file.empty() || line.run_options.find(field) || lies_within(file, folder)) return;
    if (lies_in_run_folder(file, options)) return;
    outside.push_back(text(what, " ", in_quotes(file)));
    mend.push_back(text(option, " FILE"));
  };
  check("output_file", options.output_file, "metrics file", "-o");
  check("log_file", options.log_file, "log file", "-l");
  if (!outside.empty())
    fail(ErrorKind::config, path, " names the ", join(outside, " and the "),
         ", outside its own folder; a checkpoint may not choose that: give ", join(mend, " and "));
}

std::string written_files(const RunOptions& options) {
  std::vector<std::string> out;
  for (const std::string& file : {options.save_path, options.output_file, options.log_file})
    if (!file.empty()) out.push_back(printable(file));
  return join(out, ", ");
}

void check_folders(const CommandLine& line, const RunOptions& options) {
  std::vector<std::string> gone, mend;
  const auto check = [&](const char* field, const std::string& path, const char* what, const char* option) {
    const std::string folder = std::filesystem::path(path).parent_path();
    std::error_code ignored;
    if (line.run_options.find(field) || folder.empty() || std::filesystem::is_directory(folder, ignored)) return;
    gone.push_back(text("the run's ", what, " is ", path));
    mend.push_back(option);
  };
  check("output_file", options.output_file, "metrics file", "-o");
  check("log_file", options.log_file, "log file", "-l");
  if (!gone.empty())
    fail(ErrorKind::config, join(gone, ", "), ", and ", gone.size() > 1 ? "their folders are" : "its folder is",
         " not there any more; give ", gone.size() > 1 ? "them places" : "it a place", " with ", join(mend, " and "));
}

namespace {

constexpr const char* kMend = "; give another name, remove it, or give --overwrite";

// A damaged checkpoint under a checkpoint's name is set aside by the saver; any other file may be somebody's data, and
// stays with --overwrite, too.
void check_is_checkpoint(const std::string& path) {
  if (!path.ends_with(".safetensors") && !may_be_checkpoint(path))
    fail(ErrorKind::data, "-s ", path, " exists and is no checkpoint; give another name, or remove it");
}

void check_save_place(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return;
  bool of_neon = true;
  try {
    of_neon = SafetensorsReader(path).header().metadata.contains(kFormatKey);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::data) throw;
  }
  if (!of_neon) fail(ErrorKind::data, "-s ", path, " exists and is no checkpoint of neon's", kMend);
}

// The options that name outputs, and what refuses a file that is there already. A resumed run owns the files that
// it has written before.
struct OutputOption {
  const char* field;
  const char* option;
  std::string RunOptions::*path;
  void (*check)(const std::string&);
  void (*check_in_any_case)(const std::string&) = nullptr;
};
constexpr OutputOption kOutputs[] = {
    {"save_path", "-s", &RunOptions::save_path, check_save_place, check_is_checkpoint},
    {"output_file", "-o", &RunOptions::output_file, check_metrics_replaceable},
    {"log_file", "-l", &RunOptions::log_file, check_log_place},
};

void for_each_output(const CommandLine& line, const RunOptions& options, auto&& work) {
  for (const OutputOption& output : kOutputs)
    if ((line.verb != "resume" || line.run_options.find(output.field)) && !(options.*output.path).empty())
      work(output, options.*output.path);
}

// Whether a file of that name is there that is not of the output's kind.
bool is_foreign(const OutputOption& output, const std::string& path) {
  try {
    output.check(path);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::data) throw;
    return true;
  }
  return false;
}

}  // namespace

void check_outputs(const CommandLine& line, const RunOptions& options, const ReadPlaces& read) {
  if (const std::string small = lower(options.output_file); line.run_options.find("output_file"))
    for (const char* const ending : {".html", ".htm", ".csv", ".json", ".txt", ".png", ".yaml", ".safetensors"})
      if (small.ends_with(ending))
        print_message(text("warning: -o ", options.output_file, ": the metrics are written as HDF5 under this name; ",
                           "neon plot ", options.output_file, " -o report.html writes a page"));
  for_each_output(line, options, [&](const OutputOption& output, const std::string& path) {
    if (path.ends_with(".part"))
      fail(ErrorKind::config, output.option, " ", path,
           ": names that end with .part are those of unfinished files; give another");
    if (output.check_in_any_case) output.check_in_any_case(path);
    read.check_spares(output.option, path, is_foreign(output, path));
    if (!line.of_verb.overwrite) output.check(path);
  });
}

ClearedOutputs::~ClearedOutputs() {
  std::error_code ignored;
  for (const auto& [path, aside] : aside_) std::filesystem::rename(aside, path, ignored);
}

void ClearedOutputs::settle() {
  std::error_code ignored;
  for (const auto& [path, aside] : aside_) std::filesystem::remove(aside, ignored);
  aside_.clear();
}

ClearedOutputs clear_outputs(const CommandLine& line, const RunOptions& options) {
  ClearedOutputs out;
  if (!line.of_verb.overwrite) return out;
  for_each_output(line, options, [&](const OutputOption& output, const std::string& path) {
    if (!is_foreign(output, path)) return;
    std::error_code failed;
    const std::string aside = text(path, ".replaced-", getpid());
    std::filesystem::rename(path, aside, failed);
    if (failed) fail(ErrorKind::failed, output.option, " ", path, ": cannot be replaced: ", failed.message());
    out.aside_.emplace_back(path, aside);
  });
  return out;
}

void check_metrics_are_its_own(const CommandLine& line, const RunOptions& then, const RunOptions& now,
                               const std::string& path) {
  if (now.output_file.empty() || line.run_options.find("output_file") || lies_in_run_folder(now.output_file, now))
    return;
  const std::string original = join_path(then.run_dir, then.save_path);
  std::error_code error;
  const auto is_original = [&](const std::string& other) {
    return std::filesystem::equivalent(original, other, error);
  };
  if (then.save_path.empty() || !std::filesystem::exists(original, error) || is_original(path) ||
      is_original(now.save_path))
    return;
  fail(ErrorKind::config, path, " is a copy or an older checkpoint of the run that is saved to ", original,
       " and has its metrics in ", now.output_file, "; give this one's a place with -o, or go on with -s ", original);
}

}  // namespace neon
