// neon plot [RUN...]: runs as a page, in the terminal, as CSV.
#include <filesystem>

#include "neon/cli/expected_files.h"
#include "neon/cli/live_views.h"
#include "neon/cli/output_place.h"
#include "neon/cli/page_file.h"
#include "neon/cli/plotted_runs.h"
#include "neon/cli/verb.h"
#include "neon/core/error.h"
#include "neon/core/nearest_file.h"
#include "neon/core/paths.h"
#include "neon/report/curve_table.h"
#include "neon/report/curve_text.h"
#include "neon/report/live.h"
#include "neon/report/page.h"
#include "neon/report/run_pictures.h"
#include "neon/train/image_sheet.h"
#include "neon/train/run_folder.h"
#include "neon/train/terminal.h"

namespace neon {

namespace {

constexpr int kTextWidth = 100;
constexpr int64_t kUsualPort = 8470;

// Paths named on the line, otherwise that of the newest run here. All are there.
std::vector<PlottedPath> plotted_paths(const CommandLine& line) {
  const std::string usage = text("; usage: ", usage_of(*find_verb(line.verb)));
  std::vector<std::string> paths = line.operands;
  if (paths.empty()) paths.push_back(newest_checkpoint({kRunMetricsFile}));
  for (const std::string& path : paths)
    if (path.empty())
      fail(ErrorKind::config,
           line.operands.empty() ? text("no run is named, and none is in ", kRunsFolder) : "an operand is empty",
           usage);
  std::error_code ignored;
  for (const std::string& path : paths)
    if (!std::filesystem::exists(path, ignored))
      fail(ErrorKind::data, path, ": there is no such file or folder", nearest_file(path));
  for (const std::string& path : paths) check_is_no_spec(path, "a run's folder, a checkpoint or a metrics file");
  if (line.operands.empty()) print_message("note: " + folder_of(paths[0]) + " is the newest run");
  return with_runs_of_folders(paths);
}

void note_runs_without_curves(const std::vector<ReportedRun>& runs) {
  for (const ReportedRun& run : runs)
    if (run.curves.empty())
      print_message(
          text("note: ", run.path, " has no curves to show",
               run.curves_in.empty() ? "" : "; neon plot " + shell_word(run.curves_in) + " shows those of its run"));
}

// Serves the runs until Ctrl-C. They are read anew for each answer, from the files that the command line names.
void serve_runs(const CommandLine& line, std::vector<PlottedPath> paths) {
  print_each_message_once();
  const std::vector<ReportedRun> begun = plotted_runs(line, paths, true);
  for (PlottedPath& path : paths) path.found = false;  // the page keeps these runs
  note_runs_without_curves(begun);
  LiveViews views(line, begun);
  const auto now = [&] {
    std::vector<ReportedRun> runs = plotted_runs(line, paths, false);
    views.give(runs);
    return page_data(runs);
  };
  const LiveOptions options{line.of_verb.host.empty() ? "127.0.0.1" : line.of_verb.host,
                            int(line.of_verb.port.value_or(kUsualPort))};
  serve_page(options, now,
             [](const std::string& address) { print_message(address + " shows the runs; Ctrl-C ends this"); });
}

void check_plot_options(const VerbOptions& given, const std::string& page) {
  if (given.csv && given.text) fail(ErrorKind::config, "--csv and --text both print to the terminal; give one of them");
  if (given.live && (given.csv || given.text || !page.empty() || !given.png.empty()))
    fail(ErrorKind::config, "--live serves the page and prints nothing; leave out -o, --png, --csv and --text");
  if (!given.live && (given.port || !given.host.empty()))
    fail(ErrorKind::config, "--host and --port say where --live serves the page; add --live");
}

void write_pictures(const std::string& folder, const std::vector<ReportedRun>& runs, bool overwrite) {
  const std::vector<NamedPicture> pictures = run_pictures(runs);
  for (const NamedPicture& picture : pictures)
    if (!overwrite) check_preview_place(join_path(folder, picture.name));
  for (const NamedPicture& picture : pictures)
    write_output(join_path(folder, picture.name), with_preview_mark(picture.png));
  print_message(text(folder, ": ", pictures.size(), pictures.size() == 1 ? " picture" : " pictures"));
}

int run_plot(const CommandLine& line) {
  const std::string page = line.run().output_file;
  const bool csv = line.of_verb.csv;
  const std::string& png = line.of_verb.png;
  std::vector<PlottedPath> paths = plotted_paths(line);
  check_plot_options(line.of_verb, page);
  if (line.of_verb.live) return serve_runs(line, std::move(paths)), 0;
  const std::vector<ReportedRun> runs = plotted_runs(line, paths, !page.empty() || !png.empty());
  note_runs_without_curves(runs);
  if (csv) write_curve_table(runs, [](const std::string& record) { print_record(record); });
  if (line.of_verb.text || (!csv && page.empty() && png.empty()))
    for (const std::string& each : runs_as_text(runs, kTextWidth)) print_result(each);
  if (!png.empty()) write_pictures(png, runs, line.of_verb.overwrite);
  if (page.empty()) return 0;
  const size_t bytes = write_page(page, runs, line.of_verb.overwrite);
  print_message(text(page, ": ", runs.size(), runs.size() == 1 ? " run, " : " runs, ", bytes_text(double(bytes))));
  return 0;
}

}  // namespace

NEON_VERB(run_plot, "plot", 75, takes_nothing, "[RUN...]",
          "show runs and compare them: a page (-o report.html), pictures, curves in the terminal, CSV; by default the "
          "newest run");

}  // namespace neon
