// neon plot [RUN...]: runs as a page, in the terminal, as CSV.
#include <sys/stat.h>

#include "neon/cli/verb.h"
#include "neon/core/error.h"
#include "neon/report/curve_table.h"
#include "neon/report/curve_text.h"
#include "neon/report/page.h"
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

// A page replaces a page only: any other file may be somebody's own.
void check_page_place(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0) return;
  const FileHandle file = open_to_read(path);
  std::string begin(std::min(kPageBegin.size(), file_size(file, path)), '\0');
  read_exactly(file, 0, begin.data(), begin.size(), path);
  if (begin != kPageBegin)
    fail(ErrorKind::data, path,
         " is there and is no page of neon plot: give another name, remove it, or give --overwrite");
}

void write_page(const std::string& path, const std::vector<ReportedRun>& runs, bool overwrite) {
  if (!overwrite) check_page_place(path);
  const std::string page = page_text(page_data(runs));
  make_folder_of(path);
  AtomicFile file(path);
  file.write(page.data(), page.size());
  file.commit();
  print_message(
      text(path, ": ", runs.size(), runs.size() == 1 ? " run, " : " runs, ", bytes_text(double(page.size()))));
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
  if (!page.empty()) write_page(page, runs, line.of_verb.overwrite);
  return 0;
}

}  // namespace

NEON_VERB(
    run_plot, "plot", 75, takes_nothing, "[RUN...]",
    "show runs and compare them: a page (-o report.html), curves in the terminal, CSV; by default the newest run");

}  // namespace neon
