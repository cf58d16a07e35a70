#include "neon/cli/page_file.h"

#include <sys/stat.h>

#include <filesystem>

#include "neon/core/error.h"
#include "neon/core/paths.h"
#include "neon/report/page.h"
#include "neon/train/atomic_file.h"
#include "neon/train/run_folder.h"

namespace neon {

namespace {

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

}  // namespace

size_t write_page(const std::string& path, const std::vector<ReportedRun>& runs, bool overwrite) {
  if (!overwrite) check_page_place(path);
  const std::string page = page_text(page_data(runs));
  make_folder_of(path);
  AtomicFile file(path);
  file.write(page.data(), page.size());
  file.commit();
  return page.size();
}

std::string write_run_page(const std::string& folder) {
  std::error_code ignored;
  if (folder.empty() || !std::filesystem::exists(join_path(folder, kRunMetricsFile), ignored)) return "";
  try {
    write_page(join_path(folder, kReportFile), {read_run(folder)}, false);
    return "";
  } catch (const Error& error) {
    return text("warning: no ", kReportFile, ": ", error.what());
  }
}

}  // namespace neon
