#include "neon/cli/page_file.h"

#include <filesystem>

#include "neon/cli/output_place.h"
#include "neon/core/error.h"
#include "neon/core/paths.h"
#include "neon/report/page.h"
#include "neon/train/run_folder.h"

namespace neon {

size_t write_page(const std::string& path, const std::vector<ReportedRun>& runs, bool overwrite) {
  check_replaceable(path, kPageBegin, "page of neon plot", overwrite);  // any other file may be somebody's own
  const std::string page = page_text(page_data(runs));
  write_output(path, page);
  return page.size();
}

std::vector<std::string> write_run_page(const std::string& folder) {
  std::error_code ignored;
  if (folder.empty() || !std::filesystem::exists(join_path(folder, kRunMetricsFile), ignored)) return {};
  try {
    std::vector<ReportedRun> runs = read_runs({folder});
    std::vector<std::string> warnings;
    add_views(runs, warnings);
    for (std::string& warning : warnings) warning = "warning: " + warning;
    write_page(join_path(folder, kReportFile), runs, false);
    return warnings;
  } catch (const Error& error) {
    return {text("warning: no ", kReportFile, ": ", error.what())};
  }
}

}  // namespace neon
