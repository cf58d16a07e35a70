#include "neon/cli/plotted_runs.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <tuple>

#include "datasets/file.h"
#include "neon/cli/run_evaluation.h"
#include "neon/cli/scratch_folder.h"
#include "neon/cli/session.h"
#include "neon/core/error.h"
#include "neon/train/run_folder.h"
#include "neon/train/terminal.h"

namespace neon {

namespace {

void add_checkpoint_views(const CommandLine& line, ReportedRun& run, const PictureLimits& limits,
                          std::vector<std::string>& warnings) {
  const ScratchFolder scratch;
  const std::vector<std::string> said = write_checkpoint_evaluation(line, run.path, scratch.path);
  constexpr std::string_view kBegin = "warning: ";  // which print_warnings() adds
  for (const std::string& one : said) warnings.push_back(one.starts_with(kBegin) ? one.substr(kBegin.size()) : one);
  run.views = views_of_folder(scratch.path, limits, warnings, run.path);
}

bool is_run(const std::filesystem::path& folder) {
  std::error_code ignored;
  return std::filesystem::exists(folder / kRunMetricsFile, ignored);
}

// The number of NAME-N, for the order of runs.
int64_t number_of_run(const std::string& folder) {
  const std::string digits = folder.substr(folder.find_last_not_of("0123456789") + 1);
  return digits.empty() || digits.size() > 18 ? 0 : std::stoll(digits);
}

}  // namespace

std::vector<PlottedPath> with_runs_of_folders(const std::vector<std::string>& paths) {
  std::vector<PlottedPath> out;
  for (const std::string& path : paths) {
    std::vector<std::string> inside;
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored) && !is_run(path))
      for (const auto& entry : std::filesystem::directory_iterator(path, ignored))
        if (is_run(entry.path())) inside.push_back(entry.path().string());
    std::ranges::sort(inside, {},
                      [](const std::string& run) { return std::tuple(name_of_run(run), number_of_run(run), run); });
    if (inside.empty()) out.push_back({path, false});
    for (const std::string& run : inside) out.push_back({run, true});
  }
  return out;
}

bool is_checkpoint(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  if (path.ends_with(".safetensors")) return true;  // perhaps damaged, which load_checkpoint() says
  const FileSource file(path);
  char begin[9];  // the length of the JSON header, and its first letter
  if (file.size() < int64_t(sizeof begin)) return false;
  file.read_at(0, begin, sizeof begin);
  uint64_t length = 0;
  std::memcpy(&length, begin, sizeof length);
  return length < uint64_t(file.size()) && begin[8] == '{';
}

namespace {

// The runs of all paths but checkpoints. Runs that were found and cannot be read leave the paths, unless this throws.
std::vector<ReportedRun> runs_of_metrics(std::vector<PlottedPath>& paths, std::vector<std::string>& warnings) {
  std::vector<std::string> metrics, faults;
  for (const auto& [path, found] : paths)
    if (!is_checkpoint(path)) metrics.push_back(path);
  if (metrics.empty()) return {};
  std::vector<ReportedRun> read = read_runs(metrics, faults), runs;
  std::vector<PlottedPath> kept;
  size_t at = 0;
  std::string last;
  for (const PlottedPath& each : paths) {
    const std::string fault = is_checkpoint(each.path) ? "" : faults[at];
    if (!fault.empty() && !each.found) fail(ErrorKind::data, fault);
    if (!fault.empty()) warnings.push_back(last = fault + "; the run is left out");
    else if (!is_checkpoint(each.path)) runs.push_back(std::move(read[at]));
    if (!is_checkpoint(each.path)) ++at;
    if (fault.empty()) kept.push_back(each);
  }
  if (kept.empty()) fail(ErrorKind::data, last, ", and no other is in its folder");
  paths = std::move(kept);
  return runs;
}

}  // namespace

std::vector<ReportedRun> plotted_runs(const CommandLine& line, std::vector<PlottedPath>& paths, bool views) {
  std::vector<std::string> warnings;
  std::vector<ReportedRun> read = runs_of_metrics(paths, warnings);
  if (views) add_views(read, warnings);
  std::vector<ReportedRun> out;
  auto next = read.begin();
  for (const auto& [path, found] : paths) {
    if (!is_checkpoint(path)) {
      out.push_back(std::move(*next++));
      continue;
    }
    out.push_back(run_of_checkpoint(path, warnings));
    if (views) add_checkpoint_views(line, out.back(), PictureLimits(paths.size()), warnings);
  }
  for (ReportedRun& run : out)
    if (std::ranges::count(out, run.name, &ReportedRun::name) > 1) run.name = run.path;
  print_warnings(warnings);
  return out;
}

}  // namespace neon
