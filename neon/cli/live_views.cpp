#include "neon/cli/live_views.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "neon/cli/run_evaluation.h"
#include "neon/cli/scratch_folder.h"
#include "neon/core/error.h"
#include "neon/core/paths.h"
#include "neon/train/run_folder.h"
#include "neon/train/signals.h"

namespace neon {

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kLook = std::chrono::milliseconds(200);
constexpr auto kLeastRest = std::chrono::seconds(2);
constexpr int kRests = 20;  // for each second of an evaluation

// "" where there is no such file.
std::string stamp_of(const std::string& path) {
  std::error_code failed;
  const auto time = std::filesystem::last_write_time(path, failed);
  if (failed) return "";
  return text(path, ' ', time.time_since_epoch().count(), ' ', std::filesystem::file_size(path, failed), '\n');
}

std::string stamp_of_views(const std::string& folder) {
  std::vector<std::string> names(kNetFiles.begin(), kNetFiles.end());
  for (const char* const name : {kEvaluationFile, kWorstFile, kPredictionsFile}) names.emplace_back(name);
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
    if (entry.path().filename().string().starts_with(kGuidedBegin)) names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  std::string out;
  for (const std::string& name : names) out += stamp_of(join_path(folder, name));
  return out;
}

// Warnings of files that a run is writing: they are read again.
RunViews views_now(const std::string& folder, size_t runs, const std::string& checkpoint = "") {
  std::vector<std::string> ignored;
  return views_of_folder(folder, PictureLimits(runs), ignored, checkpoint);
}

}  // namespace

LiveViews::LiveViews(const CommandLine& line, const std::vector<ReportedRun>& begun)
    : line_(line), count_(begun.size()), shown_(begun.size()) {
  bool any = false;
  for (size_t i = 0; i < begun.size(); ++i) {
    Shown& shown = shown_[i];
    shown.views = begun[i].views;
    if (file_name_of(begun[i].path) != kRunMetricsFile) continue;
    shown.folder = folder_of(begun[i].path);
    shown.going = begun[i].status == "running";
    any = any || shown.going;
  }
  if (any) thread_ = std::jthread([this](const std::stop_token& ended) { evaluate_best(ended); });
}

LiveViews::~LiveViews() = default;

void LiveViews::give(std::vector<ReportedRun>& runs) {
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < runs.size(); ++i) {
    Shown& shown = shown_[i];
    shown.going = runs[i].status == "running";
    if (shown.folder.empty()) {
      runs[i].views = shown.views;
      continue;
    }
    const std::string files = stamp_of_views(shown.folder);
    if (files != shown.files) {
      shown.views = views_now(shown.folder, count_);
      shown.files = files;
    }
    std::vector<PictureSheet> own = std::move(runs[i].views.sheets);
    runs[i].views = shown.going && shown.measured ? *shown.measured : shown.views;
    std::ranges::move(own, std::back_inserter(runs[i].views.sheets));
  }
}

// Whether there was a checkpoint to evaluate.
bool LiveViews::evaluate(size_t run) {
  std::string folder, former;
  {
    const std::lock_guard lock(mutex_);
    if (!shown_[run].going) return false;
    folder = shown_[run].folder, former = shown_[run].evaluated;
  }
  const std::string best = join_path(folder, kBestFile), stamp = stamp_of(best);
  if (folder.empty() || stamp.empty() || stamp == former) return false;
  RunViews views;
  try {
    const ScratchFolder scratch;
    write_checkpoint_evaluation(line_, best, scratch.path);
    views = views_now(scratch.path, count_, best);
  } catch (const Error&) {  // as where the disk is full: the page shows what the folder has
  }
  views.evaluation_note = "The best checkpoint so far; the run goes on.";
  const std::lock_guard lock(mutex_);
  shown_[run].evaluated = stamp;
  if (!views.evaluation.empty()) shown_[run].measured = std::move(views);
  return true;
}

void LiveViews::evaluate_best(const std::stop_token& ended) {
  auto rest_until = Clock::now();
  while (!ended.stop_requested() && stop_signal() == 0) {
    std::this_thread::sleep_for(kLook);
    for (size_t i = 0; i < count_ && Clock::now() >= rest_until; ++i) {
      const auto begun = Clock::now();
      if (evaluate(i))
        rest_until = Clock::now() + std::max<Clock::duration>(kLeastRest, kRests * (Clock::now() - begun));
    }
  }
}

}  // namespace neon
