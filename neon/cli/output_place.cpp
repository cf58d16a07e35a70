#include "neon/cli/output_place.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "datasets/image.h"
#include "neon/cli/command_line.h"
#include "neon/cli/read_places.h"
#include "neon/core/error.h"
#include "neon/core/paths.h"
#include "neon/train/atomic_file.h"
#include "neon/train/run_folder.h"

namespace neon {

namespace {

constexpr const char* kMendPlace = "; give another name, remove it, or give --overwrite";

// Whether a folder of the command line may have images to read: one of a run has other files.
bool may_have_images(const std::string& folder) {
  std::error_code absent;
  return std::filesystem::is_directory(folder, absent) && std::ranges::none_of(kNetFiles, [&](const std::string& net) {
           return std::filesystem::exists(join_path(folder, net), absent);
         });
}

}  // namespace

void check_spares_inputs(const CommandLine& line) {
  if (line.verb == "train" || line.verb == "resume" || line.verb == "check") return;
  const auto of_run = [&](const char* field) {
    const Setting* const given = line.run_options.find(field);
    return given ? given->value : std::string();
  };
  std::vector<std::string> inputs = line.operands;
  for (const std::string& run : line.operands)
    for (const char* const file : {kBestFile, kLastFile, kSpecFile, kRunMetricsFile})
      inputs.push_back(join_path(run, file));
  for (const std::string& more : {line.config, of_run("model_file")}) inputs.push_back(more);
  for (const auto& [option, output] : {std::pair("-o", of_run("output_file")), std::pair("--sheet", line.of_verb.sheet),
                                       std::pair("--svg", line.of_verb.svg), std::pair("--onnx", line.of_verb.onnx),
                                       std::pair("--profile", line.of_verb.profile)}) {
    std::error_code absent;
    if (output.empty() || !std::filesystem::is_regular_file(output, absent)) continue;
    for (const std::string& folder : line.operands)
      if (is_image_name(output) && may_have_images(folder) && lies_within(output, folder) && !is_own_preview(output))
        fail(ErrorKind::config, option, ' ', output, " lies in ", folder,
             ", whose images neon reads, and would be lost; give another name");
    for (const std::string& input : inputs)
      if (std::filesystem::equivalent(output, input, absent) && !absent)
        fail(ErrorKind::config, option, " ", output,
             " is a file that neon reads, and would be lost; give another name");
  }
}

void check_spares_texts(const CommandLine& line) {
  const Setting* const output = line.run_options.find("output_file");
  std::error_code absent;
  if (!output || !std::filesystem::is_regular_file(output->value, absent)) return;
  for (const std::string& folder : line.operands)
    if (std::filesystem::is_directory(folder, absent) && lies_within(output->value, folder))
      fail(ErrorKind::config, "-o ", output->value, " lies in ", folder,
           ", whose texts neon reads, and would be lost; give another name");
}

void check_free(const std::string& path, bool overwrite) {
  std::error_code ignored;
  if (!overwrite && std::filesystem::exists(path, ignored)) fail(ErrorKind::data, path, " exists", kMendPlace);
}

void check_replaceable(const std::string& path, std::string_view begin, const std::string& what, bool overwrite) {
  struct stat status;
  if (overwrite || stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0) return;
  const FileHandle file = open_to_read(path);
  std::string found(std::min(begin.size(), file_size(file, path)), '\0');
  read_exactly(file, 0, found.data(), found.size(), path);
  if (found != begin) fail(ErrorKind::data, path, " exists and is no ", what, kMendPlace);
}

bool may_be_checkpoint(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0) return true;
  const FileHandle file = open_to_read(path);
  std::string begin(9, '\0');  // the header's length, and the first byte of the header
  if (file_size(file, path) < begin.size()) return false;
  read_exactly(file, 0, begin.data(), begin.size(), path);
  return begin[8] == '{' && begin.substr(4, 4) == std::string(4, '\0');  // a header has less than 4 GiB
}

void write_output(const std::string& path, std::string_view content) {
  make_folder_of(path);
  AtomicFile file(path);
  file.write(content.data(), content.size());
  file.commit();
}

}  // namespace neon
