#include "datasets/cifar_files.h"

#include <algorithm>

#include "datasets/cifar_pickles.h"
#include "datasets/download.h"
#include "datasets/file.h"
#include "datasets/tar.h"
#include "neon/core/paths.h"
#include "neon/core/text.h"

namespace neon {

const CifarKind& cifar10_kind() {
  static const CifarKind kind{
      "CIFAR10",
      {"cifar10", "cifar-10", "CIFAR10"},
      "cifar-10-batches-bin",
      "cifar-10-binary.tar.gz",
      "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
      "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
      170052171,
      {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"},
      {"test_batch.bin"},
      1,
      {"batches.meta.txt"},
      "cifar-10-batches-py",
      "cifar-10-python.tar.gz"};
  return kind;
}

const CifarKind& cifar100_kind() {
  static const CifarKind kind{"CIFAR100",
                              {"cifar100", "cifar-100", "CIFAR100"},
                              "cifar-100-binary",
                              "cifar-100-binary.tar.gz",
                              "https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",
                              "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec",
                              168513733,
                              {"train.bin"},
                              {"test.bin"},
                              2,
                              {"coarse_label_names.txt", "fine_label_names.txt"},
                              "cifar-100-python",
                              "cifar-100-python.tar.gz"};
  return kind;
}

std::vector<std::string> cifar_folders(const CifarKind& kind, const DataContext& context) {
  std::vector<std::string> out;
  const std::string data = context.data_folder(), cache = join_path(cache_dir(), kind.folders.front());
  for (const char* folder : kind.folders) out.push_back(join_path(data, folder));
  for (const std::string& folder : {data, cache})
    if (std::ranges::find(out, folder) == out.end()) out.push_back(folder);
  return out;
}

namespace {

std::string existing_cifar(const CifarKind& kind, const DataContext& context) {
  for (const std::string& folder : cifar_folders(kind, context)) {
    for (const std::string& place : {folder, join_path(folder, kind.unpacked)})
      if (file_exists(join_path(place, kind.train.front()))) return place;
    if (std::string archive = join_path(folder, kind.archive); file_exists(archive)) return archive;
    const std::string first = pickled_cifar_name(kind, kind.train.front());
    if (std::string place = join_path(folder, kind.pickled); file_exists(join_path(place, first))) return place;
    if (std::string archive = join_path(folder, kind.pickled_archive); file_exists(archive)) return archive;
  }
  return "";
}

std::string downloaded(const CifarKind& kind, const DataContext& context) {
  return join_path(join_path(context.data_folder(), kind.folders.front()), kind.archive);
}

}  // namespace

std::string find_cifar(const CifarKind& kind, const DataContext& context) {
  std::string out = existing_cifar(kind, context);
  if (!out.empty()) context.check_may_read(out, "");
  return out;
}

std::string fetch_cifar(const CifarKind& kind, const DataContext& context) {
  Download what;
  what.urls = {kind.url};
  what.path = downloaded(kind, context);
  what.sha256 = kind.sha256;
  what.size_cap = kind.bytes;
  download(what);
  return what.path;
}

std::string cifar_command(const CifarKind& kind, const DataContext& context) {
  return text("curl -fL --create-dirs -o ", shell_word(downloaded(kind, context)), " ", kind.url);
}

std::string cifar_file(const CifarKind& kind, const std::string& folder, const char* name) {
  std::string out = join_path(folder, name);
  if (!file_exists(out)) fail(ErrorKind::data, folder, ": lacks ", name, " of ", kind.name);
  return out;
}

int64_t cifar_record_count(int64_t bytes, int labels, const std::string& source, std::string_view start) {
  const int64_t record = labels + kCifarPixels;
  if (bytes == 0 || bytes % record)
    fail(ErrorKind::data, source, ": ", bytes, " bytes are not a multiple of the record, ", record,
         " bytes; truncated, or another file?", start.empty() ? "" : looks_like_clause(start));
  return bytes / record;
}

std::vector<std::string> read_cifar_files(const CifarKind& kind, const std::string& place,
                                          const std::vector<const char*>& names) {
  // A little more than the largest file of either, which is CIFAR-100's training set.
  constexpr int64_t kMostBytes = int64_t(200) << 20;
  std::vector<std::string> out(names.size());
  std::vector<bool> came(names.size(), false);
  const bool pickled = is_pickled_cifar(kind, place);
  std::vector<std::string> there;  // the names that files have
  for (const char* name : names) there.push_back(pickled ? pickled_cifar_name(kind, name) : name);
  const auto content = [&](size_t i, std::string bytes) {
    const std::string source = text(place, folder_exists(place) ? "/" : ": ", there[i]);
    return pickled ? unpickled_cifar(kind, names[i], bytes, printable(source)) : std::move(bytes);
  };
  if (folder_exists(place)) {
    for (size_t i = 0; i < names.size(); ++i)
      out[i] = content(i, read_file(cifar_file(kind, place, there[i].c_str()), kMostBytes));
    return out;
  }
  TarReader tar(place);
  while (tar.next()) {
    const std::string file = tar.name().substr(tar.name().rfind('/') + 1);
    const auto found = std::ranges::find(there, file);
    if (found == there.end()) continue;
    const auto i = size_t(found - there.begin());
    out[i] = content(i, tar.content(kMostBytes));
    came[i] = true;
  }
  for (size_t i = 0; i < names.size(); ++i)
    if (!came[i])
      fail(ErrorKind::data, place, ": lacks ", there[i], "; is this the ",
           pickled ? "version for Python of " : "binary version of ", kind.name, "?");
  return out;
}

Split read_cifar_records(std::string_view bytes, int labels, int label, int64_t classes, const std::string& source) {
  const int64_t n = cifar_record_count(int64_t(bytes.size()), labels, source, bytes.substr(0, 512));
  Split out{Tensor(DType::u8, {n, 32, 32, 3}), Tensor(DType::i32, {n})};
  const auto pixels = out.inputs.as<uint8_t>();
  const auto targets = out.targets.as<int32_t>();
  constexpr int64_t kPlane = kCifarPixels / 3;
  for (int64_t i = 0; i < n; ++i) {
    const auto* from = reinterpret_cast<const uint8_t*>(bytes.data()) + i * (labels + kCifarPixels);
    targets[size_t(i)] = from[label];
    if (from[label] >= classes)
      fail(ErrorKind::data, source, ": the label of record ", i, " is ", int(from[label]), ", there are ", classes,
           " classes");
    uint8_t* to = &pixels[size_t(i * kCifarPixels)];
    for (int64_t k = 0; k < kPlane; ++k)
      for (int64_t c = 0; c < 3; ++c) to[3 * k + c] = from[labels + c * kPlane + k];
  }
  return out;
}

std::vector<std::string> read_class_names(const std::string& content) {
  std::vector<std::string> out;
  for (size_t first = 0; first < content.size();) {
    const size_t end = std::min(content.find('\n', first), content.size());
    std::string line = content.substr(first, end - first);
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (!line.empty()) out.push_back(std::move(line));
    first = end + 1;
  }
  return out;
}

}  // namespace neon
