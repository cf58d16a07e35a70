// Metrics files to runs.
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <deque>
#include <span>
#include <utility>

#include "neon/core/error.h"
#include "neon/core/paths.h"
#include "neon/report/old_pictures.h"
#include "neon/report/settings.h"
#include "neon/spec/yaml.h"
#include "neon/train/atomic_file.h"
#include "neon/train/checkpoint.h"
#include "neon/train/metrics_file.h"
#include "neon/train/run_folder.h"
#include "neon/train/run_state.h"

namespace neon {

namespace {

constexpr int64_t kMostParts = 64;  // of a point that become curves of their own

bool is_folder(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

std::string text_of(const AttributeValue& value) {
  if (const auto* content = std::get_if<std::string>(&value)) return *content;
  if (const auto* whole = std::get_if<int64_t>(&value)) return std::to_string(*whole);
  return number(std::get<double>(value));
}

std::string time_text(double unix_seconds) {
  const auto seconds = std::time_t(unix_seconds);
  std::tm parts{};
  char buffer[64];
  if (!gmtime_r(&seconds, &parts) || !std::strftime(buffer, sizeof buffer, "%Y-%m-%d %H:%M:%S UTC", &parts)) return "";
  return buffer;
}

class RunReader {
 public:
  RunReader(const std::string& path, MetricsContents contents) : contents_(std::move(contents)) { out_.path = path; }

  ReportedRun read() {
    read_timeline();
    for (const StoredSeries& stored : contents_.series) read_series(stored);
    add_throughput();
    std::ranges::stable_sort(out_.curves, {}, &Curve::name);
    read_facts();
    out_.views.sheets = old_guided_sheets(contents_, PictureLimits(1));
    std::ranges::stable_sort(out_.facts, {}, [](const Fact& fact) {
      return fact.group == "spec" ? 0 : fact.group == "run" ? 2 : fact.group == "options" ? 3 : 1;
    });
    return std::move(out_);
  }

 private:
  std::span<const double> values_of(std::string_view path) const {
    const StoredSeries* const stored = contents_.find(path);
    return stored ? std::span<const double>(stored->values) : std::span<const double>();
  }
  double once(std::string_view path) const {
    const std::span<const double> values = values_of(path);
    return values.size() == 1 ? values[0] : std::nan("");
  }
  int64_t whole(std::string_view owner, std::string_view name) const {
    const AttributeValue* const value = contents_.find(owner, name);
    const auto* const number = value ? std::get_if<int64_t>(value) : nullptr;
    return number ? *number : 0;
  }

  // The ends of all epochs that are done, and the planned end, which places the points of an epoch that is not.
  void read_timeline() {
    Timeline& line = out_.timeline;
    const std::span<const double> marks = values_of("time_markers/minibatch"), took = values_of("time/epoch");
    line.steps = line.epochs = line.seconds = {0};
    for (size_t e = 0; e < marks.size() && marks[e] > line.steps.back(); ++e) {
      line.steps.push_back(marks[e]);
      line.epochs.push_back(double(e + 1));
      if (e < took.size() && took[e] >= 0 && line.seconds.size() == e + 1)
        line.seconds.push_back(line.seconds.back() + took[e]);
    }
    const double steps = double(whole("config", "total_minibatches")), epochs = double(whole("config", "total_epochs"));
    if (steps > line.steps.back() && epochs > line.epochs.back())
      line.steps.push_back(steps), line.epochs.push_back(epochs);
    if (line.seconds.size() < 2) share_seconds();
  }
  // Files of neon 1.x have the beginning and the end alone.
  void share_seconds() {
    Timeline& line = out_.timeline;
    const double seconds = once("time/train/end_time") - once("time/train/start_time");
    line.seconds.clear();
    if (!(seconds > 0) || line.steps.back() <= 0) return;
    for (const double step : line.steps) line.seconds.push_back(seconds * step / line.steps.back());
  }

  double step_of_epoch(double epoch) const {
    const Timeline& line = out_.timeline;
    const double step = Timeline{line.epochs, line.steps, {}}.epoch_at(epoch);
    if (std::isnan(step))
      fail(ErrorKind::data, out_.path, ": its points are by epoch, but it lacks time_markers/minibatch and the totals ",
           "of config, which say where epochs end");
    return step;
  }

  double step_of(const SeriesSpec& spec, int64_t index) const {
    return spec.axis() == "epoch" ? step_of_epoch(double((index + 1) * spec.epoch_freq))
                                  : double((index + 1) * spec.minibatch_freq);
  }

  void read_series(const StoredSeries& stored) {
    const SeriesSpec& spec = stored.spec;
    if (spec.axis().empty() || spec.path == "time_markers/minibatch" || spec.length == 0) return;
    if (spec.path.starts_with("hist/")) return read_histogram(stored);
    for (int64_t part = 0; part < std::min(spec.width, kMostParts); ++part) {
      Curve curve;
      curve.name = spec.width == 1 ? spec.path : text(spec.path, '[', part, ']');
      curve.unit = spec.units;
      curve.wide = spec.dtype != DType::f32;
      curve.every = spec.axis() == "epoch" ? 0 : spec.minibatch_freq;
      curve.steps.reserve(size_t(spec.length)), curve.values.reserve(size_t(spec.length));
      for (int64_t i = 0; i < spec.length; ++i) {
        const double value = stored.at(i, part);
        if (std::isnan(value)) continue;
        curve.steps.push_back(curve.every > 0 ? double((i + 1) * curve.every) : step_of(spec, i));
        curve.values.push_back(value);
      }
      if (!curve.values.empty()) out_.curves.push_back(std::move(curve));
    }
  }

  // A point without counts is one that the run has not reached: an array has elements.
  void read_histogram(const StoredSeries& stored) {
    const SeriesSpec& spec = stored.spec;
    HistogramCurve histogram;
    histogram.name = spec.path.substr(5);
    histogram.bins = spec.width;
    histogram.offset = whole("hist", "offset");
    std::vector<int64_t> counts(size_t(spec.width));
    for (int64_t i = 0; i < spec.length; ++i) {
      for (int64_t bin = 0; bin < spec.width; ++bin) counts[size_t(bin)] = int64_t(stored.at(i, bin));
      if (std::ranges::count(counts, 0) == spec.width) continue;
      histogram.steps.push_back(step_of(spec, i));
      histogram.counts.insert(histogram.counts.end(), counts.begin(), counts.end());
    }
    if (!histogram.steps.empty()) out_.histograms.push_back(std::move(histogram));
  }

  // Steps of each epoch by its seconds.
  void add_throughput() {
    const Timeline& line = out_.timeline;
    Curve speed{
        .name = "time/steps_per_second", .unit = "steps/s", .wide = true, .every = 0, .steps = {}, .values = {}};
    for (size_t e = 1; e < line.seconds.size() && contents_.find("time/epoch"); ++e) {
      const double seconds = line.seconds[e] - line.seconds[e - 1];
      if (!(seconds > 0)) continue;
      speed.steps.push_back(line.steps[e]);
      speed.values.push_back((line.steps[e] - line.steps[e - 1]) / seconds);
    }
    if (!speed.values.empty()) out_.curves.push_back(std::move(speed));
  }

  void add_fact(std::string key, std::string value) {
    if (!value.empty()) out_.facts.push_back({"run", std::move(key), std::move(value)});
  }

  void read_facts() {
    out_.status = text_of(*contents_.find("", "status"));
    add_fact("status", out_.status);
    add_fact("epochs", text(whole("time_markers", "epochs_complete"), " of ", whole("config", "total_epochs")));
    add_fact("steps",
             text(whole("time_markers", "minibatches_complete"), " of ", whole("config", "total_minibatches")));
    const double start = once("time/train/start_time"), end = once("time/train/end_time");
    if (start > 0) add_fact("started", time_text(start));
    if (end > 0) add_fact("ended", time_text(end));
    for (const AttributeSpec& attribute : contents_.attributes)
      if (attribute.owner == "config" && !attribute.name.starts_with("total_"))
        add_fact(attribute.name, text_of(attribute.value));
    for (const AttributeSpec& attribute : contents_.attributes)
      if (attribute.owner.empty() && attribute.name != "status") take_root_attribute(attribute);
  }

  void take_root_attribute(const AttributeSpec& attribute) {
    const std::string content = text_of(attribute.value);
    const bool is_tree = content.find('\n') != content.npos || content.starts_with("{");
    if (!is_tree) return add_fact(attribute.name, content);
    const std::vector<Fact> facts = facts_of_yaml(attribute.name, content);
    out_.facts.insert(out_.facts.end(), facts.begin(), facts.end());
    out_.documents.push_back({attribute.name, content});
  }

  const MetricsContents contents_;
  ReportedRun out_;
};

// The name of the file without its end; of one in a run's folder, the folder's.
std::string shown_name(const std::string& path) {
  const std::string file = file_name_of(path);
  if (file == kRunMetricsFile && folder_of(path) != ".") return file_name_of(folder_of(path));
  return file.substr(0, file.rfind('.'));
}

// The metrics file of a run's folder; another path as it is.
std::string metrics_path(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  if (!is_folder(path)) return path;
  const std::string folder = std::exchange(path, join_path(path, kRunMetricsFile));
  struct stat status;
  if (stat(path.c_str(), &status) != 0)
    fail(ErrorKind::data, folder, ": no ", kRunMetricsFile, " in this folder; expected a run's folder, or a metrics ",
         "file");
  return path;
}

constexpr size_t kReadAhead = 8;  // files

}  // namespace

ReportedRun read_run(const std::string& path) { return std::move(read_runs({path}).front()); }

std::vector<ReportedRun> read_runs(const std::vector<std::string>& given) {
  std::vector<std::string> faults;
  std::vector<ReportedRun> runs = read_runs(given, faults);
  for (const std::string& fault : faults)
    if (!fault.empty()) fail(ErrorKind::data, fault);
  return runs;
}

std::vector<ReportedRun> read_runs(const std::vector<std::string>& given, std::vector<std::string>& faults) {
  std::vector<std::string> paths;
  for (const std::string& path : given) paths.push_back(metrics_path(path));
  faults.assign(paths.size(), "");
  std::deque<MetricsReading> begun;  // of the files that come next
  std::vector<ReportedRun> runs;
  for (const std::string& path : paths) {
    while (begun.size() < kReadAhead && runs.size() + begun.size() < paths.size())
      begun.emplace_back(paths[runs.size() + begun.size()], MetricsMakers::neon_and_1x);
    try {
      runs.push_back(RunReader(path, begun.front().take()).read());
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::data) throw;
      faults[runs.size()] = error.what();
      runs.emplace_back().path = path;
    }
    runs.back().name = shown_name(path);
    begun.pop_front();
  }
  std::vector<std::string> names;
  for (const ReportedRun& run : runs) names.push_back(run.name);
  for (ReportedRun& run : runs) {
    if (std::ranges::count(runs, run.path, &ReportedRun::path) > 1)
      fail(ErrorKind::config, in_quotes(run.path), " is named twice; name each run once");
    if (std::ranges::count(names, run.name) > 1) run.name = run.path;
  }
  return runs;
}

void add_views(std::vector<ReportedRun>& runs, std::vector<std::string>& warnings) {
  const PictureLimits limits(runs.size());
  for (ReportedRun& run : runs) {
    if (file_name_of(run.path) != kRunMetricsFile) continue;
    std::vector<PictureSheet> own = std::move(run.views.sheets);
    run.views = views_of_folder(folder_of(run.path), limits, warnings);
    std::ranges::move(own, std::back_inserter(run.views.sheets));
  }
}

ReportedRun run_of_checkpoint(const std::string& path, std::vector<std::string>& warnings) {
  const std::string metrics = join_path(folder_of(path), kRunMetricsFile);
  struct stat status;
  ReportedRun out;
  if (stat(metrics.c_str(), &status) == 0) out = read_run(metrics);
  else {
    const StoredRun run = unpack_run(load_checkpoint(path, warnings), path);
    const std::string epoch = std::to_string(run.position.epoch);
    out.status = "checkpoint";
    out.timeline.steps = out.timeline.epochs = {0};
    out.facts = facts_of("spec", run.spec);
    out.facts.insert(out.facts.end(), {{"run", "status", out.status}, {"run", "epochs", epoch}});
    out.documents.push_back({"spec", write_yaml(run.spec)});
    const std::string& folder = run.options.run_folder;
    if (!folder.empty() && stat(join_path(folder, kRunMetricsFile).c_str(), &status) == 0) out.curves_in = folder;
  }
  out.path = path;
  out.name = shown_name(path);
  return out;
}

}  // namespace neon
