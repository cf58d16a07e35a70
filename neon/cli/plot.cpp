// neon plot [RUN...]: runs as a page, in the terminal, as CSV.
#include "neon/cli/page_file.h"
#include "neon/cli/verb.h"
#include "neon/core/error.h"
#include "neon/report/curve_table.h"
#include "neon/report/curve_text.h"
#include "neon/train/atomic_file.h"
#include "neon/train/run_folder.h"
#include "neon/train/terminal.h"

namespace neon {

namespace {

constexpr int kTextWidth = 100;

// Runs named on the line, otherwise the newest one here.
std::vector<ReportedRun> plotted_runs(const CommandLine& line) {
  const std::string usage = text("; usage: ", usage_of(*find_verb(line.verb)));
  std::vector<std::string> paths = line.operands;
  if (paths.empty()) paths.push_back(newest_checkpoint({kRunMetricsFile}));
  for (const std::string& path : paths)
    if (path.empty())
      fail(ErrorKind::config,
           line.operands.empty() ? text("no run is named, and none is in ", kRunsFolder) : "an operand is empty",
           usage);
  if (line.operands.empty()) print_message("note: " + folder_of(paths[0]) + " is the newest run");
  return read_runs(paths);
}

int run_plot(const CommandLine& line) {
  const std::string page = line.run().output_file;
  const bool csv = line.of_verb.csv;
  if (csv && line.of_verb.text)
    fail(ErrorKind::config, "--csv and --text both print to the terminal; give one of them");
  const std::vector<ReportedRun> runs = plotted_runs(line);
  if (csv) write_curve_table(runs, [](const std::string& record) { print_record(record); });
  if (line.of_verb.text || (!csv && page.empty()))
    for (const std::string& each : runs_as_text(runs, kTextWidth)) print_result(each);
  if (page.empty()) return 0;
  const size_t bytes = write_page(page, runs, line.of_verb.overwrite);
  print_message(text(page, ": ", runs.size(), runs.size() == 1 ? " run, " : " runs, ", bytes_text(double(bytes))));
  return 0;
}

}  // namespace

NEON_VERB(
    run_plot, "plot", 75, takes_nothing, "[RUN...]",
    "show runs and compare them: a page (-o report.html), curves in the terminal, CSV; by default the newest run");

}  // namespace neon
