// neon export CHECKPOINT --npz or --csv: the weights for NumPy or any other program.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "datasets/gzip.h"
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

// Numbers in the byte order of all machines that neon runs on.
template <typename T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// NumPy's name of the type; bf16, which NumPy has not, is exported as f32.
std::string numpy_type(DType dtype) {
  const char kind = is_floating(dtype) ? 'f' : dtype == DType::u8 ? 'u' : 'i';
  return text(size_of(dtype) == 1 ? "|" : "<", kind, size_of(dtype));
}

Tensor exported(const Tensor& tensor) { return tensor.dtype() == DType::bf16 ? tensor.converted(DType::f32) : tensor; }

// Version 1.0 of the .npy format, its header filled up to 64 bytes.
std::string npy(const Tensor& tensor) {
  std::string shape;
  for (int axis = 0; axis < tensor.shape().rank(); ++axis) shape += text(tensor.shape()[axis], ",");
  std::string header =
      text("{'descr': '", numpy_type(tensor.dtype()), "', 'fortran_order': False, 'shape': (", shape, "), }");
  constexpr size_t kBefore = 10, kAligned = 64;
  while ((kBefore + header.size() + 1) % kAligned) header += ' ';
  header += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  put(out, uint16_t(header.size()));
  out += header;
  return out.append(static_cast<const char*>(static_cast<const void*>(tensor.data())), tensor.bytes());
}

// A zip archive of stored members, in one file of at most 4 GiB.
class ZipWriter {
 public:
  explicit ZipWriter(const std::string& path) : file_(path) {}
  void add(const std::string& name, const std::string& content) {
    constexpr size_t kMost = 0xFFFF0000;
    if (at_ + content.size() + name.size() > kMost)
      fail(ErrorKind::config, file_.path(), ": more than 4 GiB of weights do not fit in an .npz; export them as CSV");
    std::string fields;                                                     // that both headers of a member have
    for (const uint16_t number : {20, 0, 0, 0, 0x21}) put(fields, number);  // version, flags, stored, time, 1980-01-01
    for (const size_t number : {size_t(crc32_of(content)), content.size(), content.size()})
      put(fields, uint32_t(number));
    put(fields, uint16_t(name.size()));
    std::string head;
    put(head, uint32_t(0x04034b50));
    head += fields;
    put(head, uint16_t(0));
    head += name;
    put(directory_, uint32_t(0x02014b50));
    put(directory_, uint16_t(20));
    directory_ += fields + std::string(12, '\0');  // extra field, comment, disk, attributes
    put(directory_, uint32_t(at_));
    directory_ += name;
    ++count_;
    write(head);
    write(content);
  }
  void close() {
    const auto directory = uint32_t(at_);
    std::string end;
    put(end, uint32_t(0x06054b50)), put(end, uint32_t(0));
    put(end, count_), put(end, count_);
    put(end, uint32_t(directory_.size())), put(end, directory), put(end, uint16_t(0));
    write(directory_);
    write(end);
    file_.commit();
  }

 private:
  void write(const std::string& bytes) {
    file_.write(bytes.data(), bytes.size());
    at_ += bytes.size();
  }
  AtomicFile file_;
  std::string directory_;
  size_t at_ = 0;
  uint16_t count_ = 0;
};

void write_npz(const TensorFile& weights, const std::string& path) {
  make_folder_of(path);
  ZipWriter zip(path);
  for (const NamedTensor& named : weights.tensors) zip.add(named.name + ".npy", npy(exported(named.tensor)));
  zip.close();
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
  if (of.npz == of.csv)
    fail(ErrorKind::config, "neon export needs one of --npz and --csv; usage: ", usage_of(*find_verb(line.verb)));
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

NEON_VERB(run_export, "export", 85, takes_nothing, "[CHECKPOINT]",
          "write the weights for NumPy (--npz), or as tables in a folder (--csv); -o names the file or folder");

}  // namespace neon
