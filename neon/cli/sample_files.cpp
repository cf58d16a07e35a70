// Samples of .npz and HDF5 files, which the data sets of those names read, and of stdin.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "datasets/array_sequences.h"
#include "datasets/file.h"
#include "datasets/given_images.h"
#include "datasets/gzip.h"
#include "datasets/hdf5_file.h"
#include "datasets/idx.h"
#include "datasets/image.h"
#include "datasets/npy.h"
#include "neon/cli/sample_images.h"
#include "neon/cli/sample_sequences.h"
#include "neon/cli/session.h"
#include "neon/core/free_memory.h"
#include "neon/core/message.h"
#include "neon/train/terminal.h"

namespace neon {

namespace {

// The array that predictions are wanted of.
std::string inputs_in(const Npz& archive, const std::string& name, const StoredData& stored) {
  const std::vector<std::string> all = archive.names();
  for (const std::string& wanted : {stored.x_test, stored.x_train})
    if (!wanted.empty() && archive.has(wanted)) {
      if (all.size() > 1)
        print_message(
            text("note: ", name, ": the samples are those of ", in_quotes(wanted), "; it has ", list_text(all)));
      return wanted;
    }
  if (all.size() == 1) return all.front();
  fail(ErrorKind::data, name, ": has no array ", in_quotes(stored.x_test), " or ", in_quotes(stored.x_train), ", but ",
       all.empty() ? "none" : list_text(all), "; save the samples as one array of an .npz, or as .npy");
}

// What HDF5 reads of such a file, freed of its own mean; labels are left out.
Data hdf5_data(const std::string& path, const StoredData& stored) {
  std::vector<Setting> sizes;
  Shape sample = stored.sample;
  if (const auto file = open_hdf5(path); stored.sequence && file->has("input"))
    if (const Shape shape = file->shape("input"); shape.rank() == sample.rank() + 1) sample = sample.with(0, shape[1]);
  for (const int64_t size : sample) sizes.push_back(Setting::scalar(std::to_string(size)));
  Setting::Entry set{"HDF5",
                     Setting::map({{"train", Setting::scalar(path), {}},
                                   {"lshape", Setting::list(std::move(sizes)), {}},
                                   {"channels_last", Setting::scalar(stored.rows_channels_last ? "true" : "false"), {}},
                                   {"sequences", Setting::scalar(stored.ragged ? "true" : "false"), {}},
                                   {"autoencoder", Setting::scalar("true"), {}}}),
                     {}};
  set.value.entries[0].value.quoted = true;
  std::vector<std::string> warnings;
  DataContext context;
  context.warnings = &warnings;
  Data out = Registry<Dataset>::get().create(Setting::map({set}))->load(context);
  print_warnings(warnings);
  return out;
}

// A temporary file for libraries that read only by a path: HDF5 refuses memory without a name.
class PipedFile {
 public:
  explicit PipedFile(std::string_view content)
      : path_((std::filesystem::temp_directory_path() / "neon-stdin-XXXXXX").string()), file_(mkstemp(path_.data())) {
    while (file_.number >= 0 && !content.empty()) {
      const ssize_t done = write(file_.number, content.data(), content.size());
      if (done <= 0) break;
      content.remove_prefix(size_t(done));
    }
    const int error = errno;
    if (file_.number >= 0 && content.empty()) return;
    unlink(path_.c_str());
    fail(ErrorKind::failed, "stdin cannot be kept in ", path_, ": ", std::strerror(error));
  }
  ~PipedFile() { unlink(path_.c_str()); }
  PipedFile(const PipedFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  const Descriptor file_;
};

// What `read` gives of a path, with `name` in the messages in its place.
auto named(const std::string& path, const std::string& name, auto&& read) {
  try {
    return read();
  } catch (const Error& error) {
    std::string message = error.what();
    for (size_t at = message.find(path); at != message.npos && path != name; at = message.find(path))
      message.replace(at, path.size(), name);
    throw Error(error.kind(), message);
  }
}

// An image that stdin is.
class OneImage : public SampleSource {
 public:
  OneImage(Tensor sample, std::string name) : sample_(std::move(sample)), name_(std::move(name)) {}
  Tensor next(int64_t, std::vector<std::string>& names) override {
    names.assign(sample_.empty() ? 0 : 1, name_);
    return std::exchange(sample_, Tensor());
  }

 private:
  Tensor sample_;
  const std::string name_;
};

// Null where the archive is an .npz.
std::unique_ptr<SampleSource> texts_of_zip(const std::string& content, const std::string& name,
                                           const std::string& prefix, const StoredData& stored) {
  const PipedFile file(content);
  std::vector<NamedText> files = named(file.path(), name, [&] { return texts_of_archive(file.path()); });
  if (std::ranges::all_of(files, [](const NamedText& each) { return each.name.ends_with(".npy"); })) return nullptr;
  return texts_of_archive(std::move(files), name, prefix, stored);
}

constexpr size_t kTarMagic = 257, kHead = 512;

}  // namespace

Tensor read_npz_inputs(const std::string& path, const std::string& name, const StoredData& stored) {
  return named(path, name, [&] {
    const Npz archive(path);
    const std::string array = inputs_in(archive, name, stored);
    const std::string place = text(name, ": ", array);
    return without_mean(arranged(inputs_like(stored, archive.read(array), place), stored, place), stored);
  });
}

Tensor read_hdf5_inputs(const std::string& path, const std::string& name, const StoredData& stored) {
  return named(path, name, [&] {
    const Data data = hdf5_data(path, stored);
    return data.subtracted.empty() ? without_mean(data.train.inputs, stored) : data.train.inputs;
  });
}

std::unique_ptr<SampleSource> open_pipe(int descriptor, const std::string& name, const std::string& prefix,
                                        const StoredData& stored) {
  auto reader = std::make_unique<GzipReader>(descriptor, name);
  const std::string head(reader->peek(kHead));
  if (head.size() == kHead && head.substr(kTarMagic, 5) == "ustar" && !stored.vocabulary.empty())
    return texts_of_archive(texts_of_tar(std::move(reader)), name, prefix, stored);
  if (head.size() == kHead && head.substr(kTarMagic, 5) == "ustar")
    return samples_of_images(piped_images(std::move(reader)), prefix, stored);
  const bool image = is_image(head);
  const std::string content = read_maybe_gzip(*reader, image ? kMostImageBytes : int64_t(free_memory() / 2));
  if (image) return std::make_unique<OneImage>(without_mean(image_sample(content, name, stored), stored), name);
  if (head.starts_with("PK\3\4") && !stored.vocabulary.empty())
    if (auto found = texts_of_zip(content, name, prefix, stored)) return found;
  if (auto found = sequences_in(content, name, prefix, stored)) return found;
  const auto of_array = [&](const Tensor& array) { return samples_of_array(array, name, prefix, stored); };
  if (head.starts_with("\x93NUMPY") || head.starts_with(std::string_view("\0\0", 2))) {
    const Tensor raw = head[0] ? read_npy(MemorySource(content, name)) : parse_idx(content, name);
    return of_array(without_mean(arranged(inputs_like(stored, raw, name), stored, name), stored));
  }
  if (head.starts_with("PK\3\4")) {
    const PipedFile file(content);
    return of_array(read_npz_inputs(file.path(), name, stored));
  }
  if (head.starts_with("\x89HDF\r\n\x1a\n")) {
    const PipedFile file(content);
    if (auto found = named(file.path(), name, [&] { return windows_in_hdf5(file.path(), prefix, stored); }))
      return found;
    return of_array(read_hdf5_inputs(file.path(), name, stored));
  }
  if (head.find('\0') != head.npos)
    fail(ErrorKind::data, name, ": is neither text (CSV), NPY, NPZ, IDX, HDF5, an image nor a tar of images",
         looks_like_clause(head));
  return of_array(read_table(content, name, stored));
}

}  // namespace neon
