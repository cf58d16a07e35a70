#include "neon/train/log_file.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <set>

#include "neon/core/error.h"
#include "tests/support/temp_folder.h"

using namespace neon;

namespace {

std::set<std::string> names_in(const TempFolder& folder) {
  std::set<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    out.insert(entry.path().filename().string());
  return out;
}

// 400 lines of 100 letters and a number; each file holds about 28.
void write_many(const std::string& path, LogFile& log, std::string& problems) {
  for (int i = 0; i < 400; ++i) {
    log.write(text(std::string(100, 'x'), ' ', i));
    problems += log.take_problem();
  }
  CHECK(file_content(path).ends_with(" 399\n"));
}

}  // namespace

TEST_CASE("a log keeps five older parts, also of an earlier run") {
  const TempFolder folder;
  const std::string path = folder / "run.log";
  std::string problems;
  for (int run = 0; run < 2; ++run) {
    LogFile log(path, 4000);
    write_many(path, log, problems);
  }
  CHECK(problems.empty());
  CHECK(names_in(folder) ==
        std::set<std::string>{"run.log", "run.1.log", "run.2.log", "run.3.log", "run.4.log", "run.5.log"});
  for (const std::string& name : names_in(folder)) CHECK(std::filesystem::file_size(folder / name) <= 4200);
}

TEST_CASE("a log removes and renames no file of somebody else's") {
  for (const char* foreign : {"run.5.log", "run.1.log", "run.3.log"})
    for (const std::string content : {"my diary", "[2026-01-01 00:00:00.000] [neon] [info] log run.5.log\n", ""}) {
      const TempFolder folder;
      const std::string path = folder / "run.log";
      put_file(folder / foreign, content);
      if (content.starts_with("[") && std::string(foreign) != "run.5.log") continue;  // that name is another log's own
      std::string problems;
      LogFile log(path, 4000);
      write_many(path, log, problems);
      CHECK(file_content(folder / foreign) == content);
      CHECK(problems == text(folder / foreign, " is no part of the log ", path, ", which therefore stays one file"));
      CHECK(file_content(path).find(" 398\n") != std::string::npos);
    }
}

TEST_CASE("files beyond a gap in the numbers stay where they are") {
  const TempFolder folder;
  put_file(folder / "run.2.log", "mine");
  std::string problems;
  LogFile log(folder / "run.log", 30'000);  // one rotation
  write_many(folder / "run.log", log, problems);
  CHECK(problems.empty());
  CHECK(file_content(folder / "run.2.log") == "mine");
  CHECK(names_in(folder) == std::set<std::string>{"run.log", "run.1.log", "run.2.log"});
}
