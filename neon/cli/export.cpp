// neon export CHECKPOINT --npz or --csv: the weights for NumPy or any other program. With --onnx the net itself.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "neon/cli/npz_writer.h"
#include "neon/cli/onnx_export.h"
#include "neon/cli/output_place.h"
#include "neon/cli/run_place.h"
#include "neon/cli/untrained_phase.h"
#include "neon/cli/verb.h"
#include "neon/core/paths.h"
#include "neon/train/atomic_file.h"
#include "neon/train/csv_text.h"
#include "neon/train/run_folder.h"
#include "neon/train/terminal.h"

namespace neon {

namespace {

void write_npz(const TensorFile& weights, const std::string& path) {
  make_folder_of(path);
  NpzWriter npz(path);
  for (const NamedTensor& named : weights.tensors) npz.add(named.name, named.tensor);
  npz.close();
}

// A file's name without anything that could lead out of the folder.
std::string csv_name(const std::string& name) {
  std::string out = name;
  for (char& c : out)
    if (!std::isalnum(uint8_t(c)) && c != '-' && c != '_') c = '.';
  return (out.starts_with('.') ? "_" : "") + out + ".csv";
}

// A line for each index of the first axis, with all numbers behind it.
void write_csv(const Tensor& tensor, const std::string& path) {
  const int64_t rows = tensor.shape().rank() > 0 ? tensor.shape()[0] : 1;
  const int64_t columns = rows > 0 ? tensor.elements() / rows : 0;
  std::string content;
  for (int64_t i = 0; i < rows * columns; ++i) {
    const double value = tensor.at(i);
    content += tensor.dtype() == DType::f64 ? number(value) : number(float(value));
    content += (i + 1) % columns ? ',' : '\n';
  }
  write_output(path, content);
}

void write_csv_folder(const TensorFile& weights, const std::string& folder) {
  std::string index = csv_record({"name", "file", "type", "shape"}) + "\n";
  std::vector<std::string> used;
  for (const NamedTensor& named : weights.tensors) {
    std::string name = csv_name(named.name);
    for (int number = 2; std::ranges::count(used, name); ++number) name = text(number, ".", csv_name(named.name));
    used.push_back(name);
    write_csv(named.tensor, join_path(folder, name));
    index += csv_record({named.name, name, text(name_of(named.tensor.dtype())), text(named.tensor.shape())}) + "\n";
  }
  write_output(join_path(folder, "index.csv"), index);
}

int run_export(const CommandLine& line) {
  const VerbOptions& of = line.of_verb;
  const std::string path = checkpoint_operand(line, kNetFiles), given = line.run().output_file;
  const OpenedRun opened = open_checkpoint(line, path);
  const int forms = of.npz + of.csv + !of.onnx.empty();
  if (forms != 1)
    fail(ErrorKind::config, "neon export takes one of --npz, --csv and --onnx FILE, and ",
         forms == 0 ? "none is given" : text(forms, " are given; leave out all but one"),
         "; usage: ", usage_of(*find_verb(line.verb)));
  if (!of.onnx.empty()) return export_onnx(line, opened, path);
  const std::string beside = std::filesystem::path(path).replace_extension(of.npz ? ".npz" : ".csv").string();
  const std::string to = given.empty() ? beside : given;
  check_free(to, of.overwrite);
  warn_of_untrained_phase(*opened.experiment, opened.run.position, path);
  const TensorFile weights = sound_weights(opened, path);
  if (of.npz) write_npz(weights, to);
  else write_csv_folder(weights, to);
  int64_t numbers = 0;
  for (const NamedTensor& named : weights.tensors) numbers += named.tensor.elements();
  print_result(text("wrote ", to, ": ", weights.tensors.size(), " arrays, ", numbers, " numbers"));
  return 0;
}

}  // namespace

NEON_VERB(
    run_export, "export", 85, takes_nothing, "[CHECKPOINT]",
    "write the weights for NumPy (--npz), or as tables in a folder (--csv), which -o names; or the net as an ONNX "
    "file (--onnx FILE)");

}  // namespace neon
