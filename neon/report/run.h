// A run as its files tell it: curves, histograms, settings. Everything that shows a run (page, terminal, CSV, pictures)
// begins here.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "neon/report/run_views.h"

namespace neon {

// The three clocks of a run: steps, epochs and seconds of training that belong together, from (0, 0, 0) on.
struct Timeline {
  std::vector<double> steps, epochs, seconds;  // seconds: empty where the file has no times

  // Epochs or seconds at a step: between two points in proportion, and beyond the last as between the last two. NaN
  // without points.
  double epoch_at(double step) const;
  double second_at(double step) const;
};

// A series of single numbers. Points that the run has not reached are left out.
struct Curve {
  std::string name;   // "cost/train"
  std::string unit;   // "seconds"; "" for a number without one
  bool wide = false;  // the numbers are f64, otherwise f32
  int64_t every = 0;  // steps from point to point; 0: points are of epochs
  std::vector<double> steps, values;
};

// Histograms of an array over the run: bin b counts sizes from 2^(offset + b).
struct HistogramCurve {
  std::string name;  // "Affine_0_W"
  int64_t bins = 0, offset = 0;
  std::vector<double> steps;
  std::vector<int64_t> counts;  // (points, bins)
};

// One setting: group "spec", key "layers[0].Affine.nout", value "10".
struct Fact {
  std::string group, key, value;
  bool operator==(const Fact&) const = default;
};

struct RunText {
  std::string title, content;
};

struct ReportedRun {
  std::string path, name, status;
  std::string curves_in;  // the folder that has the curves of a checkpoint without any beside it; "": none
  Timeline timeline;
  std::vector<Curve> curves;
  std::vector<HistogramCurve> histograms;
  std::vector<Fact> facts;
  std::vector<RunText> documents;  // texts of many lines, such as the spec
  RunViews views;

  const Curve* find(const std::string& curve) const;  // null when absent
};

// PATH is a metrics file, or a folder with a run.h5. Throws a data error with what is wrong.
ReportedRun read_run(const std::string& path);
// All of them; runs of one name get the folders before it, so that the names differ.
std::vector<ReportedRun> read_runs(const std::vector<std::string>& paths);
// The same, where a run that cannot be read has its error in `faults`, at its place, and is empty in the result.
std::vector<ReportedRun> read_runs(const std::vector<std::string>& paths, std::vector<std::string>& faults);
// A checkpoint, with the curves of the metrics file beside it where its run's folder has one.
ReportedRun run_of_checkpoint(const std::string& path, std::vector<std::string>& warnings);
// Adds the views of runs whose files lie in their folders. A file that cannot be read is a warning.
void add_views(std::vector<ReportedRun>& runs, std::vector<std::string>& warnings);

// The facts that are not the same in all runs, in the order of the first run that has them. A value that a run lacks
// is "".
struct Difference {
  std::string group, key;
  std::vector<std::string> values;  // of each run
};
std::vector<Difference> differences(const std::vector<ReportedRun>& runs);

}  // namespace neon
